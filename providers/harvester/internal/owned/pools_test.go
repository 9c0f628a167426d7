// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

var given = infrav1.IPPool{VMNetwork: "vlan", Subnet: "10.0.0.0/24", Gateway: "10.0.0.1", RangeStart: "10.0.0.10"}

func poolOwner(id string) owned.By {
	cluster := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", Annotations: map[string]string{infrav1.ClusterIDAnnotation: id},
	}}
	cluster.Spec.TargetNamespace = "vms"
	return owned.By{Cluster: cluster, Name: "c"}
}

func TestGiven(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := poolOwner("1")
	cluster := of.Cluster
	wanted := func(use owned.PoolUse) bool { _, wanted := use.Given(of); return wanted }
	g.Expect([]bool{wanted(owned.LoadBalancerPool), wanted(owned.MachinePool)}).To(Equal([]bool{false, false}))
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.POOL, IPPool: given}
	cluster.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{IPPool: &given}
	g.Expect([]bool{wanted(owned.LoadBalancerPool), wanted(owned.MachinePool)}).To(Equal([]bool{true, true}))
	cluster.Spec.LoadBalancerConfig.IPPoolRef, cluster.Spec.VMNetworkConfig.IPPoolRef = "ns-c-ippool", "ns-c-vm-ippool"
	g.Expect([]bool{wanted(owned.LoadBalancerPool), wanted(owned.MachinePool)}).To(Equal([]bool{true, true}), "they were made before")
	cluster.Spec.LoadBalancerConfig.IPPoolRef, cluster.Spec.VMNetworkConfig.IPPoolRefs = "a", []string{"b"}
	g.Expect([]bool{wanted(owned.LoadBalancerPool), wanted(owned.MachinePool)}).To(Equal([]bool{false, false}))
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP, IPPool: given}
	g.Expect(wanted(owned.LoadBalancerPool)).To(BeFalse())
}

func TestWantedPoolNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(owned.WantedPool(poolOwner("1"), owned.MachinePool, given).Spec.Selector.Network).To(Equal("vms/vlan"))
	elsewhere := given
	elsewhere.VMNetwork = "default/vlan"
	g.Expect(owned.WantedPool(poolOwner("1"), owned.MachinePool, elsewhere).Spec.Selector.Network).To(Equal("default/vlan"))
}

func TestOwnPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wanted := owned.WantedPool(poolOwner("1"), owned.MachinePool, given)
	pool := func(name string, from *lbv1.IPPool) lbv1.IPPool {
		p := *from.DeepCopy()
		p.Name = name
		return p
	}
	unmarked := wanted.DeepCopy()
	unmarked.Labels = nil
	other := unmarked.DeepCopy()
	other.Spec.Ranges[0].RangeStart = "10.0.0.99"
	for name, tc := range map[string]struct {
		there        lbv1.IPPool
		own, foreign bool
	}{
		"by its id":                             {there: *wanted, own: true},
		"by its id, under the former name":      {there: pool("ns-c-vm-ippool", wanted), own: true},
		"a copy under another name":             {there: pool("x", wanted)},
		"for the load balancer":                 {there: *owned.WantedPool(poolOwner("1"), owned.LoadBalancerPool, given)},
		"another cluster's":                     {there: pool(wanted.Name, owned.WantedPool(poolOwner("2"), owned.MachinePool, given)), foreign: true},
		"another owner's of its name":           {there: pool(wanted.Name, unmarked), foreign: true},
		"of the former name":                    {there: pool("ns-c-vm-ippool", unmarked), own: true},
		"of the former name, other addresses":   {there: pool("ns-c-vm-ippool", other)},
		"of the former name, another cluster's": {there: pool("ns-c-vm-ippool", owned.WantedPool(poolOwner("2"), owned.MachinePool, given))},
	} {
		own, foreign := owned.OwnPool(poolOwner("1"), owned.MachinePool, wanted, []lbv1.IPPool{tc.there})
		g.Expect(own != nil).To(Equal(tc.own), name)
		g.Expect(foreign != nil).To(Equal(tc.foreign), name)
	}
	taken := unmarked.DeepCopy()
	g.Expect(owned.ChangePool(taken, wanted, poolOwner("1"))).To(BeTrue())
	g.Expect(owned.ChangePool(taken, wanted, poolOwner("1"))).To(BeFalse())
	g.Expect(owned.PoolsOf(poolOwner("1"), []lbv1.IPPool{*taken, *unmarked, pool("copy", taken)})).To(HaveLen(1))
}

func TestPoolsForMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster, made := poolOwner("1").Cluster, owned.WantedPool(poolOwner("1"), owned.MachinePool, given)
	copied := made.DeepCopy()
	copied.Name = "a-copy"
	all := []lbv1.IPPool{*copied, *owned.WantedPool(poolOwner("1"), owned.LoadBalancerPool, given), *owned.WantedPool(poolOwner("2"), owned.MachinePool, given), *made}
	g.Expect(owned.PoolsForMachines(cluster, &infrav1.VMNetworkConfig{IPPoolRefs: []string{"a", "b"}}, all)).To(Equal([]string{"a", "b"}))
	g.Expect(owned.PoolsForMachines(cluster, &infrav1.VMNetworkConfig{IPPool: &given}, all)).To(Equal([]string{made.Name}))
	g.Expect(owned.PoolsForMachines(cluster, &infrav1.VMNetworkConfig{IPPool: &given}, nil)).To(BeEmpty())
}

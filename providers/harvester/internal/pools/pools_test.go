// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package pools_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/providers/harvester/internal/pools"
)

var given = infrav1.IPPool{VMNetwork: "vlan", Subnet: "10.0.0.0/24", Gateway: "10.0.0.1", RangeStart: "10.0.0.10"}

func by(id string) owned.By {
	cluster := &infrav1.HarvesterCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "c", Annotations: map[string]string{infrav1.ClusterIDAnnotation: id},
	}}
	cluster.Spec.TargetNamespace = "vms"
	return owned.By{Cluster: cluster, Name: "c"}
}

func TestAPoolIsMadeOnlyWhereNoneIsReferredTo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := by("1")
	cluster := of.Cluster
	wanted := func(use pools.Use) bool { _, wanted := use.Given(of); return wanted }
	g.Expect([]bool{wanted(pools.LoadBalancer), wanted(pools.Machines)}).To(Equal([]bool{false, false}))
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.POOL, IPPool: given}
	cluster.Spec.VMNetworkConfig = &infrav1.VMNetworkConfig{IPPool: &given}
	g.Expect([]bool{wanted(pools.LoadBalancer), wanted(pools.Machines)}).To(Equal([]bool{true, true}))
	cluster.Spec.LoadBalancerConfig.IPPoolRef, cluster.Spec.VMNetworkConfig.IPPoolRef = "ns-c-ippool", "ns-c-vm-ippool"
	g.Expect([]bool{wanted(pools.LoadBalancer), wanted(pools.Machines)}).To(Equal([]bool{true, true}), "they were made before")
	cluster.Spec.LoadBalancerConfig.IPPoolRef, cluster.Spec.VMNetworkConfig.IPPoolRefs = "a", []string{"b"}
	g.Expect([]bool{wanted(pools.LoadBalancer), wanted(pools.Machines)}).To(Equal([]bool{false, false}))
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP, IPPool: given}
	g.Expect(wanted(pools.LoadBalancer)).To(BeFalse())
}

func TestTheNetworkOfAPoolIsInTheTargetNamespaceUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(pools.Wanted(by("1"), pools.Machines, given).Spec.Selector.Network).To(Equal("vms/vlan"))
	elsewhere := given
	elsewhere.VMNetwork = "default/vlan"
	g.Expect(pools.Wanted(by("1"), pools.Machines, elsewhere).Spec.Selector.Network).To(Equal("default/vlan"))
}

func TestAPoolIsItsClustersByItsIDOrAsItWasMadeBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	wanted := pools.Wanted(by("1"), pools.Machines, given)
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
		"by its id":                             {there: pool("x", wanted), own: true},
		"for the load balancer":                 {there: *pools.Wanted(by("1"), pools.LoadBalancer, given)},
		"another cluster's":                     {there: pool(wanted.Name, pools.Wanted(by("2"), pools.Machines, given)), foreign: true},
		"somebody's of its name":                {there: pool(wanted.Name, unmarked), foreign: true},
		"of the former name":                    {there: pool("ns-c-vm-ippool", unmarked), own: true},
		"of the former name, other addresses":   {there: pool("ns-c-vm-ippool", other)},
		"of the former name, another cluster's": {there: pool("ns-c-vm-ippool", pools.Wanted(by("2"), pools.Machines, given))},
	} {
		own, foreign := pools.Own(by("1"), pools.Machines, wanted, []lbv1.IPPool{tc.there})
		g.Expect(own != nil).To(Equal(tc.own), name)
		g.Expect(foreign != nil).To(Equal(tc.foreign), name)
	}
	taken := unmarked.DeepCopy()
	g.Expect(pools.Change(taken, wanted, by("1"))).To(BeTrue())
	g.Expect(pools.Change(taken, wanted, by("1"))).To(BeFalse())
	g.Expect(pools.Of(by("1"), []lbv1.IPPool{*taken, *unmarked})).To(HaveLen(1))
}

func TestMachinesHaveTheirAddressesFromWhatIsReferredToOrWasMade(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cluster, made := by("1").Cluster, pools.Wanted(by("1"), pools.Machines, given)
	all := []lbv1.IPPool{*pools.Wanted(by("1"), pools.LoadBalancer, given), *pools.Wanted(by("2"), pools.Machines, given), *made}
	g.Expect(pools.ForMachines(cluster, &infrav1.VMNetworkConfig{IPPoolRefs: []string{"a", "b"}}, all)).To(Equal([]string{"a", "b"}))
	g.Expect(pools.ForMachines(cluster, &infrav1.VMNetworkConfig{IPPool: &given}, all)).To(Equal([]string{made.Name}))
	g.Expect(pools.ForMachines(cluster, &infrav1.VMNetworkConfig{IPPool: &given}, nil)).To(BeEmpty())
}

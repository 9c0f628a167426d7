// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// fromPool requests a load balancer with an address from a pool that is created for the cluster. Each test has its own subnet.
func fromPool(subnet int) func(*infrav1.HarvesterCluster) {
	return func(cluster *infrav1.HarvesterCluster) {
		prefix := fmt.Sprintf("10.77.%d.", subnet)
		cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.POOL, IPPool: infrav1.IPPool{
			VMNetwork: "default/vlan-1", Subnet: prefix + "0/24", Gateway: prefix + "1", RangeStart: prefix + "10", RangeEnd: prefix + "12",
		}}
	}
}

func TestEndpointIsAnnouncedBeforeMachinesExist(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a", "b")
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	w.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(6443))
	balancers := w.balancers()
	w.Expect(balancers).To(HaveLen(1))
	w.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal(balancers[0].Status.Address))
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	w.Expect(conditions.IsTrue(cluster, infrav1.InfrastructureReadyCondition)).To(BeTrue())
	w.Expect(cluster.Spec.Server).To(Equal(sim.Server()))
	w.Expect(cluster.Annotations).To(HaveKey(infrav1.HarvesterUIDAnnotation))

	w.remove(cluster)
	w.expectNoLoadBalancers()
}

func TestEndpointFromPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cluster := w.cluster("c", fromPool(1))
	w.waitForProvisioned(cluster)
	balancer := w.balancers()[0]
	pool := &lbv1.IPPool{}
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKey{Name: balancer.Spec.IPPool}, pool)).To(Succeed())
	w.Expect(pool.Status.Allocated).To(Equal(map[string]string{
		cluster.Spec.ControlPlaneEndpoint.Host: balancer.Namespace + "/" + balancer.Name,
	}), "no other holder can get it in between")
	w.Expect(pool.Status.AllocatedHistory).To(BeEmpty(), "it was never given back")

	w.remove(cluster)
	w.expectNoLoadBalancers()
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(MatchError(ContainSubstring("not found")))
}

func TestPublishedEndpointIsImmutable(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cluster := w.cluster("c", fromPool(2))
	w.waitForProvisioned(cluster)
	published := cluster.Spec.ControlPlaneEndpoint
	other := fromPool(3)
	moved := cluster.DeepCopy()
	other(moved)
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-other"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{
		Subnet: moved.Spec.LoadBalancerConfig.IPPool.Subnet, Gateway: moved.Spec.LoadBalancerConfig.IPPool.Gateway,
	}}}}
	w.Expect(w.harvester.Create(t.Context(), pool)).To(Succeed())
	change(w, w.harvester, &w.balancers()[0], func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = pool.Name })
	w.Expect(w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerAddressChangedReason)).To(ContainSubstring(published.Host))
	w.Expect(cluster.Spec.ControlPlaneEndpoint).To(Equal(published))
	w.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeFalse())
}

func TestClustersOfSameNameInOneHarvesterNamespace(t *testing.T) {
	t.Parallel()
	one, two := newFixture(t), newFixture(t)
	a := one.cluster("c", fromPool(4))
	b := two.cluster("c", fromPool(5), func(cluster *infrav1.HarvesterCluster) { cluster.Spec.TargetNamespace = one.name })
	one.waitForProvisioned(a)
	two.waitForProvisioned(b)
	balancers := one.balancers()
	one.Expect(balancers).To(HaveLen(2))
	one.Expect(a.Spec.ControlPlaneEndpoint.Host).NotTo(Equal(b.Spec.ControlPlaneEndpoint.Host))
	one.Expect(balancers[0].Spec.BackendServerSelector).NotTo(Equal(balancers[1].Spec.BackendServerSelector))
	two.remove(b)
	one.Expect(one.balancers()).To(HaveLen(1), "the other's stays")
	one.eventually(a, func(g Gomega) {
		g.Expect(one.balancers()[0].Status.Address).To(Equal(a.Spec.ControlPlaneEndpoint.Host))
	})
}

func TestForeignLoadBalancerIsReportedAndKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.cluster("c")
	w.waitForProvisioned(first)
	name := w.balancers()[0].Name
	w.remove(first)

	foreign := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}, Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMDHCP, Listeners: []lbv1.Listener{{Name: "web", Port: 80, Protocol: "TCP", BackendPort: 80}},
	}}
	w.Expect(w.harvester.Create(t.Context(), foreign)).To(Succeed())
	second := w.cluster("c2", func(cluster *infrav1.HarvesterCluster) { // a copy of the first, as clusterctl move creates it
		cluster.Name = "c"
		cluster.Annotations[infrav1.ClusterIDAnnotation] = first.Annotations[infrav1.ClusterIDAnnotation]
	})
	w.Expect(w.waitForReason(second, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNotOursReason)).To(ContainSubstring(name))
	w.Expect(second.Status.Ready).To(BeFalse())
	w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	w.Expect(foreign.Spec.Listeners[0].Name).To(Equal("web"))
	w.Expect(foreign.Labels).NotTo(HaveKey(infrav1.ClusterIDLabel))

	w.Expect(w.harvester.Delete(t.Context(), foreign)).To(Succeed())
	w.waitForProvisioned(second)
}

func TestLoadBalancerOfEarlierReleaseIsAdopted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Expect(w.harvester.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	former := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name + "-c-lb"}, Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMDHCP, Listeners: []lbv1.Listener{{Name: "api-server", Port: 6443, Protocol: "TCP", BackendPort: 6443}},
		BackendServerSelector: map[string][]string{infrav1.MachineTypeLabel: {"controlplane-c"}},
	}}
	w.Expect(w.harvester.Create(t.Context(), former)).To(Succeed())
	w.Eventually(func(g Gomega) {
		service := &corev1.Service{}
		g.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(former), service)).To(Succeed())
		service.Annotations = map[string]string{"kube-vip.io/allow-reconcile-without-endpoints": "true"}
		g.Expect(w.harvester.Update(t.Context(), service)).To(Succeed())
	}).Should(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(former), former)).To(Succeed())
		g.Expect(former.Status.Address).NotTo(BeEmpty())
	}).Should(Succeed())
	cluster := w.cluster("c", func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: former.Status.Address, Port: 6443}
	})
	w.waitForProvisioned(cluster)
	// The cluster has its endpoint before: the write of the label may conflict with Harvester's of the status.
	w.Eventually(func(g Gomega) {
		balancers := w.balancers()
		g.Expect(balancers).To(HaveLen(1))
		g.Expect(balancers[0].Labels).To(HaveKeyWithValue(infrav1.ClusterIDLabel, cluster.Annotations[infrav1.ClusterIDAnnotation]))
		g.Expect(balancers[0].UID).To(Equal(former.UID))
		g.Expect(balancers[0].Spec.BackendServerSelector).To(Equal(former.Spec.BackendServerSelector), "its machines are still behind it")
	}).Should(Succeed())
	w.remove(cluster)
	w.expectNoLoadBalancers()
}

func TestClusterWithoutLoadBalancerRequiresEndpoint(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	cluster := w.cluster("c", func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{}
	})
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.ControlPlaneEndpointMissingReason)
	w.Expect(ptr.Deref(cluster.Status.Initialization.Provisioned, false)).To(BeFalse())
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) { cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.1" })
	w.waitForProvisioned(cluster)
	w.Expect(cluster.Spec.ControlPlaneEndpoint.Port).To(BeEquivalentTo(6443))
	w.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeTrue(), "%s", conditionsOf{cluster})
	w.Expect(w.balancers()).To(BeEmpty())
}

func TestReadyClusterSendsNoRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	requests := func() []string {
		var all []string
		for _, r := range sim.Requests() {
			if r.Namespace == w.name || r.Name == w.name {
				all = append(all, r.Verb+" "+r.Resource)
			}
		}
		return all
	}
	cluster := w.cluster("c")
	w.waitForProvisioned(cluster)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	before := requests()
	w.Expect(len(before)).To(BeNumerically("<", 15), "%v", before)
	change(w, user, cluster, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.LoadBalancerConfig.Listeners = []infrav1.Listener{{Name: "join", Port: 9345, Protocol: "TCP", BackendPort: 9345}}
	})
	w.Eventually(func(g Gomega) { g.Expect(w.balancers()[0].Spec.Listeners).To(HaveLen(2)) }).Should(Succeed())
	w.Expect(requests()[len(before):]).To(Equal([]string{"patch loadbalancers"}))
}

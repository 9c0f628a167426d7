// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// serviceLoadBalancer creates the load balancer of a Service of guest cluster c on Harvester, as its cloud provider does.
func (w *fixture) serviceLoadBalancer(name, clusterUID string, changes ...func(*lbv1.LoadBalancer)) *lbv1.LoadBalancer {
	w.t.Helper()
	lb := &lbv1.LoadBalancer{ObjectMeta: w.meta(name), Spec: lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPAM: lbv1.IPAMDHCP}}
	lb.Labels[lbv1.GuestClusterLabel] = "c"
	if clusterUID != "" {
		lb.Annotations[lbv1.ClusterUIDAnnotation] = clusterUID
	}
	for _, change := range changes {
		change(lb)
	}
	w.Expect(w.harvester.Create(w.t.Context(), lb)).To(Succeed())
	return lb
}

// waitForWorkloadUID waits until the status has the UID of the workload cluster, and returns it.
func (w *fixture) waitForWorkloadUID(cluster *infrav1.HarvesterCluster) string {
	w.t.Helper()
	system := &corev1.Namespace{}
	w.Expect(user.Get(w.t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system)).To(Succeed())
	w.eventually(cluster, func(g Gomega) { g.Expect(cluster.Status.WorkloadClusterUID).To(Equal(string(system.UID))) })
	return string(system.UID)
}

// remainingLoadBalancers returns the names of the test's load balancers on Harvester.
func (w *fixture) remainingLoadBalancers() []string {
	w.t.Helper()
	var names []string
	for _, lb := range w.balancers() {
		names = append(names, lb.Name)
	}
	return names
}

func TestServiceLoadBalancersAreDeletedWithCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.stop()
	w.workload = "c"
	w.start()
	cluster := w.cluster("c", fromPool(21))
	w.waitForProvisioned(cluster)
	uid := w.waitForWorkloadUID(cluster)
	w.serviceLoadBalancer("c-default-web", uid, func(lb *lbv1.LoadBalancer) { // from the pool that is deleted with the cluster
		lb.Spec.IPAM, lb.Spec.IPPool = lbv1.IPAMPool, w.balancers()[0].Spec.IPPool
	})
	w.serviceLoadBalancer("c-default-dns", uid, func(lb *lbv1.LoadBalancer) { delete(lb.Labels, lbv1.GuestClusterLabel) })
	w.serviceLoadBalancer("of-another-cluster-of-the-name", "11111111-1111-1111-1111-111111111111")
	w.serviceLoadBalancer("not-proven", "")
	w.serviceLoadBalancer("of-machines", uid, func(lb *lbv1.LoadBalancer) { lb.Spec.WorkloadType = lbv1.WorkloadVM })
	w.remove(cluster)
	w.Expect(w.remainingLoadBalancers()).To(ConsistOf("of-another-cluster-of-the-name", "not-proven", "of-machines"))
}

func TestServiceLoadBalancersRemainForClusterWithSameWorkload(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	w.stop()
	w.workload = "c"
	w.start()
	cluster, copied := w.cluster("c", givenEndpoint), w.cluster("copied", givenEndpoint)
	w.waitForProvisioned(cluster) // its namespace on Harvester exists
	uid := w.waitForWorkloadUID(cluster)
	integration.Update(integration.User{T: t, G: w.WithT, Client: user}, copied, integration.Status, func(copied *infrav1.HarvesterCluster) {
		copied.Status.WorkloadClusterUID = uid
	})
	w.serviceLoadBalancer("c-default-web", uid)
	w.remove(copied)
	w.Expect(w.remainingLoadBalancers()).To(ConsistOf("c-default-web"))
	w.remove(cluster)
	w.Expect(w.remainingLoadBalancers()).To(BeEmpty())
}

func TestServiceLoadBalancersRemainIfWorkloadIsUnknown(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "a")
	cluster := w.cluster("c", givenEndpoint)
	w.waitForProvisioned(cluster)
	w.serviceLoadBalancer("c-default-web", "11111111-1111-1111-1111-111111111111")
	w.remove(cluster)
	w.Expect(w.remainingLoadBalancers()).To(ConsistOf("c-default-web"))
}

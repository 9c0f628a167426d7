// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// withLoadBalancer gives the cluster a load balancer as endpoint, with an address from a DHCP server.
func withLoadBalancer(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP}
}

// backends returns the backend addresses of the load balancer with the endpoint's address.
func (w *fixture) backends(cluster *infrav1.HarvesterCluster) []string {
	w.t.Helper()
	list := &lbv1.LoadBalancerList{}
	w.Expect(w.harvester.List(w.t.Context(), list, client.InNamespace(cluster.Spec.TargetNamespace))).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Status.Address == cluster.Spec.ControlPlaneEndpoint.Host {
			return list.Items[i].Status.BackendServers
		}
	}
	return nil
}

func TestEndpointBackendsAreOwnControlPlane(t *testing.T) {
	t.Parallel()
	w, other := newFixture(t, 2, 2), newFixture(t, 2, 2)
	cluster := w.cluster("c", withLoadBalancer)
	namesake := other.cluster("c", withLoadBalancer, func(cluster *infrav1.HarvesterCluster) { cluster.Spec.TargetNamespace = w.name })
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	published := cluster.Spec.ControlPlaneEndpoint
	w.Expect(published.IsSet()).To(BeTrue())

	w.waitForProvisioned(w.machine("c", "worker", zoneName(1)))
	mine := w.waitForProvisioned(w.machine("c", "cp", zoneName(2), controlPlane))
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerReadyReason)
	w.Eventually(func() []string { return w.backends(cluster) }).Should(Equal([]string{mine.Status.Interfaces[0].IP}))
	w.Expect(cluster.Spec.ControlPlaneEndpoint).To(Equal(published))
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	w.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(cluster))

	other.waitForReason(namesake, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	w.Expect(w.backends(namesake)).To(BeEmpty(), "it has the same name, and is in the same namespace of Harvester")
}

func TestClusterDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 2)
	cluster := w.cluster("c", withLoadBalancer)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	machine := w.machine("c", "cp", zoneName(1), controlPlane)
	w.waitForProvisioned(machine)
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	w.waitForReason(cluster, infrav1.InfrastructureReadyCondition, infrav1.WaitingForMachinesReason)
	w.remove(machine)
	w.waitForDeletion(w.client, cluster)
	for _, list := range []client.ObjectList{&lbv1.LoadBalancerList{}, &corev1.ServiceList{}} {
		w.Eventually(func(g Gomega) { // objects that Harvester created are garbage-collected
			g.Expect(w.harvester.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()))
		}).Should(Succeed())
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"context"
	"net"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// Faultline's own load balancer manager runs on this Harvester.
func TestEndpointOfOwnLoadBalancerManager(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManagerOn(t, simulator.Start(t, simulator.WithoutLoadBalancer(), simulator.WithLayout(simulator.Layout{}),
		simulator.WithHooks(simulator.Hooks{PowerOn: boot})))
	w.host("h-1", zoneName(1))
	w.host("h-2", zoneName(2))
	w.startLoadBalancerManager()
	w.start()
	cluster := w.cluster("c", withLoadBalancer, func(cluster *infrav1.HarvesterCluster) {
		cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.POOL, IPPool: infrav1.IPPool{
			VMNetwork: "default/vlan-1", Subnet: "10.78.1.0/24", Gateway: "10.78.1.1", RangeStart: "10.78.1.10", RangeEnd: "10.78.1.12",
		}}
	})
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	w.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.78.1.10"))
	published := cluster.Spec.ControlPlaneEndpoint

	worker := w.machine("c", "worker", zoneName(1))
	w.waitForProvisioned(worker)
	machine := w.machine("c", "cp", zoneName(2), controlPlane)
	vmi := w.waitForProvisioned(machine)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerReadyReason)
	w.Eventually(func() []string { return w.backends(cluster) }).Should(Equal([]string{vmi.Status.Interfaces[0].IP}))
	w.Expect(cluster.Spec.ControlPlaneEndpoint).To(Equal(published))

	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.WorkloadClusterUID).NotTo(BeEmpty())
	}).Should(Succeed())
	w.onHarvester(&lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "c-default-web", Annotations: map[string]string{lbv1.ClusterUIDAnnotation: cluster.Status.WorkloadClusterUID}},
		Spec:       lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster, IPAM: lbv1.IPAMDHCP},
	})

	w.remove(machine)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	w.remove(worker)
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	w.waitForDeletion(w.client, cluster)
	for _, list := range []client.ObjectList{&lbv1.LoadBalancerList{}, &corev1.ServiceList{}} {
		w.Eventually(func(g Gomega) {
			g.Expect(w.harvester.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()))
		}).Should(Succeed())
	}
}

// startLoadBalancerManager runs the load balancer manager on the test's Harvester. It replaces Dial, because the guests accept no
// connections: every running one counts as reachable.
func (w *fixture) startLoadBalancerManager() {
	w.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(w.sim.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())
	harvesterScheme := runtime.NewScheme()
	w.Expect(simulator.AddToScheme(harvesterScheme)).To(Succeed())
	integration.Start(w.t, config, nil, ctrl.Options{Scheme: harvesterScheme}, func(ctx context.Context, mgr ctrl.Manager) error {
		return controllers.Add(ctx, mgr, controllers.Options{Pools: 2, LoadBalancers: 4, Dial: func(context.Context, string, string) (net.Conn, error) {
			here, _ := net.Pipe()
			return here, nil
		}})
	})
}

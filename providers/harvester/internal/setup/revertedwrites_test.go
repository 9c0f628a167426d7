// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// newFirstWrites returns a machine of a cluster with a host. No manager runs yet.
func newFirstWrites(t *testing.T) integration.FirstWrites {
	t.Helper()
	w := newFixtureWithoutManager(t)
	w.host("h", zoneName(1))
	w.cluster("c")
	machine := w.machine("c", "m", zoneName(1))
	return integration.FirstWrites{
		User: w.user(), Admin: w.config, Machine: machine, Finalizer: infrav1.MachineFinalizer,
		Start: func(config *rest.Config) {
			w.config = config
			w.start()
		},
		ExpectNothing: func() {
			vms := &kubevirtv1.VirtualMachineList{}
			w.Expect(w.harvester.List(t.Context(), vms, client.InNamespace(w.name))).To(Succeed())
			w.Expect(vms.Items).To(BeEmpty())
		},
		WaitForProvisioned: func() { w.waitForProvisioned(machine) },
	}
}

func TestStrippedFinalizerBacksOff(t *testing.T) { newFirstWrites(t).Stripped() }

func TestConflictingFirstWritesBackOff(t *testing.T) { newFirstWrites(t).Conflicting() }

// Covers every kind of object that the manager writes repeatedly.
func TestConflictingOrRevertedWritesBackOff(t *testing.T) {
	// Not parallel: objects of other tests would enqueue the objects of this one.
	w := newFixtureWithoutManager(t)
	w.host("h", zoneName(1))
	quarrel, config := w.user().Contention(w.config, "")
	w.config = config
	admin, err := clientcmd.RESTConfigFromKubeConfig(w.sim.Kubeconfig())
	w.Expect(err).NotTo(HaveOccurred())
	onHarvester, config := integration.User{T: t, G: w.WithT, Client: w.harvester}.Contention(admin, "")
	onHarvester.Events = w.client
	w.identity(integration.Kubeconfig(w.user(), config, "default"))
	w.start()
	cluster := w.cluster("c", withLoadBalancer)
	w.waitForReason(cluster, infrav1.LoadBalancerReadyCondition, infrav1.LoadBalancerNoBackendMachineReason)
	quarrel.About(
		integration.Marked{Object: cluster, Mark: infrav1.ClusterFinalizer},
		integration.Marked{Object: &corev1.Secret{ObjectMeta: w.meta("identity")}, Mark: infrav1.IdentitySecretFinalizer},
	)
	template := &infrav1.HarvesterMachineTemplate{ObjectMeta: w.meta("workers")}
	template.Spec.Template.Spec = machineSpec()
	w.create(template)
	quarrel.AboutStatus(template, "capacity")
	list := &lbv1.LoadBalancerList{}
	w.Expect(w.harvester.List(t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	w.Expect(list.Items).To(HaveLen(1))
	lb := &list.Items[0]
	// One after the other: the Service is not reconciled while a write of its load balancer conflicts.
	onHarvester.About(integration.Marked{Object: lb, Mark: clusterv1.ClusterNameLabel})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: lb.Namespace, Name: lb.Name}}
	onHarvester.About(integration.Marked{Object: service, Mark: clusterv1.ClusterNameLabel})
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestUnreachableWorkloadCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	secret := &corev1.Secret{ObjectMeta: f.meta("one-kubeconfig")}
	f.Expect(f.client.Delete(t.Context(), secret)).To(Succeed())
	f.stop()
	f.start()
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)).To(ContainSubstring("connection"))
	f.create(&corev1.Secret{ObjectMeta: f.meta("one-kubeconfig"), Data: map[string][]byte{"value": kubeconfig}})
	f.waitForProvisioned(machine)
}

// The machine still follows its host, so that it is reconciled without a connection.
func TestRunningMachineStaysReadyWhileWorkloadClusterIsUnreachable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	running := f.machine("one", "running", "rack-1")
	f.waitForProvisioned(running)
	f.waitForCondition(running, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	f.stop()
	secret := &corev1.Secret{ObjectMeta: f.meta("one-kubeconfig")}
	update(f, secret, func(secret *corev1.Secret) {
		secret.Data["value"] = integration.Kubeconfig(f.user(), &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "any"}, "")
	})
	f.start()
	waiting := f.machine("one", "waiting", "rack-1")
	f.Expect(f.waitForCondition(waiting, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)).To(ContainSubstring("connection"))
	f.hostname(hostOf(running))
	f.Eventually(func(g Gomega) {
		f.get(running)
		g.Expect(running.Status.Addresses).To(ContainElement(HaveField("Address", f.name+"-hostname")))
	}).Should(Succeed())
	f.Expect(conditions.IsTrue(running, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(running))
	f.Expect(running.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))

	update(f, secret, func(secret *corev1.Secret) { secret.Data["value"] = kubeconfig })
	f.waitForProvisioned(waiting)
}

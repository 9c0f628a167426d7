// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/integration"
)

// rebootUntilGivenUp has the machine rebooted once without success, so that its owner is asked to replace it.
func rebootUntilGivenUp(t *testing.T, c client.Client, metal3 *infrav1.Metal3Machine) {
	t.Helper()
	u, ctx := integration.NewUser(t, c), t.Context()
	g := u.G
	machine := &clusterv1.Machine{}
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(metal3), machine)).To(Succeed())
	integration.Update(u, machine, integration.Status, func(machine *clusterv1.Machine) {
		machine.Status.NodeRef = clusterv1.MachineNodeReference{Name: metal3.Name}
	})
	g.Eventually(func(g Gomega) {
		node := &corev1.Node{}
		g.Expect(c.Get(ctx, client.ObjectKey{Name: metal3.Name}, node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, metal3.Status.FailureDomain))
	}).Should(Succeed())

	remediation := &infrav1.Metal3Remediation{ObjectMeta: metav1.ObjectMeta{
		Name: machine.Name, Namespace: machine.Namespace, Labels: map[string]string{clusterv1.ClusterNameLabel: machine.Spec.ClusterName},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: machine.Name, UID: machine.UID}},
	}}
	g.Expect(c.Create(ctx, remediation)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(remediation), remediation)).To(Succeed())
		g.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationWaiting))
		g.Expect(remediation.Finalizers).To(BeEmpty(), "host and Node are back")
	}).Should(Succeed())

	integration.Update(u, remediation, integration.Status, func(remediation *infrav1.Metal3Remediation) {
		remediation.Status.LastRemediated = ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
	})
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition)).To(BeTrue())
	}).Should(Succeed())
	g.Expect(c.Delete(ctx, remediation)).To(Succeed())
}

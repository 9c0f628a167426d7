// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testOlderObjects stores objects that the validation would reject, as if they were written before the rules existed, and
// verifies that they can still be updated and deleted.
func testOlderObjects(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	api.Without(t, func() {
		machine := &infrav1.VSphereMachine{ObjectMeta: rulestest.Named("older"), Spec: infrav1.VSphereMachineSpec{
			VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{Template: "ubuntu", HardwareVersion: "17"}}}
		machine.Finalizers = []string{infrav1.MachineFinalizer}
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		api.StoresAsWritten(ctx, t, wire, 8)
	}, validated(t, api), defaulted(t, api))
	machine := &infrav1.VSphereMachine{}
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "older"}, machine)).To(Succeed())
	g.Expect(machine.Spec.Datacenter).To(BeEmpty())

	machine.Spec.ProviderID = "vsphere://423c0b3b"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller can set what it has to")
	g.Expect(machine.Spec.Datacenter).To(Equal("*"))
	machine.Spec.ProviderID = "423c0b3b"
	rulestest.Rejected(g, api.Update(ctx, machine.DeepCopy()), "spec.providerID: Invalid value")

	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	g.Expect(api.Delete(ctx, machine)).To(Succeed())
	machine.Finalizers = nil
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	machine.Finalizers = nil
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the finalizer can be taken off")
}

func validated(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		invalid := &infrav1.VSphereMachineTemplate{ObjectMeta: rulestest.Named("probe"), Spec: infrav1.VSphereMachineTemplateSpec{
			Template: infrav1.VSphereMachineTemplateResource{Spec: infrav1.VSphereMachineSpec{
				VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{Template: "a", HardwareVersion: "b"}}}}}
		return api.Create(t.Context(), invalid, client.DryRunAll) != nil
	}
}

func defaulted(t *testing.T, api *rulestest.APIServer) func() bool {
	t.Helper()
	return func() bool {
		zone := &infrav1.VSphereDeploymentZone{ObjectMeta: clusterScoped("probe"), Spec: infrav1.VSphereDeploymentZoneSpec{FailureDomain: "a"}}
		return api.Create(t.Context(), zone, client.DryRunAll) == nil && zone.Spec.ControlPlane != nil
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// testOlderObjects stores objects that the rules would refuse, as they are when
// they were written before the rules were, and wants them to be alive still.
func testOlderObjects(t *testing.T, api *apiServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	withoutWebhooks(t, api, func() {
		machine := &infrav1.VSphereMachine{ObjectMeta: named("older"), Spec: infrav1.VSphereMachineSpec{
			VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{Template: "ubuntu", HardwareVersion: "vmx-17"}}}
		machine.Finalizers = []string{infrav1.MachineFinalizer}
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		testStoredAsWritten(ctx, t, api)
	})
	machine := &infrav1.VSphereMachine{}
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "older"}, machine)).To(Succeed())
	g.Expect(machine.Spec.Datacenter).To(BeEmpty())

	machine.Spec.ProviderID = "vsphere://423c0b3b"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller can set what it has to")
	g.Expect(machine.Spec.Datacenter).To(Equal("*"))
	machine.Spec.ProviderID = "423c0b3b"
	refused(g, api.Update(ctx, machine.DeepCopy()), "spec.providerID: Invalid value")

	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	g.Expect(api.Delete(ctx, machine)).To(Succeed())
	machine.Finalizers = nil
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	machine.Finalizers = nil
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the finalizer can be taken off")
}

// withoutWebhooks takes the webhook configurations away while do runs.
func withoutWebhooks(t *testing.T, api *apiServer, do func()) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	var saved []*unstructured.Unstructured
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("admissionregistration.k8s.io/v1")
		list.SetKind(kind + "List")
		g.Expect(api.List(ctx, list)).To(Succeed())
		for i := range list.Items {
			saved = append(saved, &list.Items[i])
			g.Expect(api.Delete(ctx, &list.Items[i])).To(Succeed())
		}
	}
	g.Expect(saved).To(HaveLen(2))
	invalid := func(name string) client.Object {
		return &infrav1.VSphereMachineTemplate{ObjectMeta: named(name), Spec: infrav1.VSphereMachineTemplateSpec{
			Template: infrav1.VSphereMachineTemplateResource{Spec: infrav1.VSphereMachineSpec{
				VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{Template: "a", HardwareVersion: "b"}}}}}
	}
	defaulted := func() bool {
		zone := &infrav1.VSphereDeploymentZone{ObjectMeta: clusterScoped("probe"), Spec: infrav1.VSphereDeploymentZoneSpec{FailureDomain: "a"}}
		return api.Create(ctx, zone, client.DryRunAll) == nil && zone.Spec.ControlPlane != nil
	}
	g.Eventually(func() error { return api.Create(ctx, invalid("off"), client.DryRunAll) }).WithTimeout(eventually).Should(Succeed())
	g.Eventually(defaulted).WithTimeout(eventually).Should(BeFalse())
	do()
	for _, configuration := range saved {
		configuration.SetResourceVersion("")
		configuration.SetUID("")
		g.Expect(api.Create(ctx, configuration)).To(Succeed())
	}
	g.Eventually(func() error { return api.Create(ctx, invalid("on"), client.DryRunAll) }).WithTimeout(eventually).ShouldNot(Succeed())
	g.Eventually(defaulted).WithTimeout(eventually).Should(BeTrue())
}

// testStoredAsWritten wants the CRDs to accept and to keep every field of the
// wire format, whether anything acts on it or not.
func testStoredAsWritten(ctx context.Context, t *testing.T, api *apiServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "api", "v1beta2", "testdata", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(8))
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		content, err := yaml.YAMLToJSON(data)
		g.Expect(err).NotTo(HaveOccurred())
		want := &unstructured.Unstructured{}
		g.Expect(want.UnmarshalJSON(content)).To(Succeed())
		want.SetName("stored")

		got := want.DeepCopy()
		g.Expect(api.Create(ctx, got)).To(Succeed(), file)
		g.Expect(got.Object["spec"]).To(Equal(want.Object["spec"]), file)
		if want.Object["status"] == nil {
			continue
		}
		got.Object["status"] = want.DeepCopy().Object["status"]
		g.Expect(api.Status().Update(ctx, got)).To(Succeed(), file)
		g.Expect(got.Object["status"]).To(Equal(want.Object["status"]), file)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// sha1Pairs is a certificate fingerprint.
const sha1Pairs = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"

// testOlderVersion verifies that the API server converts every kind, and how objects behave that clients of both versions
// write.
func testOlderVersion(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	t.Run("created in v1beta1, read in v1beta2 and back", func(t *testing.T) { testReadInBoth(t, api) })
	t.Run("a client of v1beta1 changes what it knows and loses nothing", func(t *testing.T) { testOlderClient(t, api) })
	t.Run("status is patched in v1beta1", func(t *testing.T) { testOlderStatus(t, api) })
	t.Run("one applier goes from v1beta1 to v1beta2", func(t *testing.T) { testApplierGoesOn(t, api) })
	t.Run("a default of v1beta1 does not change a template", func(t *testing.T) { testDefaultChangesNothing(t, api) })
	t.Run("a rule of v1beta2 holds for v1beta1", func(t *testing.T) { testRulesHold(t, api) })
	t.Run("what v1beta1 lets in can be made", func(t *testing.T) { testOneProcessor(t, api) })
	t.Run("an edited annotation does not prevent deletion", func(t *testing.T) { testEditedAnnotation(t, api) })
	t.Run("CRDs of today are installed over those that store v1beta1", func(t *testing.T) { testStoredVersions(t, api) })
}

// testReadInBoth stores an object of each kind with all v1beta1 fields, and verifies that it reads back unchanged, even after
// it was written as v1beta2.
func testReadInBoth(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	api.Without(t, func() {
		files := filepath.Join("..", "..", "api", "v1beta1", "testdata")
		for _, object := range rulestest.Objects(t, files) {
			g.Expect(client.IgnoreNotFound(api.Delete(ctx, object.DeepCopy()))).To(Succeed())
			written := object.DeepCopy()
			g.Expect(api.Create(ctx, written)).To(Succeed(), object.GetKind())
			if status := object.Object["status"]; status != nil {
				written.Object["status"] = status
				g.Expect(api.Status().Update(ctx, written)).To(Succeed(), object.GetKind())
			}
			hub := &unstructured.Unstructured{}
			hub.SetGroupVersionKind(infrav1.GroupVersion.WithKind(object.GetKind()))
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), hub)).To(Succeed())
			g.Expect(hub.GetAnnotations()).NotTo(HaveKey(utilconversion.DataAnnotation), object.GetKind())
			hub.SetLabels(map[string]string{"written": "in-v1beta2"})
			g.Expect(api.Update(ctx, hub)).To(Succeed(), object.GetKind())

			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), written)).To(Succeed())
			for _, gone := range [][]string{
				{"spec", "network", "preferredAPIServerCidr"}, {"spec", "template", "spec", "network", "preferredAPIServerCidr"},
			} {
				unstructured.RemoveNestedField(object.Object, gone...)
			}
			if object.GetKind() == "VSphereMachine" {
				unstructured.RemoveNestedField(object.Object, "spec", "failureDomain")
			}
			g.Expect(written.Object["spec"]).To(Equal(object.Object["spec"]), object.GetKind())
			if status := object.Object["status"]; status != nil {
				g.Expect(written.Object["status"]).To(Equal(status), object.GetKind())
			}
			g.Expect(api.Delete(ctx, written)).To(Succeed())
		}
	}, validated(t, api), defaulted(t, api))
}

func testOlderClient(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	stored := &infrav1.VSphereFailureDomain{ObjectMeta: clusterScoped("both-versions"), Spec: infrav1.VSphereFailureDomainSpec{
		Region:   infrav1.FailureDomain{Name: "r", Type: infrav1.DatacenterFailureDomain, TagCategory: "region"},
		Zone:     infrav1.FailureDomain{Name: "z", Type: infrav1.ComputeClusterFailureDomain, TagCategory: "zone"},
		Topology: infrav1.Topology{Datacenter: "dc", ComputeCluster: "c", Template: "ubuntu-of-the-zone"},
	}}
	g.Expect(api.Create(ctx, stored)).To(Succeed())
	older := &v1beta1.VSphereFailureDomain{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), older)).To(Succeed())
	older.Spec.Topology.Datastore = "nfs"
	g.Expect(api.Update(ctx, older)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
	g.Expect(stored.Spec.Topology).To(Equal(infrav1.Topology{Datacenter: "dc", ComputeCluster: "c", Datastore: "nfs", Template: "ubuntu-of-the-zone"}))
	g.Expect(stored.Annotations).To(BeEmpty())
	g.Expect(api.Delete(ctx, older)).To(Succeed())
}

func testOlderStatus(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	vm := &infrav1.VSphereVM{ObjectMeta: rulestest.Named("both-versions"), Spec: infrav1.VSphereVMSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: "t", Server: "vc", Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(false), DHCP6: ptr.To(true)}}},
		},
		Placement: infrav1.VSphereVMPlacement{FailureDomain: "a"},
	}}
	g.Expect(api.Create(ctx, vm)).To(Succeed())
	vm.Status = infrav1.VSphereVMStatus{FailureDomain: ptr.To("a"), TaskRef: "task-1", TaskOperation: infrav1.CloneOperation}
	g.Expect(api.Status().Update(ctx, vm)).To(Succeed())

	older := &v1beta1.VSphereVM{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(vm), older)).To(Succeed())
	before := older.DeepCopy()
	older.Status.Ready, older.Status.Host = ptr.To(true), "esx-1"
	g.Expect(api.Status().Patch(ctx, older, client.MergeFrom(before))).To(Succeed())
	spec := vm.Spec
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(vm), vm)).To(Succeed())
	g.Expect(vm.Spec).To(Equal(spec))
	g.Expect(vm.Status).To(Equal(infrav1.VSphereVMStatus{
		Ready: ptr.To(true), Host: "esx-1", FailureDomain: ptr.To("a"), TaskRef: "task-1", TaskOperation: infrav1.CloneOperation,
	}))
	g.Expect(api.Delete(ctx, vm)).To(Succeed())
}

// testApplierGoesOn does what a ClusterClass controller, Flux or Argo CD does when its manifests are upgraded to v1beta2.
func testApplierGoesOn(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	apply := func(version, text string, force ...client.ApplyOption) {
		t.Helper()
		object := &unstructured.Unstructured{}
		g.Expect(object.UnmarshalJSON([]byte(`{"apiVersion":"infrastructure.cluster.x-k8s.io/` + version + `","kind":"VSphereCluster","metadata":{"name":"applied","namespace":"default"},"spec":` + text + `}`))).To(Succeed())
		g.Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), append(force, client.FieldOwner("gitops"))...)).To(Succeed())
	}
	apply("v1beta1", `{"server":"vc","thumbprint":"`+sha1Pairs+`","controlPlaneEndpoint":{"host":"10.0.0.1","port":6443},"disableClusterModule":true}`)
	// A controller of v1beta2 writes, too.
	cluster := &infrav1.VSphereCluster{}
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "applied"}, cluster)).To(Succeed())
	before := cluster.DeepCopy()
	cluster.Finalizers = []string{"example.com/kept"}
	g.Expect(api.Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
	cluster.Status.Distribution.ControlPlaneSkew = ptr.To[int32](1)
	g.Expect(api.Status().Update(ctx, cluster)).To(Succeed())

	apply("v1beta1", `{"server":"vc","thumbprint":"`+sha1Pairs+`","controlPlaneEndpoint":{"host":"10.0.0.2","port":6443}}`)
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.0.0.2"))
	g.Expect(ptr.Deref(cluster.Spec.DisableClusterModule, false)).To(BeFalse(), "fields that are not applied any more are removed")

	apply("v1beta2", `{"server":"vc","controlPlaneEndpoint":{"host":"10.0.0.3","port":6443}}`)
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.0.0.3"))
	g.Expect(cluster.Spec.Thumbprint).To(BeEmpty(), "fields applied in v1beta1 are removed, too")
	g.Expect(cluster.Status.Distribution.ControlPlaneSkew).To(HaveValue(BeEquivalentTo(1)))
	g.Expect(cluster.Finalizers).To(Equal([]string{"example.com/kept"}))
	g.Expect(cluster.ManagedFields).To(ContainElement(HaveField("Manager", "gitops")))
	for _, entry := range cluster.ManagedFields {
		g.Expect(entry.Manager == "gitops" && entry.APIVersion != infrav1.GroupVersion.String()).To(BeFalse(), "%v", entry)
	}
	cluster.Finalizers = nil
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	g.Expect(api.Delete(ctx, cluster)).To(Succeed())
}

func testDefaultChangesNothing(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	stored := &infrav1.VSphereMachineTemplate{ObjectMeta: rulestest.Named("both-versions"), Spec: infrav1.VSphereMachineTemplateSpec{
		Template: infrav1.VSphereMachineTemplateResource{Spec: infrav1.VSphereMachineSpec{VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: "t", Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(true), DHCP6: ptr.To(false)}}},
		}}},
	}}
	g.Expect(api.Create(ctx, stored)).To(Succeed())
	older := &v1beta1.VSphereMachineTemplate{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), older)).To(Succeed())
	older.Labels = map[string]string{"a": "b"}
	g.Expect(api.Update(ctx, older)).To(Succeed(), "the API server has filled in powerOffMode, and templates cannot be changed")
	got := &infrav1.VSphereMachineTemplate{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), got)).To(Succeed())
	g.Expect(got.Spec).To(Equal(stored.Spec))
	g.Expect(api.Delete(ctx, got)).To(Succeed())
}

func testRulesHold(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	older := &v1beta1.VSphereMachine{ObjectMeta: rulestest.Named("refused"), Spec: v1beta1.VSphereMachineSpec{
		ProviderID: ptr.To("423c0b3b"),
		VirtualMachineCloneSpec: v1beta1.VirtualMachineCloneSpec{
			Template: "t", Network: v1beta1.NetworkSpec{Devices: []v1beta1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(true), DHCP6: ptr.To(false)}}},
		},
	}}
	api.Warnings()
	rulestest.Rejected(g, api.Create(ctx, older), "spec.providerID: Invalid value")
	g.Expect(api.Warnings()).To(ContainElement(ContainSubstring("infrastructure.cluster.x-k8s.io/v1beta1 VSphereMachine is deprecated")))
}

// testOneProcessor uses v1beta1, which has no minimum, to write one processor to v1beta2 objects.
func testOneProcessor(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	older := &v1beta1.VSphereMachine{ObjectMeta: rulestest.Named("one-processor"), Spec: v1beta1.VSphereMachineSpec{
		VirtualMachineCloneSpec: v1beta1.VirtualMachineCloneSpec{
			Template: "t", NumCPUs: 1, Network: v1beta1.NetworkSpec{Devices: []v1beta1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(true), DHCP6: ptr.To(false)}}},
		},
	}}
	g.Expect(api.Create(ctx, older)).To(Succeed())
	machine := &infrav1.VSphereMachine{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(older), machine)).To(Succeed())
	vm := &infrav1.VSphereVM{ObjectMeta: rulestest.Named("one-processor"), Spec: infrav1.VSphereVMSpec{VirtualMachineCloneSpec: machine.Spec.VirtualMachineCloneSpec}}
	g.Expect(api.Create(ctx, vm)).To(Succeed())
	g.Expect(api.Delete(ctx, vm)).To(Succeed())
	g.Expect(api.Delete(ctx, older)).To(Succeed())
}

func testEditedAnnotation(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	older := &v1beta1.VSphereCluster{ObjectMeta: rulestest.Named("edited"), Spec: v1beta1.VSphereClusterSpec{Server: "vc"}}
	older.Annotations = map[string]string{utilconversion.DataAnnotation: "{"}
	older.Finalizers = []string{"example.com/held"}
	g.Expect(api.Create(ctx, older)).To(Succeed())
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{utilconversion.DataAnnotation: "7"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(api.Patch(ctx, older, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	g.Expect(api.Delete(ctx, older)).To(Succeed())
	stored := &infrav1.VSphereCluster{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(older), stored)).To(Succeed())
	g.Expect(stored.Spec.Server).To(Equal("vc"))
	g.Expect(stored.Annotations).To(BeEmpty())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(older), older)).To(Succeed())
	older.Finalizers = nil
	g.Expect(api.Update(ctx, older)).To(Succeed())
}

// testStoredVersions applies CRDs while objects may still be stored in v1beta1. The API server rejects CRDs that lack a stored
// version.
func testStoredVersions(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	g.Expect(api.Get(ctx, client.ObjectKey{Name: "vsphereclusters.infrastructure.cluster.x-k8s.io"}, crd)).To(Succeed())
	before := crd.DeepCopy()
	g.Expect(unstructured.SetNestedStringSlice(crd.Object, []string{"v1beta1", "v1beta2"}, "status", "storedVersions")).To(Succeed())
	g.Expect(api.Status().Patch(ctx, crd, client.MergeFrom(before))).To(Succeed())
	before = crd.DeepCopy()
	crd.SetLabels(map[string]string{"applied": "again"})
	g.Expect(api.Patch(ctx, crd, client.MergeFrom(before))).To(Succeed())
}

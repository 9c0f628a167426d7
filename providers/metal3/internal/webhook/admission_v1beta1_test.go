// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/conversion"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// testOlderVersion verifies that the API server converts every kind, and the result of writes by clients of both versions.
func testOlderVersion(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	t.Run("created in v1beta1, written in v1beta2 and read back", func(t *testing.T) { testReadInBoth(t, api) })
	t.Run("a client of v1beta1 changes what it knows and loses nothing", func(t *testing.T) { testOlderClient(t, api) })
	t.Run("status is patched in v1beta1", func(t *testing.T) { testOlderStatus(t, api) })
	t.Run("one applier goes from v1beta1 to v1beta2", func(t *testing.T) { testServerSideApply(t, api) })
	t.Run("a rule of v1beta2 holds for v1beta1", func(t *testing.T) { testRulesHold(t, api) })
	t.Run("an edited annotation does not block deletion", func(t *testing.T) { testEditedAnnotation(t, api) })
	t.Run("CRDs of today are installed over those that store v1beta1", func(t *testing.T) { testStoredVersions(t, api) })
}

// testReadInBoth stores an object of each kind with every field of v1beta1, changes a v1beta2 field that v1beta1 does not have,
// and expects the same v1beta1 object.
func testReadInBoth(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	objects := rulestest.Objects(t, filepath.Join("..", "..", "api", "v1beta1", "testdata"))
	g.Expect(objects).To(HaveLen(9))
	for _, object := range objects {
		t.Run(object.GetKind(), func(t *testing.T) {
			g, written := NewWithT(t), object.DeepCopy()
			g.Expect(client.IgnoreNotFound(api.Delete(ctx, object.DeepCopy()))).To(Succeed())
			g.Expect(api.Create(ctx, written)).To(Succeed())
			if status := object.Object["status"]; status != nil {
				written.Object["status"] = status
				g.Expect(api.Status().Update(ctx, written)).To(Succeed())
			}
			hub := &unstructured.Unstructured{}
			hub.SetGroupVersionKind(infrav1.GroupVersion.WithKind(object.GetKind()))
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), hub)).To(Succeed())
			g.Expect(hub.GetAnnotations()).NotTo(HaveKey(utilconversion.DataAnnotation))
			hub.SetLabels(map[string]string{"written": "in-v1beta2"})
			g.Expect(api.Update(ctx, hub)).To(Succeed())

			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), written)).To(Succeed())
			g.Expect(missing("spec", object.Object["spec"], written.Object["spec"])).To(BeEmpty())
			g.Expect(missing("status", object.Object["status"], written.Object["status"])).To(BeEmpty())
			g.Expect(written.GetAnnotations()).NotTo(HaveKey(conversion.KeptAnnotation))
			g.Expect(api.Delete(ctx, written)).To(Succeed())
		})
	}
}

func testOlderClient(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	stored := &infrav1.Metal3Cluster{ObjectMeta: rulestest.Named("both-versions"), Spec: validCluster()}
	stored.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: stored.Spec.FailureDomains[0].Name, State: faultlinev1.DomainCordoned}}
	g.Expect(api.Create(ctx, stored)).To(Succeed())
	want := stored.DeepCopy().Spec
	older := &v1beta1.Metal3Cluster{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), older)).To(Succeed())
	older.Spec.ControlPlaneEndpoint.Port = 443
	g.Expect(api.Update(ctx, older)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
	want.ControlPlaneEndpoint.Port = 443
	g.Expect(stored.Spec).To(Equal(want))
	g.Expect(stored.Annotations).To(BeEmpty())
	g.Expect(api.Delete(ctx, older)).To(Succeed())
}

func testOlderStatus(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.Metal3Machine{ObjectMeta: rulestest.Named("both-versions"), Spec: validMachine()}
	machine.Spec.FailureDomainPolicy = infrav1.FailureDomainPreferred
	g.Expect(api.Create(ctx, machine)).To(Succeed())
	machine.Status.FailureDomain = "rack-1"
	g.Expect(api.Status().Update(ctx, machine)).To(Succeed())

	older := &v1beta1.Metal3Machine{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), older)).To(Succeed())
	before := older.DeepCopy()
	older.Status.Ready, older.Status.Phase = true, "provisioned"
	g.Expect(api.Status().Patch(ctx, older, client.MergeFrom(before))).To(Succeed())
	g.Expect(older.Status.Phase).To(Equal("provisioned"))
	spec := machine.Spec
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	g.Expect(machine.Spec).To(Equal(spec))
	g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()))
	g.Expect(machine.Status.FailureDomain).To(Equal("rack-1"))

	machine.Status.Addresses = nil
	machine.Status.LastUpdated = ptr.To(metav1.Unix(1, 0))
	g.Expect(api.Status().Update(ctx, machine)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), older)).To(Succeed())
	g.Expect(older.Status.Phase).To(Equal("provisioned"), "fields that only v1beta1 has are kept when v1beta2 is written")
	g.Expect(older.Status.LastUpdated).To(HaveValue(HaveField("Time", BeTemporally("==", time.Unix(1, 0)))))
	g.Expect(api.Delete(ctx, machine)).To(Succeed())
}

// testServerSideApply simulates a ClusterClass controller, Flux or Argo CD whose manifests are upgraded to v1beta2.
func testServerSideApply(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	apply := func(version, spec string) {
		t.Helper()
		object := decode(g, `{"apiVersion":"infrastructure.cluster.x-k8s.io/`+version+`","kind":"Metal3Cluster","metadata":{"name":"applied","namespace":"default"},"spec":`+spec+`}`)
		g.Expect(api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gitops"))).To(Succeed())
	}
	apply("v1beta1", `{"controlPlaneEndpoint":{"host":"10.0.0.1","port":6443},"noCloudProvider":true,"failureDomains":{"rack-1":{"controlPlane":true},"rack-2":{}}}`)
	cluster := &infrav1.Metal3Cluster{}
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "applied"}, cluster)).To(Succeed())
	g.Expect(cluster.Spec.CloudProviderEnabled).To(HaveValue(BeFalse()))
	before := cluster.DeepCopy()
	cluster.Finalizers = []string{"example.com/kept"}
	g.Expect(api.Patch(ctx, cluster, client.MergeFrom(before))).To(Succeed())
	cluster.Status.Distribution.ControlPlaneSkew = ptr.To[int32](1)
	g.Expect(api.Status().Update(ctx, cluster)).To(Succeed())

	apply("v1beta1", `{"controlPlaneEndpoint":{"host":"10.0.0.2","port":6443},"noCloudProvider":true,"failureDomains":{"rack-1":{"controlPlane":true}}}`)
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.0.0.2"))
	g.Expect(cluster.Spec.FailureDomains).To(HaveLen(1), "a field that is not applied again is removed")
	g.Expect(cluster.Status.Distribution.ControlPlaneSkew).To(HaveValue(Equal(int32(1))))

	apply("v1beta2", `{"controlPlaneEndpoint":{"host":"10.0.0.3","port":6443},"cloudProviderEnabled":false,"failureDomains":[{"name":"rack-1","controlPlane":true},{"name":"rack-3"}]}`)
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	g.Expect(cluster.Spec.ControlPlaneEndpoint.Host).To(Equal("10.0.0.3"))
	g.Expect(cluster.Spec.FailureDomains).To(HaveLen(2))
	g.Expect(cluster.Finalizers).To(Equal([]string{"example.com/kept"}))
	older := &v1beta1.Metal3Cluster{}
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(cluster), older)).To(Succeed())
	g.Expect(older.Spec.FailureDomains).To(HaveKey("rack-3"))
	cluster.Finalizers = nil
	g.Expect(api.Update(ctx, cluster)).To(Succeed())
	g.Expect(api.Delete(ctx, cluster)).To(Succeed())
}

func testRulesHold(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	older := &v1beta1.Metal3Machine{ObjectMeta: rulestest.Named("refused"), Spec: v1beta1.Metal3MachineSpec{
		ProviderID: ptr.To("host-1"), Image: v1beta1.Image{URL: "https://images/1", Checksum: ptr.To("https://images/1.md5")},
	}}
	api.Warnings()
	rulestest.Rejected(g, api.Create(ctx, older), "spec.providerID: Invalid value")
	g.Expect(api.Warnings()).To(ContainElement(ContainSubstring("infrastructure.cluster.x-k8s.io/v1beta1 Metal3Machine is deprecated")))
}

func testEditedAnnotation(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	for _, text := range []string{"{", "7", `{"spec":{"distribution":7}}`} {
		older := &v1beta1.Metal3Cluster{ObjectMeta: rulestest.Named("edited"), Spec: v1beta1.Metal3ClusterSpec{
			ControlPlaneEndpoint: v1beta1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
		}}
		older.Finalizers = []string{"example.com/held"}
		g.Expect(api.Create(ctx, older)).To(Succeed())
		g.Expect(api.Delete(ctx, older)).To(Succeed())
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{utilconversion.DataAnnotation: text}}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(api.Patch(ctx, older, client.RawPatch(types.MergePatchType, patch))).To(Succeed(), text)
		stored := &infrav1.Metal3Cluster{}
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(older), stored)).To(Succeed(), text)
		g.Expect(stored.Spec.ControlPlaneEndpoint.Host).To(Equal("10.0.0.1"), text)
		stored.Annotations = map[string]string{conversion.KeptAnnotation: text}
		g.Expect(api.Update(ctx, stored)).To(Succeed(), text)
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(older), older)).To(Succeed(), text)
		older.Finalizers = nil
		g.Expect(api.Update(ctx, older)).To(Succeed(), text)
		g.Expect(client.IgnoreNotFound(api.Get(ctx, client.ObjectKeyFromObject(older), older))).To(Succeed(), text)
	}
}

// testStoredVersions simulates kubectl apply of CRDs while objects of v1beta1 may still be stored. The API server rejects CRDs
// without a stored version.
func testStoredVersions(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	for _, plural := range []string{"metal3clusters", "metal3dataclaims", "metal3remediations", "metal3remediationtemplates"} {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		g.Expect(api.Get(ctx, client.ObjectKey{Name: plural + ".infrastructure.cluster.x-k8s.io"}, crd)).To(Succeed())
		before := crd.DeepCopy()
		g.Expect(unstructured.SetNestedStringSlice(crd.Object, []string{"v1beta1", "v1beta2"}, "status", "storedVersions")).To(Succeed())
		g.Expect(api.Status().Patch(ctx, crd, client.MergeFrom(before))).To(Succeed())
		before = crd.DeepCopy()
		crd.SetLabels(map[string]string{"applied": "again"})
		g.Expect(api.Patch(ctx, crd, client.MergeFrom(before))).To(Succeed(), plural)
	}
}

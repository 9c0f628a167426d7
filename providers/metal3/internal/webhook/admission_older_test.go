// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// testOlderObjects stores objects that the rules would refuse, as they are when
// they were written before the rules were, and wants them to be alive still.
func testOlderObjects(t *testing.T, api *apiServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	machine := &infrav1.Metal3Machine{ObjectMeta: named("older")}
	machine.Finalizers = []string{infrav1.MachineFinalizer}
	cluster := &infrav1.Metal3Cluster{ObjectMeta: named("older"), Spec: validCluster()}
	cluster.Spec.FailureDomains[0].Name = "rack 1"
	cluster.Finalizers = []string{infrav1.ClusterFinalizer}
	withoutWebhooks(t, api, func() {
		g.Expect(api.Create(ctx, machine)).To(Succeed())
		g.Expect(api.Create(ctx, cluster)).To(Succeed())
	})
	machine.Spec.ProviderID = "metal3://default/host-1/older"
	g.Expect(api.Update(ctx, machine)).To(Succeed(), "the controller can set what it has to")
	machine.Spec.ProviderID = "host-1"
	refused(g, api.Update(ctx, machine.DeepCopy()), "spec.providerID: Invalid value")
	cluster.Spec.ControlPlaneEndpoint.Port = 443
	g.Expect(api.Update(ctx, cluster)).To(Succeed(), "what is wrong already may stay")

	for _, object := range []client.Object{machine, cluster} {
		g.Expect(api.Delete(ctx, object)).To(Succeed())
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		object.SetFinalizers(nil)
		g.Expect(api.Update(ctx, object)).To(Succeed(), "the finalizer can be taken off")
	}
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
	validated := func() bool {
		return api.Create(ctx, &infrav1.Metal3Machine{ObjectMeta: named("probe")}, client.DryRunAll) != nil
	}
	defaulted := func() bool {
		remediation := &infrav1.Metal3Remediation{ObjectMeta: named("probe")}
		return api.Create(ctx, remediation, client.DryRunAll) == nil && remediation.Spec.Strategy.Type != ""
	}
	g.Eventually(validated).WithTimeout(eventually).Should(BeFalse())
	g.Eventually(defaulted).WithTimeout(eventually).Should(BeFalse())
	do()
	for _, configuration := range saved {
		configuration.SetResourceVersion("")
		configuration.SetUID("")
		g.Expect(api.Create(ctx, configuration)).To(Succeed())
	}
	g.Eventually(validated).WithTimeout(eventually).Should(BeTrue())
	g.Eventually(defaulted).WithTimeout(eventually).Should(BeTrue())
}

// testStoredAsWritten wants CRDs and webhooks to accept and to keep every field
// of the wire format.
func testStoredAsWritten(t *testing.T, api *apiServer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "api", "v1beta2", "testdata", "*.yaml"))
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(HaveLen(9))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g, ctx := NewWithT(t), t.Context()
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			content, err := yaml.YAMLToJSON(data)
			g.Expect(err).NotTo(HaveOccurred())
			want := &unstructured.Unstructured{}
			g.Expect(want.UnmarshalJSON(content)).To(Succeed())

			got := want.DeepCopy()
			g.Expect(client.IgnoreNotFound(api.Delete(ctx, got.DeepCopy()))).To(Succeed())
			g.Expect(api.Create(ctx, got)).To(Succeed())
			g.Expect(got.Object["spec"]).To(Equal(want.Object["spec"]))
			if want.Object["status"] == nil {
				return
			}
			got.Object["status"] = want.DeepCopy().Object["status"]
			g.Expect(api.Status().Update(ctx, got)).To(Succeed())
			g.Expect(got.Object["status"]).To(Equal(want.Object["status"]))
		})
	}
}

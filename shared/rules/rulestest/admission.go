// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rulestest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/shared/testenv"
)

// Timeout is a timeout that is sufficient even on a busy machine.
const Timeout = 2 * time.Minute

// APIServer is a real API server with a provider's CRDs and webhooks.
type APIServer struct {
	client.Client

	mutex    sync.Mutex
	warnings []string
}

// StartAPIServer starts an APIServer for a test.
func StartAPIServer(t *testing.T, options testenv.Options) *APIServer {
	t.Helper()
	g := gomega.NewWithT(t)
	api := &APIServer{}
	config := rest.CopyConfig(testenv.Start(t, options).Config)
	config.WarningHandlerWithContext = api
	var err error
	api.Client, err = client.New(config, client.Options{Scheme: options.Scheme})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return api
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (a *APIServer) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.warnings = append(a.warnings, text)
}

// Warnings returns the API server's warnings since the last call.
func (a *APIServer) Warnings() []string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	texts := a.warnings
	a.warnings = nil
	return texts
}

// Without removes the webhook configurations while do runs. The probes report whether webhooks are active, one for each
// configuration.
func (a *APIServer) Without(t *testing.T, do func(), probes ...func() bool) {
	t.Helper()
	g, ctx := gomega.NewWithT(t), t.Context()
	var saved []*unstructured.Unstructured
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("admissionregistration.k8s.io/v1")
		list.SetKind(kind + "List")
		g.Expect(a.List(ctx, list)).To(gomega.Succeed())
		for i := range list.Items {
			saved = append(saved, &list.Items[i])
			g.Expect(a.Delete(ctx, &list.Items[i])).To(gomega.Succeed())
		}
	}
	g.Expect(saved).To(gomega.HaveLen(len(probes)))
	for _, probe := range probes {
		g.Eventually(probe).WithTimeout(Timeout).Should(gomega.BeFalse())
	}
	do()
	for _, configuration := range saved {
		configuration.SetResourceVersion("")
		configuration.SetUID("")
		g.Expect(a.Create(ctx, configuration)).To(gomega.Succeed())
	}
	for _, probe := range probes {
		g.Eventually(probe).WithTimeout(Timeout).Should(gomega.BeTrue())
	}
}

// StoresAsWritten expects the CRDs to accept and keep every field of the wire format, whether or not a controller uses it. folder
// contains an object of each kind.
func (a *APIServer) StoresAsWritten(ctx context.Context, t *testing.T, folder string, kinds int) {
	t.Helper()
	g := gomega.NewWithT(t)
	objects := Objects(t, folder)
	g.Expect(objects).To(gomega.HaveLen(kinds))
	for _, want := range objects {
		what := want.GetKind()
		got := want.DeepCopy()
		g.Expect(client.IgnoreNotFound(a.Delete(ctx, got.DeepCopy()))).To(gomega.Succeed(), what)
		g.Expect(a.Create(ctx, got)).To(gomega.Succeed(), what)
		g.Expect(got.Object["spec"]).To(gomega.Equal(want.Object["spec"]), what)
		if want.Object["status"] == nil {
			continue
		}
		got.Object["status"] = want.DeepCopy().Object["status"]
		g.Expect(a.Status().Update(ctx, got)).To(gomega.Succeed(), what)
		g.Expect(got.Object["status"]).To(gomega.Equal(want.Object["status"]), what)
	}
}

// Objects reads the YAML files of a folder, which contain one object each.
func Objects(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	g := gomega.NewWithT(t)
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(files).NotTo(gomega.BeEmpty(), folder)
	objects := make([]*unstructured.Unstructured, 0, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		content, err := yaml.YAMLToJSON(data)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		object := &unstructured.Unstructured{}
		g.Expect(object.UnmarshalJSON(content)).To(gomega.Succeed(), file)
		objects = append(objects, object)
	}
	return objects
}

// Rejected expects a request to be rejected for exactly these causes.
func Rejected(g gomega.Gomega, err error, want ...string) {
	g.Expect(apierrors.IsInvalid(err)).To(gomega.BeTrue(), "%v", err)
	g.Expect(Causes(err)).To(gomega.ConsistOf(want))
}

// Named returns the metadata of an object in the default namespace.
func Named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
)

// counter counts a client's requests by verb and resource, and rejected ones separately: requests based on a stale cache are
// retried, more often on a busy machine.
type counter struct {
	http.RoundTripper
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource := path[len(path)-1]
	for i, part := range path {
		if part == "namespaces" && i+2 < len(path) {
			resource = strings.Join(append([]string{path[i+2]}, path[min(i+4, len(path)):]...), "/")
		}
	}
	answer, err := c.RoundTripper.RoundTrip(r)
	request := r.Method + " " + resource
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		request += " refused"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[request]++
	return answer, err
}

// A machine costs little more than the requests that create its objects; all reads use the cache.
func TestRequests(t *testing.T) {
	t.Parallel()
	const machines = 40
	f := newFixture(t)
	count := &counter{counts: map[string]int{}}
	mgr := f.start(func(options *ctrl.Options, _ *metal3data.Reconciler) {
		options.NewClient = func(cfg *rest.Config, o client.Options) (client.Client, error) {
			transport := *o.HTTPClient
			count.RoundTripper = transport.Transport
			transport.Transport = count
			o.HTTPClient = &transport
			return client.New(cfg, o)
		}
	})
	f.Expect((&metal3data.TemplateReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	f.template(plain)
	for i := range machines {
		f.host(fmt.Sprintf("h-%d", i))
		f.machine(fmt.Sprintf("m-%d", i), fmt.Sprintf("h-%d", i))
	}
	f.Eventually(func(g Gomega) {
		datas := &infrav1.Metal3DataList{}
		g.Expect(f.client.List(t.Context(), datas, client.InNamespace(f.name))).To(Succeed())
		g.Expect(datas.Items).To(HaveLen(machines))
		g.Expect(datas.Items).To(HaveEach(HaveField("Status.Ready", true)))
	}).Should(Succeed())

	count.mu.Lock()
	defer count.mu.Unlock()
	for request, want := range map[string]int{
		"PATCH metal3dataclaims/status": machines, "POST metal3datas": machines, "POST secrets": 2 * machines, "PATCH metal3datas/status": machines,
	} {
		f.Expect(count.counts[request]).To(Equal(want), request)
		delete(count.counts, request)
	}
	for request, n := range count.counts {
		f.Expect(request).NotTo(HavePrefix("GET"))
		f.Expect(n).To(BeNumerically("<=", machines), request)
	}
}

// Replacing the provider under a running cluster must not change anything.
func TestTakeover(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	template := f.template(plain)
	f.host("h-1")
	machine := f.machine("m-1", "h-1")
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1")}
	data := &infrav1.Metal3Data{ObjectMeta: f.meta("t-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Namespace: f.name, Name: "t"}, Claim: corev1.ObjectReference{Namespace: f.name, Name: "m-1"},
		MetaData:    &corev1.SecretReference{Namespace: f.name, Name: "m-1-metadata"},
		NetworkData: &corev1.SecretReference{Namespace: f.name, Name: "m-1-networkdata"},
	}}
	data.Finalizers = []string{infrav1.DataClaimFinalizer, infrav1.DataFinalizer}
	data.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3DataTemplate", Name: "t", UID: template.UID, Controller: ptr.To(true)},
		{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Name: "m-1", UID: machine.UID},
	}
	f.create(data)
	updateStatus(f, data, func(data *infrav1.Metal3Data) { data.Status.Ready = true })
	updateStatus(f, claim, func(claim *infrav1.Metal3DataClaim) {
		claim.Status.RenderedData = &corev1.ObjectReference{Namespace: f.name, Name: "t-0"}
	})
	update(f, template, func(template *infrav1.Metal3DataTemplate) {
		template.Finalizers = []string{infrav1.DataTemplateFinalizer}
	})
	updateStatus(f, template, func(template *infrav1.Metal3DataTemplate) {
		template.Status.Indexes = []infrav1.IndexEntry{{Name: "m-1", Index: 0}}
	})
	for _, name := range []string{"m-1-metadata", "m-1-networkdata"} {
		secret := &corev1.Secret{ObjectMeta: f.meta(name)}
		secret.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Data", Name: "t-0", UID: data.UID, Controller: ptr.To(true),
		}}
		f.create(secret)
	}
	before := f.versions(template, claim, data)
	mgr := f.start()
	f.Expect((&metal3data.TemplateReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(t.Context(), mgr, "", controller.Options{})).To(Succeed())
	f.Consistently(func() []string { return f.versions(template, claim, data) }, "1s").Should(Equal(before))
}

func (f *fixture) versions(objects ...client.Object) []string {
	versions := make([]string, len(objects))
	for i, o := range objects {
		f.get(o)
		versions[i] = o.GetResourceVersion()
	}
	return versions
}

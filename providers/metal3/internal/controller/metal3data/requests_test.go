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
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3datatemplate"
)

// counter counts a client's requests by verb and resource.
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
	c.mu.Lock()
	c.counts[r.Method+" "+resource]++
	c.mu.Unlock()
	return c.RoundTripper.RoundTrip(r)
}

// A machine costs the requests that make its objects, and few more; nothing is read but through the cache.
func TestRequests(t *testing.T) {
	t.Parallel()
	const machines = 40
	w := newWorld(t)
	count := &counter{counts: map[string]int{}}
	mgr := w.start(func(options *ctrl.Options, _ *metal3data.Reconciler) {
		options.NewClient = func(cfg *rest.Config, o client.Options) (client.Client, error) {
			transport := *o.HTTPClient
			count.RoundTripper = transport.Transport
			transport.Transport = count
			o.HTTPClient = &transport
			return client.New(cfg, o)
		}
	})
	w.Expect((&metal3datatemplate.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader()}).
		SetupWithManager(t.Context(), mgr, "", controller.Options{MaxConcurrentReconciles: 5})).To(Succeed())
	w.template(plain)
	for i := range machines {
		w.host(fmt.Sprintf("h-%d", i))
		w.machine(fmt.Sprintf("m-%d", i), fmt.Sprintf("h-%d", i))
	}
	w.Eventually(func(g Gomega) {
		datas := &infrav1.Metal3DataList{}
		g.Expect(w.client.List(t.Context(), datas, client.InNamespace(w.name))).To(Succeed())
		g.Expect(datas.Items).To(HaveLen(machines))
		g.Expect(datas.Items).To(HaveEach(HaveField("Status.Ready", true)))
	}).Should(Succeed())

	count.mu.Lock()
	defer count.mu.Unlock()
	for request, want := range map[string]int{
		"PATCH metal3dataclaims/status": machines, "POST metal3datas": machines, "POST secrets": 2 * machines, "PATCH metal3datas/status": machines,
	} {
		w.Expect(count.counts[request]).To(Equal(want), request)
		delete(count.counts, request)
	}
	for request, n := range count.counts {
		w.Expect(request).NotTo(HavePrefix("GET"))
		w.Expect(n).To(BeNumerically("<=", machines), request)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/faultline-io/faultline/shared/faults"
)

// api counts the requests that reach it, and has one watch on which it sends given events.
type api struct {
	reached atomic.Int32
	events  chan string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.reached.Add(1)
	if r.URL.Query().Get("watch") == "" {
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case event := <-a.events:
			_, _ = fmt.Fprintln(w, event)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// answer is a response whose body is closed at the end of the test.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// before returns a proxy in front of such an API server, and a function that sends requests.
func before(t *testing.T) (a *api, p *Proxy, ask func(method, path string) answer) {
	t.Helper()
	g := NewWithT(t)
	a = &api{events: make(chan string)}
	server := httptest.NewTLSServer(a)
	p, err := NewProxy(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, Address{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Up(t.Context())).To(Succeed())
	t.Cleanup(func() {
		g.Expect(p.Close()).To(Succeed())
		server.Close()
	})
	client, err := rest.HTTPClientFor(&rest.Config{Host: p.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: p.Authority()}})
	g.Expect(err).NotTo(HaveOccurred())
	return a, p, func(method, path string) answer {
		request, err := http.NewRequestWithContext(t.Context(), method, p.URL()+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = response.Body.Close() })
		return answer{response.StatusCode, response.Header, response.Body}
	}
}

const pod = "/api/v1/namespaces/one/pods/p"

func TestRefusals(t *testing.T) {
	t.Parallel()
	for code, reason := range map[int32]metav1.StatusReason{
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	} {
		g := NewWithT(t)
		a, p, ask := before(t)
		p.Refuse(code, 1)
		response := ask(http.MethodGet, pod)
		g.Expect(response.StatusCode).To(BeEquivalentTo(code))
		is := metav1.Status{}
		g.Expect(json.NewDecoder(response.Body).Decode(&is)).To(Succeed())
		g.Expect(is.Reason).To(Equal(reason))
		g.Expect(is.Message).NotTo(BeEmpty())
		if code == http.StatusTooManyRequests {
			g.Expect(response.Header).To(HaveKey("Retry-After"))
		} else {
			g.Expect(response.Header).NotTo(HaveKey("Retry-After"))
		}
		g.Expect(a.reached.Load()).To(BeZero())
		p.Refuse(code, 0)
		g.Expect(ask(http.MethodGet, pod).StatusCode).To(Equal(http.StatusOK))
	}
}

func TestTimeOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, p, ask := before(t)
	p.TimeOut(1)
	g.Expect(ask(http.MethodGet, pod).StatusCode).To(Equal(http.StatusOK))
	response := ask(http.MethodPatch, pod)
	g.Expect(response.StatusCode).To(Equal(http.StatusGatewayTimeout))
	is := metav1.Status{}
	g.Expect(json.NewDecoder(response.Body).Decode(&is)).To(Succeed())
	g.Expect(is.Reason).To(Equal(metav1.StatusReasonTimeout))
	g.Expect(a.reached.Load()).To(BeEquivalentTo(2))
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, p, ask := before(t)
	p.Conflict("pods", 1)
	g.Expect(ask(http.MethodPut, pod).StatusCode).To(Equal(http.StatusConflict))
	g.Expect(ask(http.MethodPost, "/api/v1/namespaces/one/pods").StatusCode).To(Equal(http.StatusOK))
	g.Expect(ask(http.MethodPut, "/api/v1/nodes/n").StatusCode).To(Equal(http.StatusOK))
	p.Conflict(AnyResource, 1)
	g.Expect(ask(http.MethodPut, "/api/v1/nodes/n").StatusCode).To(Equal(http.StatusConflict))
}

func TestWatchesLag(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, p, ask := before(t)
	const lag = 300 * time.Millisecond
	p.Lag(lag)
	lines := bufio.NewScanner(ask(http.MethodGet, "/api/v1/pods?watch=true").Body)
	began := time.Now()
	a.events <- "changed"
	g.Expect(lines.Scan()).To(BeTrue())
	g.Expect(lines.Text()).To(Equal("changed"))
	g.Expect(time.Since(began)).To(BeNumerically(">=", lag))
}

func TestShorten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, p, ask := before(t)
	p.Shorten(time.Second)
	lines := bufio.NewScanner(ask(http.MethodGet, "/api/v1/pods?watch=true").Body)
	g.Expect(lines.Scan()).To(BeFalse(), "nothing is sent, and it would last for ever")
	g.Expect(lines.Err()).NotTo(HaveOccurred(), "it ends as watches do")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range ProxyFaults() {
		g := NewWithT(t)
		_, p, ask := before(t)
		g.Expect(faults.Named(ProxyFaults(), fault.Name)).To(HaveField("Is", fault.Is))
		g.Expect(fault.Make(t.Context(), &p.Faults, true)).To(Succeed())
		g.Expect(fault.Make(t.Context(), &p.Faults, false)).To(Succeed())
		for range 50 {
			g.Expect(ask(http.MethodPatch, pod).StatusCode).To(Equal(http.StatusOK), fault.Name)
		}
	}
}

func TestHighest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := &Log{}
	l.CountOnly()
	at := time.Unix(0, 0)
	var together sync.WaitGroup
	for range 5 {
		together.Go(func() { l.note(Request{Verb: "patch", Resource: "pods", Namespace: "one", Name: "p"}, at) })
	}
	together.Wait()
	for i := range 8 {
		l.note(Request{Verb: "get", Resource: "nodes", Name: "n"}, at.Add(time.Duration(i)*30*time.Second))
		l.note(Request{Verb: "list", Resource: "nodes"}, at)
	}
	g.Expect(l.Highest()).To(Equal(Rate{Object{"pods", "one", "p"}, 5}))
	g.Expect(l.Highest().String()).To(Equal("at most 5 requests a minute for one object (pods one/p)"))
	g.Expect(Object{"nodes", "", "n"}.String()).To(Equal("nodes n"))
	g.Expect(l.Highest().TooMany()).To(Succeed())
	g.Expect(Rate{Object{"pods", "one", "p"}, mostRequests + 1}.TooMany()).To(MatchError(ContainSubstring("pods one/p")))
	g.Expect(l.Requests()).To(BeEmpty())
}

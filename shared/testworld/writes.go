// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testworld

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// calm is a pause that a controller does not make whose pauses do not grow.
	calm = 600 * time.Millisecond
	// mostWrites are more than there are before such a pause, with all that happens to an object at first.
	mostWrites = 40
)

// Writes are the patches that a manager sends for one object but its status.
type Writes struct {
	path string

	mu   sync.Mutex
	lose bool
	sent []time.Time
}

// WritesOf notes those of an object that are sent by whoever uses the configuration returned.
func (u User) WritesOf(o client.Object, config *rest.Config) (*Writes, *rest.Config) {
	u.T.Helper()
	mapping := u.mapping(o)
	path := mapping.Resource.Resource + "/" + o.GetName()
	if o.GetNamespace() != "" {
		path = "namespaces/" + o.GetNamespace() + "/" + path
	}
	w, config := &Writes{path: "/" + path}, rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noted{w, next} })
	return w, config
}

// Lose has all of them lose against another's write, as they do while the watch lags.
func (w *Writes) Lose(lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = lose
}

// note reports whether the request loses.
func (w *Writes) note(r *http.Request) bool {
	if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, w.path) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, time.Now())
	return w.lose
}

// CalmDown waits until there is a long pause between two, and fails if there are many before.
func (w *Writes) CalmDown(u User) {
	u.T.Helper()
	u.G.Eventually(func(g gomega.Gomega) {
		w.mu.Lock()
		defer w.mu.Unlock()
		g.Expect(len(w.sent)).To(gomega.BeNumerically(">", 5))
		for i := 5; i < len(w.sent); i++ { // A reconcile may write twice.
			if w.sent[i].Sub(w.sent[i-1]) >= calm {
				return
			}
		}
		if len(w.sent) > mostWrites {
			gomega.StopTrying("the pauses between writes do not grow").Now()
		}
		g.Expect(w.sent).To(gomega.BeEmpty(), "no pause is long yet")
	}).Should(gomega.Succeed())
}

type noted struct {
	*Writes
	next http.RoundTripper
}

// RoundTrip answers for the API server when the write is to lose.
func (n noted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !n.note(r) {
		return n.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	lost := apierrors.NewConflict(schema.GroupResource{}, n.path, io.ErrUnexpectedEOF).Status()
	lost.Kind, lost.APIVersion = "Status", "v1"
	body, err := json.Marshal(lost)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusConflict, Status: http.StatusText(http.StatusConflict), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(body))), ContentLength: int64(len(body)),
	}, nil
}

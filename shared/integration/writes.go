// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"io"
	"net/http"
	"slices"
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
	// longPause is a pause that only a controller with growing pauses makes.
	longPause = 600 * time.Millisecond
	// mostWrites is more than the number of writes before such a pause, including all initial ones.
	mostWrites = 40
	// writesBeforeLongPause is the number of writes before the first pause of that length, if pauses grow from 20 ms.
	writesBeforeLongPause = 5
)

// Writes records the patches and updates of a manager, by object; those of a status count for its object.
type Writes struct {
	user User

	mu     sync.Mutex
	losing []string
	sent   map[string][]time.Time // by the end of the path
}

// Writes returns a configuration, and the record of the writes that are sent with it.
func (u User) Writes(config *rest.Config) (*Writes, *rest.Config) {
	w, config := &Writes{user: u, sent: map[string][]time.Time{}}, rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return noted{w, next} })
	return w, config
}

// path returns the end of the URL path of an object.
func (w *Writes) path(o client.Object) string {
	w.user.T.Helper()
	path := "/" + w.user.mapping(o).Resource.Resource + "/" + o.GetName()
	if o.GetNamespace() != "" {
		path = "/namespaces/" + o.GetNamespace() + path
	}
	return path
}

// Conflict makes all writes of these objects, and of no others, conflict, as they do while the watch lags.
func (w *Writes) Conflict(objects ...client.Object) {
	w.user.T.Helper()
	var paths []string
	for _, o := range objects {
		paths = append(paths, w.path(o))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losing = paths
}

// Forget drops the recorded writes.
func (w *Writes) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.sent)
}

// note records a request and reports whether it must conflict.
func (w *Writes) note(r *http.Request) bool {
	if r.Method != http.MethodPatch && r.Method != http.MethodPut {
		return false
	}
	path := strings.TrimSuffix(r.URL.Path, "/status")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[path] = append(w.sent[path], time.Now())
	return slices.ContainsFunc(w.losing, func(losing string) bool { return strings.HasSuffix(path, losing) })
}

// of returns the times of the writes of an object.
func (w *Writes) of(path string) (sent []time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for each, times := range w.sent {
		if strings.HasSuffix(each, path) {
			sent = append(sent, times...)
		}
	}
	return sent
}

// Count returns the number of writes of an object.
func (w *Writes) Count(o client.Object) int {
	w.user.T.Helper()
	return len(w.of(w.path(o)))
}

// WaitForBackoff waits until there is a long pause between two writes of an object that is written repeatedly, and fails if there are
// many writes before.
func (w *Writes) WaitForBackoff(o client.Object) {
	w.user.T.Helper()
	w.waitForLongPause(o, writesBeforeLongPause)
}

// waitForLongPause is WaitForBackoff with the number of writes before the first pause that counts: a reconcile may write twice.
func (w *Writes) waitForLongPause(o client.Object, first int) {
	w.user.T.Helper()
	path := w.path(o)
	w.user.G.Eventually(func(g gomega.Gomega) {
		sent := w.of(path)
		g.Expect(len(sent)).To(gomega.BeNumerically(">", first), "writes of %s", path)
		for i := max(first, 1); i < len(sent); i++ {
			if sent[i].Sub(sent[i-1]) >= longPause {
				return
			}
		}
		if len(sent) > mostWrites {
			gomega.StopTrying(fmt.Sprintf("the pauses between writes of %s do not grow: %v", path, pauses(sent))).Now()
		}
		g.Expect(sent).To(gomega.BeEmpty(), "no pause between writes of %s is long yet: %v", path, pauses(sent))
	}).Should(gomega.Succeed())
}

func pauses(sent []time.Time) (all []time.Duration) {
	for i := 1; i < len(sent); i++ {
		all = append(all, sent[i].Sub(sent[i-1]).Round(time.Millisecond))
	}
	return all
}

type noted struct {
	*Writes
	next http.RoundTripper
}

// RoundTrip returns a conflict instead of the API server's response if the write must lose.
func (n noted) RoundTrip(r *http.Request) (*http.Response, error) {
	if !n.note(r) {
		return n.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	lost := apierrors.NewConflict(schema.GroupResource{}, r.URL.Path, io.ErrUnexpectedEOF).Status()
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/faultline-io/faultline/shared/watch"
)

// silentServer is an API server that accepts requests and answers none while it is silent.
type silentServer struct {
	mu       sync.Mutex
	silent   bool
	requests int
	stored   []string
	// ended holds the results of the writes.
	ended []error
}

// RoundTrip implements http.RoundTripper.
func (s *silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.requests++
	silent := s.silent
	s.mu.Unlock()
	if silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = append(s.stored, string(body))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"one","name":"written"}}`)),
	}, nil
}

// TestSilentAPIServer has a controller whose write is not answered for an hour.
func TestSilentAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		server := &silentServer{silent: true}
		o, flags := &Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
		o.AddFlags(flags)
		config := &rest.Config{Host: "https://api.example.com", Transport: server}
		o.configure(config, "manager")
		c, err := client.New(config, client.Options{Mapper: testrestmapper.TestOnlyStaticRESTMapper(clientgoscheme.Scheme)})
		g.Expect(err).NotTo(HaveOccurred())
		work := func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
			written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "written"}}
			err := c.Patch(ctx, written, client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"b"}}`)))
			server.mu.Lock()
			defer server.mu.Unlock()
			server.ended = append(server.ended, err)
			return ctrl.Result{}, err
		}
		options := watch.Concurrency(1)
		options.Reconciler, options.UsePriorityQueue, options.SkipNameValidation = reconcile.Func(work), ptr.To(false), ptr.To(true)
		running, err := controller.NewUnmanaged("silence", options)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(running.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
			queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "one", Name: "written"}})
			return nil
		}))).To(Succeed())
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- running.Start(ctx) }()

		time.Sleep(time.Hour) //nolint:forbidigo // the clock is the bubble's
		synctest.Wait()
		server.mu.Lock()
		g.Expect(server.ended).To(HaveEach(MatchError(context.DeadlineExceeded)), "each request ends")
		g.Expect(server.requests).To(And(BeNumerically(">=", 10), BeNumerically("<=", 13)), "one after the other, every five minutes")
		server.silent = false
		server.mu.Unlock()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // the clock is the bubble's
		synctest.Wait()
		server.mu.Lock()
		defer server.mu.Unlock()
		g.Expect(server.stored).To(Equal([]string{`{"data":{"a":"b"}}`}), "the write is not lost, and sent once")
		stop()
		g.Expect(<-done).To(Succeed())
	})
}

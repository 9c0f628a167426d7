// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// All tests share the Harvester. Each test has its own namespace, which also holds its Secret.
var (
	sim    *simulator.Simulator
	scheme = runtime.NewScheme()
)

func TestMain(m *testing.M) {
	utilruntime.Must(harvester.AddToScheme(scheme))
	simulator.Main(m, &sim)
}

// fixture is the share of the Harvester of one test, and the connections of a manager.
type fixture struct {
	*WithT
	t           *testing.T
	client      client.Client
	namespace   string
	connections *harvester.Connections
	target      harvester.Target

	queues map[harvester.Kind]workqueue.TypedInterface[reconcile.Request]

	mu    sync.Mutex
	woken map[harvester.Requester]int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &fixture{WithT: g, t: t, client: sim.Client(), woken: map[harvester.Requester]int{}}
	w.namespace = integration.NewNamespace(t, w.client)
	w.target = harvester.Target{Identity: client.ObjectKey{Namespace: w.namespace, Name: "identity"}, From: w.namespace, Namespace: w.namespace}
	w.connections = harvester.New(t.Context(), w.client, w.client, scheme)
	w.queues = map[harvester.Kind]workqueue.TypedInterface[reconcile.Request]{}
	for _, kind := range []harvester.Kind{harvester.Cluster, harvester.Machine} {
		w.count(kind)
	}
	return w
}

// count counts the requests that a controller of a kind would get.
func (w *fixture) count(kind harvester.Kind) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.Expect(w.connections.Source(kind).Start(w.t.Context(), queue)).To(Succeed())
	w.queues[kind] = queue
	w.t.Cleanup(queue.ShutDown)
	go func() {
		for {
			request, ended := queue.Get()
			if ended {
				return
			}
			w.mu.Lock()
			w.woken[harvester.Requester{Kind: kind, Key: request.NamespacedName}]++
			w.mu.Unlock()
			queue.Done(request)
		}
	}()
}

// enqueued returns how often an asker was enqueued.
func (w *fixture) enqueued(who harvester.Requester) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.woken[who]
}

// enqueuedSoFar returns how often each asker was enqueued by all events so far.
func (w *fixture) enqueuedSoFar(all ...harvester.Requester) (counts []int) {
	w.t.Helper()
	for kind, queue := range w.queues {
		last := w.asker(kind, "last")
		before := w.enqueued(last)
		queue.Add(reconcile.Request{NamespacedName: last.Key}) // requests are counted in order
		w.Eventually(func() int { return w.enqueued(last) }).Should(BeNumerically(">", before))
	}
	for _, who := range all {
		counts = append(counts, w.enqueued(who))
	}
	return counts
}

// settled waits until no more events of earlier changes arrive, and returns how often each asker was enqueued.
func (w *fixture) settled(who ...harvester.Requester) (counts []int) {
	w.t.Helper()
	w.Eventually(func() bool {
		before := counts
		counts = w.enqueuedSoFar(who...)
		return slices.Equal(before, counts)
	}).WithPolling(500 * time.Millisecond).Should(BeTrue())
	return counts
}

// identity writes the Secret.
func (w *fixture) identity(kubeconfig []byte) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.target.Identity.Name}}
	secret.Data = map[string][]byte{infrav1.KubeconfigKey: kubeconfig}
	if err := w.client.Update(w.t.Context(), secret); err != nil {
		w.Expect(w.client.Create(w.t.Context(), secret)).To(Succeed())
	}
}

func (w *fixture) asker(kind harvester.Kind, name string) harvester.Requester {
	return harvester.Requester{Kind: kind, Key: client.ObjectKey{Namespace: w.namespace, Name: name}}
}

// waitForConnection polls until there is a connection.
func (w *fixture) waitForConnection(who harvester.Requester) *harvester.Connection {
	w.t.Helper()
	var conn *harvester.Connection
	w.Eventually(func() bool {
		conn, _ = w.connections.Get(w.t.Context(), w.target, who)
		return conn != nil
	}).Should(BeTrue(), "there is a connection")
	return conn
}

// waitForProblem polls until there is a problem other than a pending connection.
func (w *fixture) waitForProblem(who harvester.Requester) *harvester.Problem {
	w.t.Helper()
	var problem *harvester.Problem
	w.Eventually(func() bool {
		_, problem = w.connections.Get(w.t.Context(), w.target, who)
		return problem != nil && !problem.Pending
	}).Should(BeTrue(), "there is a problem")
	return problem
}

// read reads an object once its informer has synced.
func (w *fixture) read(conn *harvester.Connection, key client.ObjectKey, o client.Object) {
	w.t.Helper()
	w.Eventually(func() error { return conn.Get(w.t.Context(), key, o) }).Should(Succeed())
}

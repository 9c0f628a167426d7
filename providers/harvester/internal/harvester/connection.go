// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/text"
)

const (
	// requestTimeout is the timeout of a request to Harvester that is not a watch.
	requestTimeout = 30 * time.Second
	// probeTimeout is the timeout of a request that checks whether Harvester responds.
	probeTimeout = 10 * time.Second
)

// Connection is a connection to one Harvester with one account. As a client.Reader it reads kinds with an informer from the cache, see
// kinds.go. It writes to Harvester directly.
type Connection struct {
	account  account
	scheme   *runtime.Scheme
	enqueuer *enqueuer
	ctx      context.Context //nolint:containedctx // it ends when the connection is closed
	close    context.CancelFunc
	probing  sync.Mutex // held while checking whether Harvester responds
	silence  time.Duration
	watches  *watches
	clock    clock.WithTicker // for unused informers and denials
	recent   *recent

	mu           sync.Mutex
	ready        bool
	problem      *Problem            // why it is not ready
	staleProblem *Problem            // why the caches may be stale
	reported     map[string]struct{} // messages of the current problem or staleProblem that askers were enqueued for
	uid          string
	askers       map[Requester]string // with the namespace of their machines
	awaiting     map[Requester]struct{}
	client       client.Client
	mapper       meta.RESTMapper
	watching     *http.Client
	caches       map[string]*scoped // by namespace; "" is for cluster-scoped kinds
	gate         gate
}

// newConnection starts to connect.
func newConnection(ctx context.Context, a account, of *Connections) *Connection {
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("harvester", a.config.Host)))
	c := &Connection{
		account: a, scheme: of.scheme, enqueuer: &of.enqueuer, ctx: ctx, close: cancel, mapper: Mapper(),
		silence: cmp.Or(of.Silence, silenceLimit), watches: newWatches(), clock: of.Clock, recent: newRecent(of.Clock),
		askers: map[Requester]string{}, awaiting: map[Requester]struct{}{}, caches: map[string]*scoped{},
		problem: &Problem{Pending: true, Reason: infrav1.HarvesterConnectingReason, Message: "connecting to " + a.config.Host},
	}
	go c.connect(ctx)
	go c.watchSilence()
	go c.stopUnused()
	return c
}

func (c *Connection) join(who Requester) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.askers[who] = ""
}

func (c *Connection) leave(who Requester) {
	c.mu.Lock()
	defer c.mu.Unlock()
	namespace := c.askers[who]
	delete(c.askers, who)
	delete(c.awaiting, who)
	c.gate.forget(who)
	c.retire(namespace)
}

// usable returns the connection if it can be used for the target. It records the namespace of the asker's machines.
func (c *Connection) usable(t Target, who Requester) (*Connection, *Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, joined := c.askers[who]; joined {
		c.askers[who] = t.Namespace
	}
	switch {
	case !c.ready:
		return nil, c.problem
	case t.UID != "" && c.uid != "" && t.UID != c.uid:
		return nil, &Problem{Reason: infrav1.AnotherHarvesterReason, Message: fmt.Sprintf(
			"the kubeconfig in Secret %s is for another Harvester than the one with the machines: its namespace kube-system has the UID %s, not %s; "+
				"restore a kubeconfig for the Harvester whose UID is in annotation %s", t.Identity, c.uid, t.UID, infrav1.HarvesterUIDAnnotation)}
	}
	return c, nil
}

// connect creates the clients and probes Harvester until it responds.
func (c *Connection) connect(ctx context.Context) {
	backoff := probeBackoff()
	for c.ctx.Err() == nil {
		problem := c.dial(ctx)
		c.mu.Lock()
		concerns := c.askersToEnqueue(c.problem, problem)
		c.ready, c.problem = problem == nil, problem
		c.mu.Unlock()
		c.enqueueKind(concerns)
		if problem == nil || !c.sleep(backoff.Step()) {
			return
		}
	}
}

// askersToEnqueue returns which askers must be enqueued because the problem of the connection has changed. Machines are numerous:
// they are enqueued only if its reason has changed. Clusters report the message, and are enqueued once per message.
func (c *Connection) askersToEnqueue(before, now *Problem) func(Requester) bool {
	switch {
	case before == nil && now == nil:
		return noAsker
	case before == nil, now == nil, before.Reason != now.Reason:
		c.reported = map[string]struct{}{}
		if now != nil {
			c.reported[now.Message] = struct{}{}
		}
		return anyAsker
	}
	if _, told := c.reported[now.Message]; told {
		return noAsker
	}
	c.reported[now.Message] = struct{}{}
	return func(who Requester) bool { return who.Kind == Cluster }
}

func anyAsker(Requester) bool { return true }
func noAsker(Requester) bool  { return false }

// probeBackoff returns the backoff between probes of Harvester, since no event reports that it responds again.
func probeBackoff() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: 30 * time.Second}
}

// sleep returns false if the connection was closed in the meantime.
func (c *Connection) sleep(d time.Duration) bool { return sleep(c.ctx, d) }

// sleep returns false if the context ended in the meantime.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dial creates the clients and identifies the Harvester.
func (c *Connection) dial(ctx context.Context) *Problem {
	if c.client == nil {
		limited := rest.CopyConfig(c.account.config)
		limited.Timeout = requestTimeout
		made, err := client.New(limited, client.Options{Scheme: c.scheme, Mapper: c.mapper})
		if err != nil {
			return failed(c.account.config.Host, err)
		}
		watching, err := rest.HTTPClientFor(c.account.config)
		if err != nil {
			return failed(c.account.config.Host, err)
		}
		watching.Transport = listener{next: watching.Transport, failed: c.startProbing, watches: c.watches}
		c.mu.Lock()
		c.client, c.watching = made, watching
		c.mu.Unlock()
	}
	if problem := c.probe(ctx); problem != nil {
		return problem
	}
	uid, problem := c.identify(ctx)
	if problem != nil {
		return problem
	}
	c.mu.Lock()
	c.uid = uid
	c.mu.Unlock()
	return nil
}

// listener reports failed requests and records what watches receive. An informer reports neither: if connections are refused, it only
// retries and waits.
type listener struct {
	next    http.RoundTripper
	failed  func()
	watches *watches
}

// probe requests an API that every Harvester has and that every account may read.
func (c *Connection) probe(ctx context.Context) *Problem {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	host := c.account.config.Host
	asking, err := c.asking()
	if err != nil {
		return failed(host, err)
	}
	err = asking.Get().AbsPath("/apis/" + kubevirtv1.SchemeGroupVersion.String()).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return &Problem{Reason: infrav1.NotHarvesterReason, Message: fmt.Sprintf(
			"%s has no %s, so it is not Harvester: put a kubeconfig for Harvester into the Secret of spec.identitySecret", host, kubevirtv1.SchemeGroupVersion)}
	}
	if err != nil {
		return failed(host, err)
	}
	return nil
}

// identify returns the UID that identifies the Harvester, or "" if the account may not read it.
func (c *Connection) identify(ctx context.Context) (string, *Problem) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	system := &corev1.Namespace{}
	switch err := c.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", failed(c.account.config.Host, err)
	}
	return string(system.UID), nil
}

// failed returns the problem for a failed request.
func failed(host string, err error) *Problem {
	if apierrors.IsUnauthorized(err) {
		return &Problem{Reason: infrav1.HarvesterAuthenticationFailedReason, Message: fmt.Sprintf(
			"%s rejects the credentials of the kubeconfig, which may have expired: put a new kubeconfig into the Secret of spec.identitySecret", host)}
	}
	return &Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: fmt.Sprintf("request to %s failed: %v", host, text.SteadyError(err))}
}

// UID identifies the Harvester; "" if unknown.
func (c *Connection) UID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.uid
}

// Host returns the URL of its API server.
func (c *Connection) Host() string { return c.account.config.Host }

// Stale returns why reads from the connection may be stale, or nil.
func (c *Connection) Stale() *Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.staleProblem
}

// Problem returns why reads from these namespaces ("" for cluster-scoped kinds) may be stale, or else that the account lacks a permission
// to read there. It returns nil if there is no problem.
func (c *Connection) Problem(namespaces ...string) *Problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.staleProblem != nil {
		return c.staleProblem
	}
	return c.denied(namespaces)
}

// startProbing is called when a request to Harvester has failed or a watch is silent. It probes Harvester, and enqueues the askers when a
// probe fails and when Harvester responds again. While the connection is not ready, connect probes instead.
func (c *Connection) startProbing() {
	if !c.isReady() || !c.probing.TryLock() {
		return
	}
	go func() {
		defer c.probing.Unlock()
		backoff := probeBackoff()
		for c.ctx.Err() == nil {
			problem := c.checkSilence(c.ctx)
			c.mu.Lock()
			concerns := c.askersToEnqueue(c.staleProblem, problem)
			c.staleProblem = problem
			c.mu.Unlock()
			c.enqueueKind(concerns)
			if problem == nil || !c.sleep(backoff.Step()) {
				return
			}
		}
	}()
}

func (c *Connection) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready
}

// Await enqueues the asker once on the next change of an object that is not its own but that it may wait for: a storage class, a pool or
// the labels of a host.
func (c *Connection) Await(who Requester) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.awaiting[who] = struct{}{}
}

func (c *Connection) enqueueAwaiting() {
	c.mu.Lock()
	awaiting := c.awaiting
	c.awaiting = map[Requester]struct{}{}
	c.mu.Unlock()
	c.enqueuer.enqueueAll(awaiting)
}

func (c *Connection) enqueueAsked() {
	c.enqueueKind(anyAsker)
}

func (c *Connection) enqueueKind(keep func(Requester) bool) {
	c.mu.Lock()
	woken := map[Requester]struct{}{}
	for who := range c.askers {
		if keep(who) {
			woken[who] = struct{}{}
		}
	}
	c.mu.Unlock()
	c.enqueuer.enqueueAll(woken)
}

// Live returns a reader that reads from Harvester's API server.
func (c *Connection) Live() client.Reader { return c.client }

// Create creates an object on Harvester.
func (c *Connection) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.client.Create(ctx, o, opts...)
}

// Update updates an object on Harvester.
func (c *Connection) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return c.client.Update(ctx, o, opts...)
}

// Patch patches an object on Harvester.
func (c *Connection) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return c.client.Patch(ctx, o, p, opts...)
}

// Scheme returns the scheme of the kinds on Harvester.
func (c *Connection) Scheme() *runtime.Scheme { return c.client.Scheme() }

// Delete deletes an object on Harvester.
func (c *Connection) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return c.client.Delete(ctx, o, opts...)
}

// DeleteAllOf deletes all objects of a kind that match the options.
func (c *Connection) DeleteAllOf(ctx context.Context, o client.Object, opts ...client.DeleteAllOfOption) error {
	return c.client.DeleteAllOf(ctx, o, opts...)
}

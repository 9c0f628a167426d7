// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/remote"
)

// MaxConnections is how many connections a namespace may have with its own Secrets. Secrets in other namespaces have no limit, because
// their owner has allowed their use. Each connection keeps objects of Harvester in memory.
const MaxConnections = 64

// Connections holds one connection for each Harvester and account.
type Connections struct {
	// secrets is a cache of the metadata of Secrets; live reads their contents.
	secrets, live client.Reader
	scheme        *runtime.Scheme
	enqueuer      enqueuer
	// Silence is how long watches of Harvester may receive nothing before this is checked, and how long no asker may read a denied kind
	// before the denial is dropped. Defaults to two minutes if 0.
	Silence time.Duration
	// Clock measures how long informers are unused.
	Clock clock.WithTicker
	// Consent defines how to treat clusters whose Secret is in another namespace and does not allow its use from theirs.
	Consent owned.ConsentMode
	// Remote restricts the contents of kubeconfigs and the responses of Harvester.
	Remote remote.Rules

	mu         sync.Mutex
	ctx        context.Context //nolint:containedctx // connections live as long as the manager, not as long as the reconcile that asked for them
	identities map[client.ObjectKey]*identity
	byAccount  map[string]*Connection
}

// identity is a Secret that is used by askers.
type identity struct {
	version string // of the Secret from which the connection was created
	conn    *Connection
	problem *Problem // why there is no connection
	// tooMany is true if problem is the limit of the namespace, until an identity leaves its connection.
	tooMany bool
	askers  map[Requester]struct{}
}

// New returns an empty set of connections, which end with ctx. secrets is a cache of the metadata of Secrets, live reads from the API
// server, and the scheme has the kinds on Harvester.
func New(ctx context.Context, secrets, live client.Reader, scheme *runtime.Scheme) *Connections {
	return &Connections{
		secrets: secrets, live: live, scheme: scheme, ctx: ctx, Clock: clock.RealClock{},
		identities: map[client.ObjectKey]*identity{}, byAccount: map[string]*Connection{},
	}
}

// WatchIdentities enqueues the askers of a Secret when it changes.
func (c *Connections) WatchIdentities(ctx context.Context, of cache.Cache) error {
	informer, err := of.GetInformer(ctx, secretMetadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Secrets: %w", err)
	}
	changed := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if secret, ok := o.(client.Object); ok {
			c.identityChanged(client.ObjectKeyFromObject(secret), secret.GetResourceVersion())
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed,
	})
	return err
}

// secretMetadata returns an object for the metadata of a Secret: its contents are not cached.
func secretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

func (c *Connections) identityChanged(key client.ObjectKey, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.identities[key]; known != nil && known.version != version {
		c.enqueuer.enqueueAll(known.askers)
	}
}

// Get returns the connection of a target, or why it does not exist yet. It sends requests only to the management cluster, and only if the
// Secret has changed. The asker is enqueued when the result may have changed.
func (c *Connections) Get(ctx context.Context, t Target, who Requester) (*Connection, *Problem) {
	return c.get(ctx, t, who, false)
}

// GetToDelete is Get for an object that is being deleted. If the Secret does not exist, a connection that is still open is used, because
// the Secret cannot be created again in a namespace that is being deleted.
func (c *Connections) GetToDelete(ctx context.Context, t Target, who Requester) (*Connection, *Problem) {
	return c.get(ctx, t, who, true)
}

func (c *Connections) get(ctx context.Context, t Target, who Requester, toDelete bool) (*Connection, *Problem) {
	secret, problem := c.allowedSecret(ctx, t)
	version := secret.ResourceVersion
	c.mu.Lock()
	known := c.recordUse(t.Identity, who)
	fresh, open := problem == nil && known.version == version, known.conn
	c.mu.Unlock()
	if problem != nil && toDelete && problem.Reason == infrav1.IdentitySecretNotFoundReason {
		return withoutSecret(open, t, who, problem)
	}
	if problem != nil {
		return nil, problem
	}
	if !fresh {
		if err := c.renew(ctx, t, version); err != nil {
			return nil, &Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: err.Error()}
		}
	}
	c.mu.Lock()
	conn, problem := known.conn, known.problem
	c.mu.Unlock()
	if problem != nil {
		return nil, problem
	}
	return conn.usable(t, who)
}

// allowedSecret reads the Secret of a target, unless its use from the namespace of the cluster is not allowed.
func (c *Connections) allowedSecret(ctx context.Context, t Target) (*metav1.PartialObjectMetadata, *Problem) {
	secret, problem := c.secret(ctx, t.Identity)
	if (problem == nil || problem.Reason == infrav1.IdentitySecretNotFoundReason) && c.Consent != owned.Warn {
		if refused := unconsented(secret, t); refused != nil { // also if it does not exist, so that the result does not reveal it
			problem = refused
		}
	}
	return secret, problem
}

// withoutSecret returns a connection that is still open, or the problem with a fix.
func withoutSecret(open *Connection, t Target, who Requester, missing *Problem) (*Connection, *Problem) {
	if open != nil {
		return open.usable(t, who)
	}
	missing.Message += fmt.Sprintf("; if the namespace is being deleted, set spec.identitySecret to such a Secret in another "+
		"namespace whose annotation %s lists %s", faultlinev1.AllowedNamespacesAnnotation, t.From)
	return nil, missing
}

// recordUse records that the asker uses the identity, and no other.
func (c *Connections) recordUse(key client.ObjectKey, who Requester) *identity {
	known := c.identities[key]
	if known == nil {
		known = &identity{askers: map[Requester]struct{}{}}
		c.identities[key] = known
	}
	if _, ok := known.askers[who]; !ok {
		c.forget(who)
		c.identities[key] = known
		known.askers[who] = struct{}{}
		if known.conn != nil {
			known.conn.join(who)
		}
	}
	return known
}

// Unconsented returns why the Secret of a target may not be used from the namespace of its cluster. It returns nil if it may or if it
// does not exist.
func (c *Connections) Unconsented(ctx context.Context, t Target) *Problem {
	secret, problem := c.secret(ctx, t.Identity)
	if problem != nil {
		return nil //nolint:nilerr // The Secret that is missing is what Get reports.
	}
	return unconsented(secret, t)
}

func unconsented(secret *metav1.PartialObjectMetadata, t Target) *Problem {
	if owned.MayUseIdentity(secret, t.From) {
		return nil
	}
	return &Problem{Reason: infrav1.IdentitySecretNotAllowedReason, Message: owned.IdentityRefusal(secret, t.From)}
}

// secret returns the metadata of the Secret.
func (c *Connections) secret(ctx context.Context, key client.ObjectKey) (*metav1.PartialObjectMetadata, *Problem) {
	secret := secretMetadata()
	defer func() { secret.Namespace, secret.Name = key.Namespace, key.Name }()
	switch err := c.secrets.Get(ctx, key, secret); {
	case apierrors.IsNotFound(err):
		return secret, &Problem{Reason: infrav1.IdentitySecretNotFoundReason, Message: fmt.Sprintf(
			"Secret %s of spec.identitySecret does not exist: create it with a kubeconfig for Harvester as its key %s", key, infrav1.KubeconfigKey)}
	case err != nil:
		return secret, &Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: fmt.Sprintf("reading Secret %s: %v", key, err)}
	}
	return secret, nil
}

// renew reads the Secret and assigns the connection of its account to the identity.
func (c *Connections) renew(ctx context.Context, t Target, version string) error {
	secret := &corev1.Secret{}
	if err := c.live.Get(ctx, t.Identity, secret); err != nil {
		return fmt.Errorf("reading Secret %s: %w", t.Identity, err)
	}
	account, problem := accountOf(secret, c.Remote)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.identities[t.Identity]
	if known == nil || known.version == version && (known.conn != nil || known.problem != nil) {
		return nil // another reconcile was faster, or the last asker has left
	}
	former := known.conn
	known.version, known.problem, known.conn, known.tooMany = version, problem, nil, false
	if problem == nil {
		c.assign(t, account, known)
	}
	if former != nil && former != known.conn {
		for who := range known.askers {
			former.leave(who)
		}
		c.left(former)
	}
	c.enqueuer.enqueueAll(known.askers)
	return nil
}

// assign gives an identity the connection of its account, or a problem if its namespace has too many. The caller must hold the lock.
func (c *Connections) assign(t Target, of account, known *identity) {
	known.conn = c.byAccount[of.hash]
	if known.conn == nil && t.Identity.Namespace == t.From && c.has(t.From) >= MaxConnections {
		known.tooMany, known.problem = true, &Problem{Reason: infrav1.HarvesterConnectionFailedReason, Message: fmt.Sprintf(
			"namespace %s has %d connections to Harvester, one for each account, and cannot open another: use the same kubeconfig in several "+
				"clusters, or delete clusters", t.From, MaxConnections)}
		return
	}
	if known.conn == nil {
		known.conn = newConnection(c.ctx, of, c)
		c.byAccount[of.hash] = known.conn
	}
	for who := range known.askers {
		known.conn.join(who)
	}
}

// has returns the number of connections of Secrets in a namespace. The caller must hold the lock.
func (c *Connections) has(namespace string) int {
	of := map[*Connection]struct{}{}
	for key, known := range c.identities {
		if key.Namespace == namespace && known.conn != nil {
			of[known.conn] = struct{}{}
		}
	}
	return len(of)
}

// Forget removes a deleted asker from its connection. A connection without askers is closed.
func (c *Connections) Forget(who Requester) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(who)
}

func (c *Connections) forget(who Requester) {
	for key, known := range c.identities {
		if _, ok := known.askers[who]; !ok {
			continue
		}
		delete(known.askers, who)
		if known.conn != nil {
			known.conn.leave(who)
		}
		if len(known.askers) == 0 {
			delete(c.identities, key)
			if known.conn != nil {
				c.left(known.conn)
			}
		}
	}
}

// left enqueues what waits for another connection of its namespace, after an identity has left one. It closes the connection if no
// identity uses it any more.
func (c *Connections) left(conn *Connection) {
	for _, known := range c.identities {
		if known.tooMany {
			known.version = "" // The Secret is read again.
			c.enqueuer.enqueueAll(known.askers)
		}
	}
	for _, known := range c.identities {
		if known.conn == conn {
			return
		}
	}
	delete(c.byAccount, conn.account.hash)
	conn.close()
	go c.forgetServer(conn.account.server())
}

// forgetServer deletes the metrics of requests to a server without a connection, once the requests in flight have ended.
func (c *Connections) forgetServer(host string) {
	select {
	case <-c.Clock.After(requestTimeout):
	case <-c.ctx.Done():
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.byAccount {
		if open.account.server() == host {
			return
		}
	}
	remote.ForgetRequests(host)
}

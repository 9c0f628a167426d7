// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identity returns the account for a cluster's vCenter: from the Secret or VSphereClusterIdentity that the
// VSphereCluster names, or else from the manager's credentials file.
package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Keys of an account in a Secret.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// ErrNotUsable means that the configured identity cannot be used; its message states what the user must change. Errors that do
// not match it are failures to read from the API server.
var ErrNotUsable = errors.New("identity cannot be used")

// Account is a vCenter user.
type Account struct {
	Username, Password string
	// Servers are the only vCenters to which the account may be sent, as host or host:port. If empty, the account is not
	// restricted.
	Servers []string

	origin   string // the object or file that restricts it, for messages
	managers bool   // whether it is the manager's own account
}

// For returns ErrNotUsable unless the account may be sent to the server.
func (a Account) For(server string) error {
	if len(a.Servers) == 0 || infrav1.HasServer(a.Servers, server) {
		return nil
	}
	return fmt.Errorf("%w: %s may only be sent to vCenter %s, not to %s: correct spec.server, or add the vCenter to its servers",
		ErrNotUsable, a.origin, strings.Join(a.Servers, ", "), server)
}

// Pinned returns ErrNotUsable if a thumbprint set by a tenant must not decide that the account is sent to a server: with a
// thumbprint, tenants can vouch for a server of their own. This applies to the manager's account unless the administrator has
// restricted it to servers.
func (a Account) Pinned(server, thumbprint string) error {
	if thumbprint == "" || !a.managers || len(a.Servers) > 0 {
		return nil
	}
	return fmt.Errorf("%w: %s has no servers, and a tenant's thumbprint is not sufficient to send it to %s: "+
		"add the vCenter to its key servers, or set spec.identityRef to an account of the cluster's own", ErrNotUsable, a.origin, server)
}

// Resolver returns accounts. It reads a Secret's content from the API server only when the Secret has changed.
type Resolver struct {
	// Cache reads VSphereClusterIdentities, Namespaces and the metadata of Secrets from the manager's cache.
	Cache client.Reader
	// Secrets reads the content of Secrets, which is not kept in the manager's cache.
	Secrets client.Reader
	// Namespace is the manager's namespace, which holds the Secrets of VSphereClusterIdentities.
	Namespace string
	// Default is the account of clusters without an identityRef.
	Default *File

	mu       sync.Mutex
	accounts map[client.ObjectKey]versioned
}

type versioned struct {
	uid, resourceVersion string
	account              Account
}

// ForCluster returns the account of a cluster.
func (r *Resolver) ForCluster(ctx context.Context, cluster *infrav1.VSphereCluster) (Account, error) {
	ref := cluster.Spec.IdentityRef
	switch ref.Kind {
	case "":
		return r.Default.Account()
	case infrav1.SecretKind:
		return r.fromSecret(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name})
	case infrav1.VSphereClusterIdentityKind:
		return r.fromIdentity(ctx, cluster.Namespace, ref.Name)
	default:
		return Account{}, fmt.Errorf("%w: spec.identityRef.kind %q of VSphereCluster %s is neither Secret nor VSphereClusterIdentity",
			ErrNotUsable, ref.Kind, client.ObjectKeyFromObject(cluster))
	}
}

func (r *Resolver) fromIdentity(ctx context.Context, namespace, name string) (Account, error) {
	identity, err := r.identity(ctx, name)
	if err != nil {
		return Account{}, err
	}
	allowed, err := r.allows(ctx, identity, namespace)
	if err != nil {
		return Account{}, err
	}
	if !allowed {
		return Account{}, fmt.Errorf("%w: spec.allowedNamespaces of VSphereClusterIdentity %s does not select namespace %s", ErrNotUsable, name, namespace)
	}
	return r.accountOf(ctx, identity)
}

// allows reports whether clusters in a namespace may use the identity. As in upstream, a missing allowedNamespaces allows none
// and an empty selector allows all.
func (r *Resolver) allows(ctx context.Context, identity *infrav1.VSphereClusterIdentity, namespace string) (bool, error) {
	if identity.Spec.AllowedNamespaces == nil {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&identity.Spec.AllowedNamespaces.Selector)
	if err != nil {
		return false, fmt.Errorf("%w: spec.allowedNamespaces.selector of VSphereClusterIdentity %s: %w", ErrNotUsable, identity.Name, err)
	}
	ns := &corev1.Namespace{}
	if err := r.Cache.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}

func (r *Resolver) fromSecret(ctx context.Context, key client.ObjectKey) (Account, error) {
	meta := metadata()
	if err := r.Cache.Get(ctx, key, meta); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(key)
			return Account{}, fmt.Errorf("%w: Secret %s does not exist: create it with the keys %s and %s", ErrNotUsable, key, UsernameKey, PasswordKey)
		}
		return Account{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	if account, ok := r.known(key, meta); ok {
		return account, nil
	}
	secret := &corev1.Secret{}
	if err := r.Secrets.Get(ctx, key, secret); err != nil {
		return Account{}, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	account := Account{Username: string(secret.Data[UsernameKey]), Password: string(secret.Data[PasswordKey])}
	if account.Username == "" || account.Password == "" {
		return Account{}, fmt.Errorf("%w: Secret %s must have non-empty keys %s and %s", ErrNotUsable, key, UsernameKey, PasswordKey)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accounts == nil {
		r.accounts = map[client.ObjectKey]versioned{}
	}
	r.accounts[key] = versioned{uid: string(secret.UID), resourceVersion: secret.ResourceVersion, account: account}
	return account, nil
}

func (r *Resolver) known(key client.ObjectKey, meta *metav1.PartialObjectMetadata) (Account, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.accounts[key]
	if !ok || v.uid != string(meta.UID) || v.resourceVersion != meta.ResourceVersion {
		return Account{}, false
	}
	return v.account, true
}

// WatchSecrets drops the account of a Secret when the Secret is deleted, even if it is never requested again.
func (r *Resolver) WatchSecrets(ctx context.Context, of cache.Informers) error {
	informer, err := of.GetInformer(ctx, metadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching Secrets: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if secret, ok := o.(client.Object); ok {
			r.forget(client.ObjectKeyFromObject(secret))
		}
	}})
	return err
}

// metadata returns an empty Secret without content, which selects the metadata cache.
func metadata() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return meta
}

// forget drops the account of a deleted Secret.
func (r *Resolver) forget(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.accounts, key)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// ForZone returns the account of the zone's identityRef. Users who may create zones may use every identity: allowedNamespaces
// restricts clusters only.
func (r *Resolver) ForZone(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (Account, error) {
	ref := zone.Spec.IdentityRef
	if ref.Kind != infrav1.VSphereClusterIdentityKind {
		return Account{}, fmt.Errorf("%w: spec.identityRef.kind %q of VSphereDeploymentZone %s is not VSphereClusterIdentity",
			ErrNotUsable, ref.Kind, zone.Name)
	}
	identity, err := r.identity(ctx, ref.Name)
	if err != nil {
		return Account{}, err
	}
	return r.accountOf(ctx, identity)
}

// ForMachines returns the account of the zone's identityRef for machines of clusters in a namespace, or false if the zone has
// none for them. Unlike ForZone it checks allowedNamespaces: naming a zone must not give a user access to its account.
func (r *Resolver) ForMachines(ctx context.Context, zone *infrav1.VSphereDeploymentZone, namespace string) (Account, bool, error) {
	ref := zone.Spec.IdentityRef
	if ref == nil || ref.Kind != infrav1.VSphereClusterIdentityKind {
		return Account{}, false, nil
	}
	identity, err := r.identity(ctx, ref.Name)
	if err != nil {
		return Account{}, false, err
	}
	allowed, err := r.allows(ctx, identity, namespace)
	if err != nil || !allowed {
		return Account{}, false, err
	}
	account, err := r.accountOf(ctx, identity)
	return account, err == nil, err
}

// accountOf returns the account of an identity, which may be restricted to servers.
func (r *Resolver) accountOf(ctx context.Context, identity *infrav1.VSphereClusterIdentity) (Account, error) {
	account, err := r.fromSecret(ctx, client.ObjectKey{Namespace: r.Namespace, Name: identity.Spec.SecretName})
	account.Servers, account.origin = identity.Spec.Servers, "VSphereClusterIdentity "+identity.Name
	return account, err
}

func (r *Resolver) identity(ctx context.Context, name string) (*infrav1.VSphereClusterIdentity, error) {
	identity := &infrav1.VSphereClusterIdentity{}
	if err := r.Cache.Get(ctx, client.ObjectKey{Name: name}, identity); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%w: VSphereClusterIdentity %s does not exist: create it or change spec.identityRef", ErrNotUsable, name)
		}
		return nil, fmt.Errorf("reading VSphereClusterIdentity %s: %w", name, err)
	}
	return identity, nil
}

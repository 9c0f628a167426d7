// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherecluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/shared/patch"
)

// SecretOwner keeps the Secret of a cluster's account until the last machine is deleted, and releases it with the cluster. It
// reads and writes metadata only.
type SecretOwner struct {
	// Cache reads the metadata of Secrets.
	Cache  client.Reader
	Client client.Client

	writes patch.Repeats
}

// Own adds the cluster's owner reference and finalizer to the Secret that spec.identityRef names, if any, and removes them from
// Secrets that it named before. It returns a patch.RemovedError if another client reverts the change.
func (o *SecretOwner) Own(ctx context.Context, cluster *infrav1.VSphereCluster) error {
	if err := o.releaseFormer(ctx, cluster); err != nil {
		return err
	}
	if cluster.Spec.IdentityRef.Kind != infrav1.SecretKind {
		return nil
	}
	secret, err := o.secret(ctx, cluster)
	if err != nil {
		return err
	}
	for _, ref := range secret.OwnerReferences {
		if other(ref, cluster) {
			return fmt.Errorf("%w: Secret %s belongs to %s %s: give each its own Secret", identity.ErrNotUsable, secret.Name, ref.Kind, ref.Name)
		}
	}
	before := secret.DeepCopy()
	secret.OwnerReferences = util.EnsureOwnerRef(secret.OwnerReferences, ownerReference(cluster))
	controllerutil.AddFinalizer(secret, infrav1.SecretIdentitySetFinalizer)
	return o.patch(ctx, secret, before)
}

// Release removes the finalizer. The garbage collector deletes the Secret with its owner.
func (o *SecretOwner) Release(ctx context.Context, cluster *infrav1.VSphereCluster) error {
	if cluster.Spec.IdentityRef.Kind != infrav1.SecretKind {
		return nil
	}
	secret, err := o.secret(ctx, cluster)
	if errors.Is(err, identity.ErrNotUsable) {
		return nil // already deleted
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(secret.OwnerReferences, func(ref metav1.OwnerReference) bool { return other(ref, cluster) }) {
		return nil // kept by another owner
	}
	before := secret.DeepCopy()
	controllerutil.RemoveFinalizer(secret, infrav1.SecretIdentitySetFinalizer)
	return client.IgnoreNotFound(o.patch(ctx, secret, before))
}

// releaseFormer releases Secrets that are no longer the cluster's account. Otherwise neither they nor their namespace could be
// deleted.
func (o *SecretOwner) releaseFormer(ctx context.Context, cluster *infrav1.VSphereCluster) error {
	kind, named := corev1.SchemeGroupVersion.WithKind("Secret"), ""
	if cluster.Spec.IdentityRef.Kind == infrav1.SecretKind {
		named = cluster.Spec.IdentityRef.Name
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(kind)
	if err := o.Cache.List(ctx, secrets, client.InNamespace(cluster.Namespace), client.MatchingFields{userIndex: cluster.Name}); err != nil {
		return fmt.Errorf("listing Secrets: %w", err)
	}
	for i := range secrets.Items {
		secret := &secrets.Items[i]
		if secret.Name == named || !util.HasOwnerRef(secret.OwnerReferences, ownerReference(cluster)) ||
			!controllerutil.ContainsFinalizer(secret, infrav1.SecretIdentitySetFinalizer) {
			continue
		}
		secret.SetGroupVersionKind(kind)
		before := secret.DeepCopy()
		controllerutil.RemoveFinalizer(secret, infrav1.SecretIdentitySetFinalizer)
		secret.OwnerReferences = util.RemoveOwnerRef(secret.OwnerReferences, ownerReference(cluster))
		if err := o.patch(ctx, secret, before); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func ownerReference(cluster *infrav1.VSphereCluster) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereCluster", Name: cluster.Name, UID: cluster.UID}
}

func (o *SecretOwner) secret(ctx context.Context, cluster *infrav1.VSphereCluster) (*metav1.PartialObjectMetadata, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Spec.IdentityRef.Name}
	if err := o.Cache.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%w: Secret %s, named by spec.identityRef, does not exist: create it with the keys %s and %s",
				identity.ErrNotUsable, key, identity.UsernameKey, identity.PasswordKey)
		}
		return nil, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	return secret, nil
}

func (o *SecretOwner) patch(ctx context.Context, secret, before *metav1.PartialObjectMetadata) error {
	if equality.Semantic.DeepEqual(before, secret) {
		return nil
	}
	if err := o.writes.Write(ctx, o.Client, before, secret); err != nil {
		return fmt.Errorf("patching Secret %s: %w", secret.Name, err)
	}
	return nil
}

// other reports whether ref makes the Secret another owner's account.
func other(ref metav1.OwnerReference, cluster *infrav1.VSphereCluster) bool {
	switch ref.Kind {
	case "VSphereCluster":
		return ref.Name != cluster.Name
	case string(infrav1.VSphereClusterIdentityKind):
		return true
	default:
		return false
	}
}

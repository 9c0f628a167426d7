// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipamclaim claims addresses from pools, whose providers fulfill the claims. A claim has an owner, and the owner's
// finalizer as long as the owner uses the address: even if the claim is deleted, no other machine gets the address before that.
// Address and ReleaseAll implement Cluster API's IPAM contract; the rest is for claims of any API.
package ipamclaim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/faultline-io/faultline/shared/patch"
)

// Owner is an object for which addresses are claimed. Its controller must add a finalizer to it before it claims addresses, and
// release the claims before it removes that finalizer.
type Owner struct {
	Client client.Client
	// Repeats backs off writes to claims that another writer reverts. It may be nil.
	Repeats *patch.Repeats
	Object  client.Object
	Kind    schema.GroupVersionKind
	// Finalizer is added to the claims.
	Finalizer string
	// User returns the name of what has been configured with the addresses and would continue to use them; "" if nothing has.
	User func(context.Context) (string, error)
	// Pools reads pools of any kind, to find out why one does not respond. It may be nil, and may lack permission for some kinds.
	Pools client.Reader
}

// Meta returns the initial metadata of a claim with the name: the owner reference, and the owner's labels.
func (o Owner) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: o.Object.GetNamespace(), Name: name, Labels: maps.Clone(o.Object.GetLabels()), Finalizers: []string{o.Finalizer},
		OwnerReferences: []metav1.OwnerReference{o.reference()},
	}
}

func (o Owner) reference() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Name: o.Object.GetName(), UID: o.Object.GetUID(), Controller: ptr.To(true),
	}
}

// owns reports whether the claim belongs to the object.
func (o Owner) owns(claim client.Object) bool {
	return slices.ContainsFunc(claim.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == o.Object.GetUID() })
}

// Adopt sets the owner reference and finalizer on a claim that a user created in advance, or that another manager created and
// protected differently.
func (o Owner) Adopt(ctx context.Context, claim client.Object) error {
	before := claim.DeepCopyObject().(client.Object)
	changed := controllerutil.AddFinalizer(claim, o.Finalizer)
	if !o.owns(claim) {
		others := slices.DeleteFunc(claim.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
			return ref.Name == o.Object.GetName() && schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == o.Kind.GroupKind()
		})
		claim.SetOwnerReferences(append(others, o.reference()))
		changed = true
	}
	if !changed {
		return nil
	}
	if err := o.Repeats.Write(ctx, o.Client, before, claim); err != nil {
		return fmt.Errorf("patching claim %s: %w", claim.GetName(), err)
	}
	return nil
}

// Unusable returns why an existing claim with the right name cannot be used; "" if it can. It cleans up claims of an owner that
// no longer exists, and claims that a user has deleted to try again. kind is the kind of the claim.
func (o Owner) Unusable(ctx context.Context, claim client.Object, kind string) (problem string, err error) {
	deleted := !claim.GetDeletionTimestamp().IsZero()
	if other := metav1.GetControllerOf(claim); other != nil && other.UID != o.Object.GetUID() {
		if deleted {
			err = o.releaseOrphan(ctx, claim, other)
		}
		return fmt.Sprintf("%s %s belongs to %s %s: wait until that is deleted", kind, claim.GetName(), other.Kind, other.Name), err
	}
	if !deleted {
		return "", nil
	}
	user, err := o.User(ctx)
	switch {
	case err != nil:
		return "", err
	case user != "":
		return fmt.Sprintf("%s %s is being deleted, but %s still uses its address: delete the Machine to release it", kind, claim.GetName(), user), nil
	}
	return fmt.Sprintf("%s %s is being deleted: its address is claimed again after the deletion", kind, claim.GetName()), o.removeFinalizer(ctx, claim)
}

// releaseOrphan removes the finalizer from a claim whose owner no longer exists, because no controller will release it.
func (o Owner) releaseOrphan(ctx context.Context, claim client.Object, other *metav1.OwnerReference) error {
	former, err := o.Client.Scheme().New(o.Kind)
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", o.Kind.Kind, other.Name, err)
	}
	owner := former.(client.Object)
	err = o.Client.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: other.Name}, owner)
	if client.IgnoreNotFound(err) != nil || err == nil && owner.GetUID() == other.UID {
		return client.IgnoreNotFound(err)
	}
	return o.removeFinalizer(ctx, claim)
}

// removeFinalizer removes the owner's finalizer from a claim.
func (o Owner) removeFinalizer(ctx context.Context, claim client.Object) error {
	p := patch.From(claim)
	controllerutil.RemoveFinalizer(claim, o.Finalizer)
	return client.IgnoreNotFound(p.Apply(ctx, o.Client, claim))
}

// Release removes the finalizer from a claim and deletes it.
func (o Owner) Release(ctx context.Context, claim client.Object) error {
	if err := o.removeFinalizer(ctx, claim); err != nil {
		return err
	}
	if !claim.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := o.Client.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting claim %s: %w", claim.GetName(), err)
	}
	return nil
}

// Timeout is how long a claim may have no response before the user is informed.
const Timeout = time.Minute

// IsOverdue returns a message for a claim without any response, or how long to wait until one is due. The caller must requeue after
// that time, because the lack of a response triggers no event.
func IsOverdue(claim client.Object, kind, pool string, now time.Time) (problem string, tooEarly time.Duration) {
	if left := Timeout - now.Sub(claim.GetCreationTimestamp().Time); left > 0 {
		return "", left
	}
	return fmt.Sprintf("%s has not allocated an address to %s %s for %s: check that the pool exists and that its provider runs",
		pool, kind, claim.GetName(), Timeout), 0
}

// OwnerIndex is the cache index of claims by the name of their owner. ReleaseAll needs it.
const OwnerIndex = "ipamclaim.owner"

// ByOwner returns the index function for claims of owners of a kind, in any version.
func ByOwner(kind schema.GroupKind) client.IndexerFunc {
	return func(claim client.Object) []string {
		if name := OwnerOf(claim, kind); name != "" {
			return []string{name}
		}
		return nil
	}
}

// OwnerOf returns the name of the claim's owner of the kind; "" if it has none.
func OwnerOf(claim client.Object, kind schema.GroupKind) string {
	for _, owner := range claim.GetOwnerReferences() {
		if schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == kind {
			return owner.Name
		}
	}
	return ""
}

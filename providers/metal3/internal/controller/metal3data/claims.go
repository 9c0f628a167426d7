// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/patch"
)

// What claims of both APIs have in common. A claim is the data's own and keeps the finalizer as long as the data has the
// address.

const dataKind = "Metal3Data"

// ownerIndex finds claims by the name of the data that owns them.
const ownerIndex = "metadata.ownerReferences.metal3data"

func indexOwner(o client.Object) []string {
	if name := ownerName(o.GetOwnerReferences(), dataKind); name != "" {
		return []string{name}
	}
	return nil
}

func claimMeta(data *infrav1.Metal3Data, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: data.Namespace, Name: name,
		Labels:          maps.Clone(data.Labels),
		Finalizers:      []string{infrav1.DataFinalizer},
		OwnerReferences: ownedBy(data),
	}
}

// claimName is how claims are named that belong to the owner, which is the data or its host.
func claimName(owner, pool string) string {
	return owner + "-" + pool
}

// unusable tells why a claim of the right name cannot be used, and clears away what is left of data that is gone, and what
// somebody has deleted to try anew.
func (r *Reconciler) unusable(ctx context.Context, claim client.Object, kind string, s *scope) (string, error) {
	deleted := !claim.GetDeletionTimestamp().IsZero()
	switch {
	case foreign(claim, s.data):
		owner := metav1.GetControllerOf(claim)
		if deleted {
			if err := r.finishOff(ctx, claim, owner); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%s %s belongs to %s %s: it must go first", kind, claim.GetName(), owner.Kind, owner.Name), nil
	case !deleted:
		return "", nil
	}
	used, err := r.rendered(ctx, s)
	if err != nil {
		return "", err
	}
	if used {
		return fmt.Sprintf("%s %s is being deleted, though BareMetalHost %s has its address: it goes with the Machine, delete that",
			kind, claim.GetName(), s.host.Name), nil
	}
	return fmt.Sprintf("%s %s is being deleted: its address is claimed again when it is gone", kind, claim.GetName()), r.letGo(ctx, claim)
}

// rendered reports whether addresses are in a Secret of the data, or in one that the host was given.
func (r *Reconciler) rendered(ctx context.Context, s *scope) (bool, error) {
	for _, name := range secretNames(s.data) {
		for _, given := range []*corev1.SecretReference{s.host.Spec.MetaData, s.host.Spec.NetworkData} {
			if given != nil && given.Name == name {
				return true, nil
			}
		}
		secret, err := r.secret(ctx, s.data.Namespace, name)
		if err != nil || secret != nil && !foreign(secret, s.data) {
			return true, err
		}
	}
	return false, nil
}

// answerPatience is how long a claim may be without an address before the user is told.
const answerPatience = time.Minute

// overdue is what to say of a claim that nobody has answered in any way. A young one is given time.
func (s *scope) overdue(claim client.Object, kind string, pool render.Pool, now time.Time) string {
	if left := answerPatience - now.Sub(claim.GetCreationTimestamp().Time); left > 0 {
		s.retryAfter = left
		return ""
	}
	return fmt.Sprintf("%s has given no address to %s %s in %s: see that the pool exists and that its provider runs",
		pool, kind, claim.GetName(), answerPatience)
}

// finishOff takes the finalizer off a claim that nobody will release any more, because its data is gone.
func (r *Reconciler) finishOff(ctx context.Context, claim client.Object, owner *metav1.OwnerReference) error {
	data := &infrav1.Metal3Data{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: owner.Name}, data)
	if client.IgnoreNotFound(err) != nil || err == nil && data.UID == owner.UID {
		return client.IgnoreNotFound(err)
	}
	return r.letGo(ctx, claim)
}

// letGo takes our finalizer off a claim.
func (r *Reconciler) letGo(ctx context.Context, claim client.Object) error {
	p := patch.From(claim)
	controllerutil.RemoveFinalizer(claim, infrav1.DataFinalizer)
	return client.IgnoreNotFound(p.Apply(ctx, r.Client, claim))
}

// release gives an address back.
func (r *Reconciler) release(ctx context.Context, claim client.Object) error {
	if err := r.letGo(ctx, claim); err != nil {
		return err
	}
	if !claim.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if err := r.Client.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting claim %s: %w", claim.GetName(), err)
	}
	return nil
}

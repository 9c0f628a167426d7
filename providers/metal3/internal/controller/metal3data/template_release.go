// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
)

// release deletes the data of a claim that is being deleted, and removes the claim's finalizer once the data is deleted. Until
// then its index and its addresses are not free.
func (r *TemplateReconciler) release(ctx context.Context, a *assignment) error {
	claim := a.claim
	if controllerutil.ContainsFinalizer(claim, infrav1.MachineFinalizer) {
		needed, err := r.machineExists(ctx, claim)
		if err != nil || needed {
			return err
		}
	}
	if a.data != nil {
		return r.deleteData(ctx, a.data)
	}
	p := patch.From(claim)
	controllerutil.RemoveFinalizer(claim, infrav1.DataClaimFinalizer)
	// The machine removes its finalizer itself, unless it was deleted without doing so.
	controllerutil.RemoveFinalizer(claim, infrav1.MachineFinalizer)
	if err := p.Apply(ctx, r.Client, claim); client.IgnoreNotFound(err) != nil {
		return err
	}
	r.claims.Forget(client.ObjectKeyFromObject(claim))
	return nil
}

// machineExists reports whether the machine of the claim exists.
func (r *TemplateReconciler) machineExists(ctx context.Context, claim *infrav1.Metal3DataClaim) (bool, error) {
	owner := machineOf(claim)
	if owner == nil {
		return false, nil
	}
	machine := &infrav1.Metal3Machine{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: owner.Name}, machine); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("reading Metal3Machine %s: %w", owner.Name, err)
	}
	return true, nil
}

// releaseOrphan deletes data whose claim was deleted without it. It reads the claim from the API server: data is newer than its
// claim, but the two caches are not synchronized.
func (r *TemplateReconciler) releaseOrphan(ctx context.Context, data *infrav1.Metal3Data) error {
	claim := client.ObjectKey{Namespace: data.Namespace, Name: data.Spec.Claim.Name}
	err := r.Live.Get(ctx, claim, &infrav1.Metal3DataClaim{})
	switch {
	case apierrors.IsNotFound(err):
		return r.deleteData(ctx, data)
	case err != nil:
		return fmt.Errorf("reading Metal3DataClaim %s: %w", claim.Name, err)
	}
	return nil
}

func (r *TemplateReconciler) deleteData(ctx context.Context, data *infrav1.Metal3Data) error {
	if !data.DeletionTimestamp.IsZero() {
		return nil
	}
	err := r.Client.Delete(ctx, data, client.Preconditions{UID: ptr.To(data.UID)})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Metal3Data %s: %w", data.Name, err)
	}
	return nil
}

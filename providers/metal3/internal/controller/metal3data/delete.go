// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// reconcileDelete releases the addresses once the claim for the data is deleted. Until then a machine uses them, no matter who
// deleted the data. Template, machine and host may already be deleted.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	claim := &infrav1.Metal3DataClaim{}
	used, err := r.find(ctx, s.data, s.data.Spec.Claim.Name, claim)
	if used {
		used, err = r.uses(ctx, claim)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if used {
		setStatus(s.data, s.data.Status.Ready, infrav1.Metal3DataDeletingReason,
			fmt.Sprintf("Metal3DataClaim %s uses the data: it is deleted with the Metal3Machine", claim.Name))
		return ctrl.Result{}, nil
	}
	for _, book := range r.pools {
		if err := book.Release(ctx, s.data); err != nil {
			return ctrl.Result{}, err
		}
	}
	controllerutil.RemoveFinalizer(s.data, infrav1.DataFinalizer)
	controllerutil.RemoveFinalizer(s.data, infrav1.DataClaimFinalizer)
	return ctrl.Result{}, nil
}

// uses reports whether the data of a claim is still in use. A claim that is being deleted, for example with its namespace, is in
// use until its machine removes the finalizer, which it does only when the host is off. A deleted machine no longer uses it.
func (r *Reconciler) uses(ctx context.Context, claim *infrav1.Metal3DataClaim) (bool, error) {
	if claim.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(claim, infrav1.MachineFinalizer) {
		return claim.DeletionTimestamp.IsZero(), nil
	}
	machine, err := reconcile.Find(ctx, r.Client, client.ObjectKeyFromObject(claim), &infrav1.Metal3Machine{})
	return machine != nil, err
}

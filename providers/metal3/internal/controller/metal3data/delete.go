// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// reconcileDelete gives the addresses back when the claim for the data goes. Before that a machine uses them, whoever
// deleted the data. It looks at no template, machine or host: any of them may be gone.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *scope) (ctrl.Result, error) {
	claim := &infrav1.Metal3DataClaim{}
	found, err := r.find(ctx, s.data, s.data.Spec.Claim.Name, claim)
	if err != nil {
		return ctrl.Result{}, err
	}
	if found && claim.DeletionTimestamp.IsZero() {
		show(s.data, s.data.Status.Ready, infrav1.Metal3DataDeletingReason,
			fmt.Sprintf("Metal3DataClaim %s uses the data: it goes with the Metal3Machine", claim.Name))
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

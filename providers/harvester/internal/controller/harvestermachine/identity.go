// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// checkID blocks a machine that has the id of another: it is a copy of the other's YAML, or both come from a template with an id in its
// annotations. With that id it would take over the other's MAC addresses, pools and name.
func (r *Reconciler) checkID(ctx context.Context, s *scope) (reconcile.Progress, error) {
	of, err := r.idOwner(ctx, s.infra)
	if err != nil || of == "" {
		return reconcile.Proceed, err
	}
	r.hold(s, distribution.Refusal{Reason: infrav1.IDNotOursReason, Message: fmt.Sprintf(
		"the id in the annotation %s belongs to HarvesterMachine %s, which this one was copied from: remove these annotations from this one or, if its "+
			"HarvesterMachineTemplate has them, from the template, and delete the Machine: %s",
		infrav1.MachineIDAnnotation, of, strings.Join(owned.MachineAnnotations(), ", "))})
	return reconcile.Retry(reconcile.RefusedPause), nil
}

// idOwner returns the name of the machine that this one's id belongs to; "" if the id is its own.
func (r *Reconciler) idOwner(ctx context.Context, infra *infrav1.HarvesterMachine) (string, error) {
	id := infra.Annotations[infrav1.MachineIDAnnotation]
	if of, known := owned.IDOwner(infra, id); known {
		return of, nil
	}
	list := &infrav1.HarvesterMachineList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{idIndex: id}); err != nil {
		return "", fmt.Errorf("listing HarvesterMachines by their id: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		// A machine with its own virtual machine was created with this id by an earlier release.
		created := infra.Spec.ProviderID != "" && infra.Spec.ProviderID != other.Spec.ProviderID
		if !created && owned.Precedes(other, infra) {
			return infrav1.Owner(other.Namespace, other.Name), nil
		}
	}
	return "", nil
}

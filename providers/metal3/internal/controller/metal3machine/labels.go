// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// reportRefusedLabels reports labels of the host that are selected for copying but must not be set on its Node.
func (r *Reconciler) reportRefusedLabels(_ context.Context, s *scope) (reconcile.Progress, error) {
	var refused []string
	if s.infraCluster != nil {
		refused = placement.RefusedLabels(s.infraCluster.Annotations[infrav1.LabelSyncPrefixesAnnotation], s.host.Labels)
	}
	if len(refused) == 0 {
		conditions.Delete(s.infra, infrav1.Metal3MachineHostLabelsRefusedCondition)
		return reconcile.Proceed, nil
	}
	conditions.Set(s.infra, metav1.Condition{
		Type: infrav1.Metal3MachineHostLabelsRefusedCondition, Status: metav1.ConditionTrue, Reason: infrav1.LabelPrefixRefusedReason,
		Message: fmt.Sprintf("BareMetalHost %s has labels that must not be set on its Node: %s: remove them from the host, "+
			"or remove their prefix from the annotation %s of Metal3Cluster %s",
			s.host.Name, strings.Join(refused, ", "), infrav1.LabelSyncPrefixesAnnotation, s.infraCluster.Name),
	})
	return reconcile.Proceed, nil
}

// prefixesChanged passes updates of Metal3Clusters that change the label prefixes to copy.
func prefixesChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetAnnotations()[infrav1.LabelSyncPrefixesAnnotation] != e.ObjectNew.GetAnnotations()[infrav1.LabelSyncPrefixesAnnotation]
		},
	}
}

// reservedChanged reports whether labels were added or removed that must never be set on a Node, whatever prefixes clusters list.
func reservedChanged(before, after *bmov1alpha1.BareMetalHost) bool {
	return !slices.Equal(placement.ReservedLabels(before.Labels), placement.ReservedLabels(after.Labels))
}

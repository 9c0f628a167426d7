// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Changed passes VSphereClusters whose account or vCenter may have become usable, or ceased to be: what uses the
// cluster's account has to look again. No event of the vCenter may tell, since its session may be open already.
func Changed() predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*infrav1.VSphereCluster), e.ObjectNew.(*infrav1.VSphereCluster)
		return conditions.GetReason(before, infrav1.VSphereClusterVCenterAvailableCondition) !=
			conditions.GetReason(after, infrav1.VSphereClusterVCenterAvailableCondition)
	}})
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"slices"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Changed passes VSphereClusters whose account or vCenter may have become usable or unusable, so that the objects that use the
// cluster's account are reconciled again. There may be no event from the vCenter, because its session can be open already.
func Changed() predicate.Predicate {
	return predicate.Or(changed(infrav1.VSphereClusterVCenterAvailableCondition), predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !slices.Equal(serverReasons(e.ObjectOld), serverReasons(e.ObjectNew))
		},
	})
}

// serverReasons returns the reasons of each server and of each zone, because a server reports only its worst zone.
func serverReasons(object client.Object) []string {
	var reasons []string
	cluster := object.(*infrav1.VSphereCluster)
	for _, server := range cluster.Status.Servers {
		for i := range server.Conditions {
			reasons = append(reasons, server.Server+" "+server.Conditions[i].Reason)
		}
	}
	if len(cluster.Status.Servers) > 0 {
		for i := range cluster.Status.Distribution.FailureDomains {
			zone := &cluster.Status.Distribution.FailureDomains[i]
			reasons = append(reasons, zone.Name+" "+zone.Reason)
		}
	}
	return reasons
}

// ZoneChanged passes VSphereDeploymentZones likewise: machines on another server than their cluster's use the zone's account.
func ZoneChanged() predicate.Predicate {
	return changed(infrav1.VSphereDeploymentZoneVCenterAvailableCondition)
}

func changed(available string) predicate.Predicate {
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(conditions.Getter), e.ObjectNew.(conditions.Getter)
		return conditions.GetReason(before, available) != conditions.GetReason(after, available)
	}})
}

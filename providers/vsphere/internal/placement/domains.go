// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// Selected returns the zones that are failure domains of the cluster.
func Selected(cluster *infrav1.VSphereCluster, zones []Zone) []Zone {
	return slices.DeleteFunc(slices.Clone(zones), func(zone Zone) bool { return !Selects(cluster, &zone.VSphereDeploymentZone) })
}

// Observations returns the state of each zone for the shared state machine.
func Observations(zones []Zone) []distribution.DomainObservation {
	observations := make([]distribution.DomainObservation, len(zones))
	for i := range zones {
		observations[i] = observe(&zones[i])
	}
	return observations
}

// observe reports a zone as unknown while its vCenter is not available, because that means nothing for the zone.
func observe(zone *Zone) distribution.DomainObservation {
	o := distribution.DomainObservation{
		Name: zone.Name, ControlPlane: ptr.Deref(zone.Spec.ControlPlane, true), Health: distribution.Healthy,
		Deleting: !zone.DeletionTimestamp.IsZero(),
	}
	if zone.Domain != nil {
		o.Attributes = map[string]string{
			faultlinev1.RegionAttribute: zone.Domain.Spec.Region.Name, faultlinev1.ZoneAttribute: zone.Domain.Spec.Zone.Name,
		}
	}
	available := conditions.Get(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition)
	ready := conditions.Get(zone, clusterv1.ReadyCondition)
	switch {
	case available != nil && available.Status != "True":
		o.Health, o.Reason, o.Message = distribution.Unknown, available.Reason, available.Message
	case zone.Status.Ready == nil:
		o.Health, o.Reason, o.Message = distribution.Unknown, infrav1.VSphereDeploymentZoneNotCheckedReason, "VSphereDeploymentZone has not been checked yet"
	case !*zone.Status.Ready && ready != nil:
		o.Health, o.Reason, o.Message = distribution.Unhealthy, problemReason(zone), ready.Message
	case !*zone.Status.Ready:
		o.Health = distribution.Unhealthy
	}
	return o
}

// problemReason returns a reason that is more specific than the summary's NotReady.
func problemReason(zone *Zone) string {
	for _, condition := range []string{
		infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition,
	} {
		if conditions.IsFalse(zone, condition) {
			return conditions.GetReason(zone, condition)
		}
	}
	return clusterv1.NotReadyReason
}

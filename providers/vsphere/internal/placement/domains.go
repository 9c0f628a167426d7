// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Server is one of the vCenters of a cluster with several, and whether the cluster's machines can use it.
type Server struct {
	Server       string // as the VSphereCluster has it
	InstanceUUID string // "" if it was never reached
	// Available is the condition VCenterAvailable of the server, and of each zone on it, by name.
	Available metav1.Condition
	Zones     map[string]metav1.Condition
	// RetryAfter is when to look again without an event, or 0.
	RetryAfter time.Duration
}

// Observations returns the state of each zone for the shared state machine. A cluster with one vCenter has no servers.
func Observations(zones []Zone, servers []Server) []distribution.DomainObservation {
	anyUp := slices.ContainsFunc(servers, usable)
	unusable := map[string]metav1.Condition{}
	for _, server := range servers {
		for zone, available := range server.Zones {
			// A manager that reaches no vCenter at all learns nothing about the zones.
			if available.Status == metav1.ConditionFalse && (anyUp || available.Reason != infrav1.VCenterUnreachableReason) {
				unusable[zone] = available
			}
		}
	}
	observations := make([]distribution.DomainObservation, len(zones))
	for i := range zones {
		observations[i] = observe(&zones[i])
		if problem, is := unusable[zones[i].Name]; is {
			observations[i].Health, observations[i].Reason, observations[i].Message = distribution.Unhealthy, problem.Reason, problem.Message
		}
	}
	return observations
}

// usable reports whether the vCenter can be used in one of its zones, or at least for the cluster.
func usable(server Server) bool {
	for _, available := range server.Zones {
		if available.Status == metav1.ConditionTrue {
			return true
		}
	}
	return server.Available.Status == metav1.ConditionTrue
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
)

// check is one thing that is looked at, with the reasons for which it can fail.
type check struct {
	condition string
	reasons   []vcenter.ZoneReason
}

// checks has a condition for everything that is looked at.
func checks() []check {
	return []check{
		{infrav1.VSphereDeploymentZoneDatacenterReadyCondition, []vcenter.ZoneReason{vcenter.DatacenterNotFound}},
		{infrav1.VSphereDeploymentZoneComputeClusterReadyCondition, []vcenter.ZoneReason{vcenter.ComputeClusterNotFound}},
		{infrav1.VSphereDeploymentZoneResourcePoolReadyCondition, []vcenter.ZoneReason{vcenter.ResourcePoolNotFound}},
		{infrav1.VSphereDeploymentZoneFolderReadyCondition, []vcenter.ZoneReason{vcenter.FolderNotFound}},
		{infrav1.VSphereDeploymentZoneDatastoreReadyCondition, []vcenter.ZoneReason{vcenter.DatastoreNotFound}},
		{infrav1.VSphereDeploymentZoneNetworksReadyCondition, []vcenter.ZoneReason{vcenter.NetworkNotFound}},
		{infrav1.VSphereDeploymentZoneRegionReadyCondition, []vcenter.ZoneReason{vcenter.RegionMisconfigured}},
		{infrav1.VSphereDeploymentZoneZoneReadyCondition, []vcenter.ZoneReason{vcenter.ZoneMisconfigured}},
		{infrav1.VSphereDeploymentZoneHostsReadyCondition, []vcenter.ZoneReason{vcenter.HostsMisconfigured, vcenter.NoUsableHost}},
	}
}

// placementReasons are about the zone's own placementConstraint; all others are about its failure domain.
func placementReasons() []vcenter.ZoneReason {
	return []vcenter.ZoneReason{vcenter.ResourcePoolNotFound, vcenter.FolderNotFound}
}

// judge turns problems into conditions: one for each check, upstream's two over them, and status.ready.
func (r *Reconciler) judge(zone *infrav1.VSphereDeploymentZone, problems []vcenter.ZoneProblem) {
	before := zone.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(before.Status, zone.Status) {
			zone.Status.CheckedAt = metav1.NewTime(r.Clock.Now())
		}
	}()
	for _, c := range checks() {
		set(zone, c.condition, infrav1.VSphereDeploymentZoneCheckReadyReason, only(problems, c.reasons))
	}
	placement := only(problems, placementReasons())
	set(zone, infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, infrav1.VSphereDeploymentZonePlacementConstraintReadyReason, placement)
	domain := slices.DeleteFunc(slices.Clone(problems), func(p vcenter.ZoneProblem) bool {
		return slices.Contains(placementReasons(), p.Reason)
	})
	set(zone, infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, infrav1.VSphereDeploymentZoneFailureDomainValidatedReason, domain)

	ready := len(problems) == 0
	if zone.Status.Ready == nil || *zone.Status.Ready != ready {
		r.announce(zone, problems)
	}
	zone.Status.Ready = ptr.To(ready)
}

func (r *Reconciler) announce(zone *infrav1.VSphereDeploymentZone, problems []vcenter.ZoneProblem) {
	if len(problems) == 0 {
		r.Recorder.Eventf(zone, nil, corev1.EventTypeNormal, "ZoneReady", "Check", "Failure domain %s can receive machines", zone.Spec.FailureDomain)
		return
	}
	r.Recorder.Eventf(zone, nil, corev1.EventTypeWarning, "ZoneNotReady", "Check", "%s", messages(problems))
}

func set(zone *infrav1.VSphereDeploymentZone, condition, reason string, problems []vcenter.ZoneProblem) {
	if len(problems) == 0 {
		status.True(zone, condition, reason)
		return
	}
	status.False(zone, condition, string(problems[0].Reason), messages(problems))
}

func only(problems []vcenter.ZoneProblem, reasons []vcenter.ZoneReason) []vcenter.ZoneProblem {
	return slices.DeleteFunc(slices.Clone(problems), func(p vcenter.ZoneProblem) bool { return !slices.Contains(reasons, p.Reason) })
}

func messages(problems []vcenter.ZoneProblem) string {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Message
	}
	return strings.Join(texts, "; ")
}

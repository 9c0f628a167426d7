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
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
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
		{infrav1.VSphereDeploymentZoneTemplateReadyCondition, []vcenter.ZoneReason{vcenter.TemplateNotFound}},
		{infrav1.VSphereDeploymentZoneRegionReadyCondition, []vcenter.ZoneReason{vcenter.RegionMisconfigured}},
		{infrav1.VSphereDeploymentZoneZoneReadyCondition, []vcenter.ZoneReason{vcenter.ZoneMisconfigured}},
		{infrav1.VSphereDeploymentZoneHostsReadyCondition, []vcenter.ZoneReason{vcenter.HostsMisconfigured, vcenter.NoUsableHost}},
	}
}

// placementReasons are about the zone's own placementConstraint; all others are about its failure domain.
func placementReasons() []vcenter.ZoneReason {
	return []vcenter.ZoneReason{vcenter.ResourcePoolNotFound, vcenter.FolderNotFound}
}

// judge turns problems into conditions: one for each check, upstream's two over them, and status.ready. What these are about
// is written with them, so that nobody takes an older verdict for one of a zone that was changed since.
func (r *Reconciler) judge(judged *placement.Zone, report vcenter.ZoneReport) {
	zone, problems := &judged.VSphereDeploymentZone, report.Problems
	before := zone.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(before.Status, zone.Status) {
			zone.Status.CheckedAt = metav1.NewTime(r.Clock.Now())
		}
	}()
	for _, c := range checks() {
		set(zone, c.condition, infrav1.VSphereDeploymentZoneCheckReadyReason, only(problems, c.reasons))
	}
	if report.Explicit != "" && conditions.IsTrue(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition) {
		conditions.Set(zone, metav1.Condition{
			Type: infrav1.VSphereDeploymentZoneHostsReadyCondition, Status: metav1.ConditionTrue,
			Reason:  infrav1.VSphereDeploymentZonePlacedExplicitlyReason,
			Message: report.Explicit + ": each machine is put on a host of the host group explicitly, and looked at after it has started",
		})
	}
	constraint := only(problems, placementReasons())
	set(zone, infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, infrav1.VSphereDeploymentZonePlacementConstraintReadyReason, constraint)
	domain := slices.DeleteFunc(slices.Clone(problems), func(p vcenter.ZoneProblem) bool {
		return slices.Contains(placementReasons(), p.Reason)
	})
	set(zone, infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, infrav1.VSphereDeploymentZoneFailureDomainValidatedReason, domain)

	ready := len(problems) == 0
	if zone.Status.Ready == nil || *zone.Status.Ready != ready {
		r.announce(zone, problems)
	}
	zone.Status.Ready = ptr.To(ready)
	zone.Status.ObservedGeneration, zone.Status.FailureDomainGeneration = zone.Generation, 0
	if judged.Domain != nil {
		zone.Status.FailureDomainGeneration = judged.Domain.Generation
	}
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

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
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/shared/status"
)

// setCheckResult turns problems into conditions: one per check, upstream's two above them, and status.ready. It also records the
// generations that were checked, so that the result of an older one is not mistaken for the current one.
func (r *Reconciler) setCheckResult(checked *placement.Zone, report vcenter.ZoneReport) {
	zone, problems := &checked.VSphereDeploymentZone, report.Problems
	before := zone.DeepCopy()
	defer func() {
		if !equality.Semantic.DeepEqual(before.Status, zone.Status) {
			zone.Status.CheckedAt = metav1.NewTime(r.Clock.Now())
		}
	}()
	checks := inventory.ZoneChecks()
	for _, check := range checks {
		set(zone, check.Condition, infrav1.VSphereDeploymentZoneCheckReadyReason, only(problems, checks, func(c inventory.ZoneCheck) bool {
			return c.Condition == check.Condition
		}))
	}
	if report.Explicit != "" && conditions.IsTrue(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition) {
		conditions.Set(zone, metav1.Condition{
			Type: infrav1.VSphereDeploymentZoneHostsReadyCondition, Status: metav1.ConditionTrue,
			Reason:  infrav1.VSphereDeploymentZonePlacedExplicitlyReason,
			Message: report.Explicit + ": each machine is placed on a host of the host group explicitly, and its host is checked after it has started",
		})
	}
	constraint := only(problems, checks, func(c inventory.ZoneCheck) bool { return c.Constraint })
	set(zone, infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, infrav1.VSphereDeploymentZonePlacementConstraintReadyReason, constraint)
	domain := slices.DeleteFunc(slices.Clone(problems), func(p inventory.ZoneProblem) bool { return slices.Contains(constraint, p) })
	set(zone, infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, infrav1.VSphereDeploymentZoneFailureDomainValidatedReason, domain)

	ready := len(problems) == 0
	if zone.Status.Ready == nil || *zone.Status.Ready != ready {
		r.recordReadyChange(zone, problems)
	}
	zone.Status.Ready = ptr.To(ready)
	zone.Status.ObservedGeneration, zone.Status.FailureDomainGeneration = zone.Generation, 0
	if checked.Domain != nil {
		zone.Status.FailureDomainGeneration = checked.Domain.Generation
	}
}

func (r *Reconciler) recordReadyChange(zone *infrav1.VSphereDeploymentZone, problems []inventory.ZoneProblem) {
	if len(problems) == 0 {
		r.Recorder.Eventf(zone, nil, corev1.EventTypeNormal, "ZoneReady", "Check", "Failure domain %s can receive machines", zone.Spec.FailureDomain)
		return
	}
	r.Recorder.Eventf(zone, nil, corev1.EventTypeWarning, "ZoneNotReady", "Check", "%s", messages(problems))
}

func set(zone *infrav1.VSphereDeploymentZone, condition, reason string, problems []inventory.ZoneProblem) {
	if len(problems) == 0 {
		status.True(zone, condition, reason)
		return
	}
	status.False(zone, condition, string(problems[0].Reason), messages(problems))
}

// only returns the problems found by the selected checks.
func only(problems []inventory.ZoneProblem, checks []inventory.ZoneCheck, of func(inventory.ZoneCheck) bool) []inventory.ZoneProblem {
	return slices.DeleteFunc(slices.Clone(problems), func(p inventory.ZoneProblem) bool {
		return !slices.ContainsFunc(checks, func(check inventory.ZoneCheck) bool { return check.Reason == p.Reason && of(check) })
	})
}

func messages(problems []inventory.ZoneProblem) string {
	texts := make([]string, len(problems))
	for i, problem := range problems {
		texts[i] = problem.Message
	}
	return strings.Join(texts, "; ")
}

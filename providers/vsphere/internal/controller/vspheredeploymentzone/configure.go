// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

type (
	items   = map[vcenter.ConfiguredItem]bool
	records = map[vcenter.ConfiguredItem]vcenter.ConfiguredRecord
)

// configure creates in vCenter what autoConfigure requests, and removes what it no longer requests. It reports whether to check
// again without an event. Items are recorded on the zone before they are created.
func (r *Reconciler) configure(ctx context.Context, s *scope, session *vcenter.Session) (again bool, err error) {
	zone := &s.VSphereDeploymentZone
	spec := placement.Check(&s.Zone)
	if !spec.Configure.Any() && len(zone.Status.Configured) == 0 {
		conditions.Delete(zone, infrav1.VSphereDeploymentZoneAutoConfiguredCondition)
		return false, nil
	}
	mark, err := r.ManagementCluster.Mark(ctx)
	if err != nil {
		return false, err
	}
	others, err := r.otherZones(ctx, r.Client, zone)
	if err != nil {
		return false, err
	}
	own := recordsOf(zone)
	plan, err := session.PlanZone(ctx, spec, known(own, others), mark)
	if err != nil {
		return false, err
	}
	if plan.Unknown {
		r.configured(zone, infrav1.VSphereDeploymentZoneConfigurationRefusedReason,
			"Waiting until all objects of the failure domain are found and readable: see the other conditions")
		return false, nil
	}
	left := noteRecords(zone, own, plan)
	var outcome vcenter.Outcome
	switch {
	case len(plan.Steps) > 0:
		if outcome, err = r.takeSteps(ctx, s, session, plan.Steps, mark); err != nil {
			return false, err
		}
	case len(left) > 0:
		if outcome, err = r.release(ctx, s, session, left, plan.Uses); err != nil {
			return false, err
		}
	case session.IsZoneChanging(zone.Name):
		// vCenter may show the effect of a request before it answers. A repetition of the request could undo a later change of another client.
		r.configured(zone, infrav1.VSphereDeploymentZoneConfiguringReason, "Waiting for vCenter to answer earlier requests")
		return false, nil
	}
	return r.report(s, plan, outcome), nil
}

// takeSteps stores the records of the zone, and then starts the steps unless they have been taken.
func (r *Reconciler) takeSteps(ctx context.Context, s *scope, session *vcenter.Session, steps []vcenter.ConfigurationStep, mark string) (vcenter.Outcome, error) {
	zone := &s.VSphereDeploymentZone
	outcome, known := session.ConfigurationOf(zone.Name, steps)
	if !known {
		if err := s.patch.Apply(ctx, r.Client, zone); err != nil {
			return outcome, err
		}
		outcome = session.ConfigureZone(zone.Name, steps, mark, r.RetryAfter)
	}
	unrecord(zone, outcome)
	return outcome, nil
}

// otherZones returns the other zones of the vCenter.
func (r *Reconciler) otherZones(ctx context.Context, reader client.Reader, zone *infrav1.VSphereDeploymentZone) ([]placement.Zone, error) {
	zones, err := placement.Zones(ctx, reader)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(zones, func(other placement.Zone) bool {
		return other.Name == zone.Name || !infrav1.SameServer(other.Spec.Server, zone.Spec.Server)
	}), nil
}

// known returns the records of a zone and of other zones: shared items belong to all of them.
func known(own records, others []placement.Zone) records {
	all := maps.Clone(own)
	for i := range others {
		for item, record := range recordsOf(&others[i].VSphereDeploymentZone) {
			if _, is := all[item]; !is {
				all[item] = record
			}
		}
	}
	return all
}

// noteRecords writes the records of a plan to the zone, and returns those that the zone no longer uses.
func noteRecords(zone *infrav1.VSphereDeploymentZone, own records, plan vcenter.ZonePlan) (left records) {
	left = records{}
	for item, record := range own {
		if _, uses := plan.Uses[item]; !uses {
			left[item] = record
		}
	}
	next := maps.Clone(left)
	maps.Copy(next, plan.Records)
	setRecords(zone, next)
	return left
}

// unrecord removes the records of items that another client created at the same time, and of items that were not tried.
func unrecord(zone *infrav1.VSphereDeploymentZone, outcome vcenter.Outcome) {
	next := recordsOf(zone)
	for item := range outcome.NotOurs {
		delete(next, item)
	}
	setRecords(zone, next)
}

func recordsOf(zone *infrav1.VSphereDeploymentZone) records {
	all := records{}
	for _, object := range zone.Status.Configured {
		item := vcenter.ConfiguredItem{Kind: vcenter.ConfiguredKind(object.Kind), Name: object.Name, Category: object.Category, Object: object.Object}
		all[item] = vcenter.ConfiguredRecord{Made: object.State == infrav1.ConfiguredMade, Hosts: object.Hosts}
	}
	return all
}

func setRecords(zone *infrav1.VSphereDeploymentZone, next records) {
	var objects []infrav1.ConfiguredObject
	for _, item := range slices.SortedFunc(maps.Keys(next), vcenter.CompareConfigured) {
		object := infrav1.ConfiguredObject{
			Kind: infrav1.ConfiguredKind(item.Kind), Name: item.Name, Category: item.Category, Object: item.Object,
			State: infrav1.ConfiguredPending, Hosts: next[item].Hosts,
		}
		if next[item].Made {
			object.State = infrav1.ConfiguredMade
		}
		objects = append(objects, object)
	}
	if !equality.Semantic.DeepEqual(objects, zone.Status.Configured) {
		zone.Status.Configured = objects
	}
}

// report sets the condition AutoConfigured.
func (r *Reconciler) report(s *scope, plan vcenter.ZonePlan, outcome vcenter.Outcome) (again bool) {
	zone := &s.VSphereDeploymentZone
	problems := slices.Clone(plan.Problems)
	reason := infrav1.VSphereDeploymentZoneConfigurationRefusedReason
	if err := outcome.Err(); err != nil {
		problems = append([]string{err.Error()}, problems...)
		if errors.Is(err, vcenter.ErrForbidden) {
			reason = infrav1.PrivilegeMissingReason
		}
	}
	switch {
	case outcome.Running, len(plan.Steps) > 0 && len(problems) == 0: // wait until vCenter shows what it reported as done
		r.configured(zone, infrav1.VSphereDeploymentZoneConfiguringReason, stepsMessage(plan.Steps))
	case len(problems) > 0:
		r.configured(zone, reason, abbreviated(problems))
	case len(plan.Drift) > 0:
		r.configured(zone, infrav1.VSphereDeploymentZoneConfigurationDriftedReason, fmt.Sprintf(
			"%s: revert the change, or set drift of VSphereFailureDomain %s to Repair", abbreviated(plan.Drift), s.Domain.Name))
	case len(outcome.InUse) > 0:
		r.configured(zone, infrav1.VSphereDeploymentZoneConfiguredInUseReason, strings.Join(inUse(outcome), "; ")+": "+inUseAdvice)
	default:
		r.configured(zone, infrav1.VSphereDeploymentZoneAutoConfiguredReason, "")
		return false
	}
	return !outcome.Running
}

// stepsMessage returns a message about the running steps.
func stepsMessage(steps []vcenter.ConfigurationStep) string {
	if len(steps) == 0 {
		return "Removing unused objects"
	}
	texts := make([]string, 0, len(steps))
	for _, step := range steps {
		texts = append(texts, fmt.Sprintf("%s %s: %s", step.Verb, step.ConfiguredItem, step.Why))
	}
	return abbreviated(texts)
}

// abbreviated returns some of many texts: a rack can have a hundred hosts, and an event is limited to a thousand characters.
func abbreviated(texts []string) string {
	const most = 6
	if len(texts) <= most {
		return strings.Join(texts, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(texts[:most], "; "), len(texts)-most)
}

// configured sets the condition, and records an event if it changed.
func (r *Reconciler) configured(zone *infrav1.VSphereDeploymentZone, reason, message string) {
	condition := metav1.Condition{
		Type: infrav1.VSphereDeploymentZoneAutoConfiguredCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message,
	}
	kind, note := corev1.EventTypeWarning, message
	switch reason {
	case infrav1.VSphereDeploymentZoneAutoConfiguredReason:
		condition.Status = metav1.ConditionTrue
		kind, note = corev1.EventTypeNormal, fmt.Sprintf("Everything that autoConfigure requests exists in vCenter; %d objects were created by this zone", len(zone.Status.Configured))
	case infrav1.VSphereDeploymentZoneConfiguringReason:
		kind = corev1.EventTypeNormal
	}
	before := conditions.Get(zone, condition.Type)
	if before == nil || before.Reason != reason || before.Message != message {
		r.Recorder.Eventf(zone, nil, kind, reason, "Configure", "%.1000s", note)
	}
	conditions.Set(zone, condition)
}

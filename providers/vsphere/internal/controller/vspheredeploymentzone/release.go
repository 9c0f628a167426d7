// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/status"
)

const (
	// inUseAdvice is the advice for an item that cannot be removed because it is in use.
	inUseAdvice = "remove those references, or annotate the zone with " + infrav1.AbandonConfiguredAnnotation + " to leave it in vCenter"
	// abandonAdvice is the advice for an item that cannot be removed at all.
	abandonAdvice = "; annotate the zone with " + infrav1.AbandonConfiguredAnnotation + " to delete the zone anyway"
)

// releaseConfigured removes what was created for a zone in deletion, and reports whether it is done.
func (r *Reconciler) releaseConfigured(ctx context.Context, s *scope) (over bool, result ctrl.Result, err error) {
	zone := &s.VSphereDeploymentZone
	if len(zone.Status.Configured) == 0 {
		return true, ctrl.Result{}, nil
	}
	if _, abandon := faultlinev1.Lookup(zone.Annotations, infrav1.AbandonConfiguredAnnotation); abandon {
		r.Recorder.Eventf(zone, nil, corev1.EventTypeWarning, "Abandoned", "Delete", "Left in vCenter: %s", names(recordsOf(zone)))
		return true, ctrl.Result{}, nil
	}
	session, _, err := r.VCenters.ForZone(ctx, zone)
	r.setVCenterAvailable(zone, err)
	if err != nil {
		r.deleting(zone, fmt.Sprintf("Objects created in vCenter cannot be removed: %s%s", conditionMessage(err), abandonAdvice))
		return false, ctrl.Result{RequeueAfter: connection.RetryAfter(err)}, ignoreWaits(err)
	}
	outcome, err := r.release(ctx, s, session, recordsOf(zone), nil)
	if err != nil {
		return false, ctrl.Result{}, err
	}
	if len(zone.Status.Configured) == 0 {
		return true, ctrl.Result{}, nil
	}
	switch failed := outcome.Err(); {
	case outcome.Running:
		r.deleting(zone, "Removing from vCenter: "+names(recordsOf(zone)))
		return false, ctrl.Result{}, nil
	case failed != nil:
		r.deleting(zone, failed.Error()+abandonAdvice)
	default:
		r.deleting(zone, strings.Join(inUse(outcome), "; ")+": "+inUseAdvice)
	}
	return false, ctrl.Result{RequeueAfter: r.RetryAfter}, nil
}

// conditionMessage returns the condition message for a connection error, which does not reveal the account.
func conditionMessage(err error) string { return connection.Condition(err).Message }

func (r *Reconciler) deleting(zone *infrav1.VSphereDeploymentZone, message string) {
	status.False(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason, message)
}

// release removes items that a zone has recorded but neither uses itself nor leaves to other zones that use them. Another zone
// that has recorded such an item removes it on its own deletion; one that would create it first takes it over.
func (r *Reconciler) release(ctx context.Context, s *scope, session *vcenter.Session, left records, own items) (vcenter.Outcome, error) {
	zone := &s.VSphereDeploymentZone
	mark, err := r.ManagementCluster.Mark(ctx)
	if err != nil {
		return vcenter.Outcome{}, err
	}
	beside, going, err := r.others(ctx, zone)
	if err != nil {
		return vcenter.Outcome{}, err
	}
	next, pending := recordsOf(zone), blockedBy(left, going)
	uses := []items{own}
	for i := range beside {
		other := &beside[i]
		theirs, has := items{}, recordsOf(&other.VSphereDeploymentZone)
		if other.Domain != nil {
			theirs = session.Uses(placement.Check(other))
		}
		for item := range left {
			_, recorded := has[item]
			makes, used := theirs[item]
			switch {
			case recorded, used && !makes:
				delete(next, item)
			case makes:
				pending[item] = fmt.Sprintf("%s is also used by VSphereDeploymentZone %s, which has not taken it over yet", item, other.Name)
			}
		}
		for item := range has {
			theirs[item] = true
		}
		uses = append(uses, theirs)
	}
	surplus := slices.DeleteFunc(vcenter.SurplusOf(left, uses...), func(item vcenter.ConfiguredItem) bool { return pending[item] != "" })
	outcome := vcenter.Outcome{}
	if len(surplus) > 0 {
		outcome = session.ReleaseZone(zone.Name, surplus, mark, r.RetryAfter)
	}
	if !outcome.Running {
		r.drop(zone, next, surplus, outcome)
	}
	outcome.InUse = merged(outcome.InUse, pending)
	setRecords(zone, next)
	return outcome, nil
}

// blockedBy returns the items that a zone cannot remove before other zones in deletion have removed their parts: a category with
// a tag of theirs would count as used by another client and stay forever.
func blockedBy(left records, going []placement.Zone) map[vcenter.ConfiguredItem]string {
	waits := map[vcenter.ConfiguredItem]string{}
	for i := range going {
		for part := range recordsOf(&going[i].VSphereDeploymentZone) {
			for item := range left {
				if _, own := left[part]; !own && vcenter.PartOf(part, item) {
					waits[item] = fmt.Sprintf("%s is removed after %s, which VSphereDeploymentZone %s is about to remove", item, part, going[i].Name)
				}
			}
		}
	}
	return waits
}

// others returns the other zones of the vCenter, staying and in deletion. They are read from the API server: of two zones that
// are deleted at the same time, neither must leave items to the other.
func (r *Reconciler) others(ctx context.Context, zone *infrav1.VSphereDeploymentZone) (staying, going []placement.Zone, err error) {
	beside, err := r.otherZones(ctx, r.Live, zone)
	if err != nil {
		return nil, nil, err
	}
	for i := range beside {
		if !beside[i].DeletionTimestamp.IsZero() {
			machines, err := placement.MachinesIn(ctx, r.Client, beside[i].Name)
			if err != nil {
				return nil, nil, err
			}
			if len(machines) == 0 {
				going = append(going, beside[i])
				continue
			}
		}
		if !r.filter.Passes(&beside[i].VSphereDeploymentZone) || annotations.HasPaused(&beside[i].VSphereDeploymentZone) {
			beside[i].Domain = withoutConfiguration(beside[i].Domain) // it takes nothing over, but uses it
		}
		staying = append(staying, beside[i])
	}
	return staying, going, nil
}

// withoutConfiguration returns a copy of the failure domain with autoConfigure disabled.
func withoutConfiguration(domain *infrav1.VSphereFailureDomain) *infrav1.VSphereFailureDomain {
	if domain == nil {
		return nil
	}
	domain = domain.DeepCopy()
	domain.Spec.Region.AutoConfigure, domain.Spec.Zone.AutoConfigure, domain.Spec.Topology.Hosts.AutoConfigure = nil, nil, nil
	return domain
}

// drop removes the records of items that are deleted or left to other zones.
func (r *Reconciler) drop(zone *infrav1.VSphereDeploymentZone, next records, surplus []vcenter.ConfiguredItem, outcome vcenter.Outcome) {
	var removed []string
	for _, item := range surplus {
		_, failed := outcome.Failed[item]
		_, used := outcome.InUse[item]
		if failed || used {
			continue
		}
		delete(next, item)
		if why, kept := outcome.Kept[item]; kept {
			r.Recorder.Eventf(zone, nil, corev1.EventTypeNormal, "Kept", "Configure", "%s stays in vCenter: %s", item, why)
			continue
		}
		removed = append(removed, item.String())
	}
	if len(removed) > 0 {
		r.Recorder.Eventf(zone, nil, corev1.EventTypeNormal, "Removed", "Configure", "Removed from vCenter: %s", strings.Join(removed, ", "))
	}
}

func merged(one, other map[vcenter.ConfiguredItem]string) map[vcenter.ConfiguredItem]string {
	all := map[vcenter.ConfiguredItem]string{}
	maps.Copy(all, one)
	maps.Copy(all, other)
	return all
}

// inUse returns why items cannot be removed, each reason once.
func inUse(outcome vcenter.Outcome) []string {
	return slices.Compact(slices.Sorted(maps.Values(outcome.InUse)))
}

func names(of records) string {
	var all []string
	for _, item := range slices.SortedFunc(maps.Keys(of), vcenter.CompareConfigured) {
		all = append(all, item.String())
	}
	return strings.Join(all, ", ")
}

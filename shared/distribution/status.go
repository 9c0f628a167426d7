// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Machine is one machine of the cluster, as it is counted.
type Machine struct {
	// Name is the name of the Machine.
	Name string
	// Domain is the domain in which the machine is, or the requested one while that is unknown; "" if there is neither.
	Domain string
	// Requested is the requested domain; "" if none was requested.
	Requested string
	// Assigned is true if Requested was assigned by Faultline, and not set in the Machine.
	Assigned bool
	// ControlPlane is true for a control-plane machine.
	ControlPlane bool
}

// Elsewhere reports whether the machine is in another domain than requested, because it was moved outside Faultline or its domain
// was changed.
func (m Machine) Elsewhere() bool {
	return m.Requested != "" && m.Domain != "" && m.Domain != m.Requested
}

// InPlace returns the MachinesInPlace condition: False while a machine is in another domain than requested.
func InPlace(machines []Machine) metav1.Condition {
	condition := metav1.Condition{
		Type: faultlinev1.MachinesInPlaceCondition, Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonMachinesInPlace,
	}
	var said []string
	for _, m := range machines {
		if m.Elsewhere() {
			asked := "its spec.failureDomain is"
			if m.Assigned {
				asked = "it was assigned"
			}
			said = append(said, fmt.Sprintf("Machine %s is in failure domain %s, although %s %s", m.Name, m.Domain, asked, m.Requested))
		}
	}
	if len(said) == 0 {
		return condition
	}
	slices.Sort(said)
	condition.Status, condition.Reason = metav1.ConditionFalse, faultlinev1.ReasonMachinesElsewhere
	condition.Message = clip(strings.Join(said, "\n") + "\nmove them back, or delete the Machines; they count in their current failure domain")
	return condition
}

// CountByDomain counts machines by their domain, including "".
func CountByDomain(machines []Machine) map[string]faultlinev1.MachineCounts {
	counts := map[string]faultlinev1.MachineCounts{}
	for _, machine := range machines {
		count := counts[machine.Domain]
		if machine.ControlPlane {
			count.ControlPlane++
		} else {
			count.Workers++
		}
		counts[machine.Domain] = count
	}
	return counts
}

// Skew returns the difference between the highest and the lowest number of control-plane machines in the domains that take them;
// nil if no domain does. Domains that are not Active do not count: a domain that is being emptied, or kept only because it is the
// last, is not expected to match the others.
func Skew(domains []faultlinev1.DomainStatus) *int32 {
	var counts []int32
	for _, domain := range domains {
		if domain.State != faultlinev1.DomainActive || !isTrue(domain.ControlPlane) {
			continue
		}
		var count int32
		if domain.Machines != nil {
			count = domain.Machines.ControlPlane
		}
		counts = append(counts, count)
	}
	if len(counts) == 0 {
		return nil
	}
	skew := slices.Max(counts) - slices.Min(counts)
	return &skew
}

// Status returns the result as status.distribution, with the numbers of the cluster's machines. Machines outside all domains are
// omitted. Fields that other controllers derived from the previous result are copied from known.
func (r Result) Status(known faultlinev1.DistributionStatus, machines []Machine, now time.Time) faultlinev1.DistributionStatus {
	counts := CountByDomain(machines)
	status := faultlinev1.DistributionStatus{
		FailureDomainsSince: known.FailureDomainsSince, ControlPlane: known.ControlPlane, Workers: known.Workers,
	}
	if known.FailureDomainsSince.IsZero() || !sameUse(known.FailureDomains, r.Domains) {
		status.FailureDomainsSince = metav1.NewTime(now.UTC().Truncate(time.Second))
	}
	for i := range r.Domains {
		domain := *r.Domains[i].DeepCopy()
		count := counts[domain.Name]
		domain.Machines = &count
		status.FailureDomains = append(status.FailureDomains, domain)
	}
	status.ControlPlaneSkew = Skew(status.FailureDomains)
	if r.ControlPlaneNeedsDomain {
		status.ControlPlaneNeedsDomain = &r.ControlPlaneNeedsDomain
	}
	return status
}

// sameUse reports whether both lists, sorted by name, have the same domains with the same use.
func sameUse(before, after []faultlinev1.DomainStatus) bool {
	return slices.EqualFunc(before, after, func(a, b faultlinev1.DomainStatus) bool {
		return a.Name == b.Name && a.State == b.State && isTrue(a.ControlPlane) == isTrue(b.ControlPlane)
	})
}

// Condition returns the FailureDomainsReady condition. It is
//
//   - False while too many domains turned unhealthy at once, no domain takes control-plane machines although one is meant to, one
//     takes them only because it is the last, or a domain is Cordoned for its health;
//   - Unknown while a domain could not be looked up and nothing else is wrong;
//   - True otherwise. Domains that the user has withdrawn or deletes do not make it False.
//
// The message lists names in the spec that match no domain, whatever the status is.
func (r Result) Condition() metav1.Condition {
	condition := metav1.Condition{Type: faultlinev1.FailureDomainsReadyCondition, Status: metav1.ConditionFalse}
	inactive := r.describe(func(d faultlinev1.DomainStatus) bool {
		return d.State == faultlinev1.DomainCordoned && d.Health != faultlinev1.DomainHealthy &&
			d.Reason != faultlinev1.ReasonCordonRequested && d.Reason != faultlinev1.ReasonDomainDeleting
	})
	stale := r.describe(func(d faultlinev1.DomainStatus) bool { return !d.StaleSince.IsZero() })
	switch {
	case len(r.Domains) == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, faultlinev1.ReasonNoFailureDomains
	case r.TooManyUnhealthy:
		condition.Reason = faultlinev1.ReasonTooManyDomainsUnhealthy
		condition.Message = "More than half of the failure domains turned unhealthy at once, so none is cordoned automatically: check the health source first, " +
			"and cordon those that are down in spec.distribution:\n" +
			r.describe(func(d faultlinev1.DomainStatus) bool { return !d.UnhealthySince.IsZero() })
	case r.Kept != "":
		condition.Reason = faultlinev1.ReasonLastControlPlaneDomain
		condition.Message = r.describe(func(d faultlinev1.DomainStatus) bool { return d.Name == r.Kept })
	case r.NoControlPlaneDomain:
		condition.Reason = faultlinev1.ReasonNoControlPlaneDomain
		condition.Message = r.describe(func(d faultlinev1.DomainStatus) bool { return d.State != faultlinev1.DomainActive })
	case inactive != "":
		condition.Reason, condition.Message = faultlinev1.ReasonDomainsNotActive, inactive
	case stale != "":
		condition.Status = metav1.ConditionUnknown
		condition.Reason, condition.Message = faultlinev1.ReasonLookupFailed, stale
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, faultlinev1.ReasonAllActive
	}
	if len(r.Undeclared) > 0 {
		var wrong []string
		for _, name := range r.Undeclared {
			wrong = append(wrong, noDomain(name))
		}
		condition.Message = strings.TrimPrefix(condition.Message+"\n"+correct(wrong), "\n")
	}
	condition.Message = clip(condition.Message)
	return condition
}

// describe lists the matching domains with their messages.
func (r Result) describe(match func(faultlinev1.DomainStatus) bool) string {
	var said []string
	for _, domain := range r.Domains {
		if match(domain) {
			said = append(said, fmt.Sprintf("%s: %s", domain.Name, domain.Message))
		}
	}
	return strings.Join(said, "\n")
}

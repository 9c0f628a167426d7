// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// machines returns control-plane machines in domains with a trailing *, and workers in the others.
func machines(domains ...string) []distribution.Machine {
	var all []distribution.Machine
	for _, domain := range domains {
		name, controlPlane := strings.CutSuffix(domain, "*")
		all = append(all, distribution.Machine{Domain: name, ControlPlane: controlPlane})
	}
	return all
}

func TestCountByDomain(t *testing.T) {
	t.Parallel()
	got := distribution.CountByDomain(machines("a*", "a", "b", "b", "*", "gone*"))
	want := map[string]faultlinev1.MachineCounts{
		"a": {ControlPlane: 1, Workers: 1}, "b": {Workers: 2}, "": {ControlPlane: 1}, "gone": {ControlPlane: 1},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.spec = wants("c", "Evicting")
	worker := good("w")
	worker.ControlPlane = false
	seen := []distribution.DomainObservation{good("a"), good("b"), good("c"), worker}
	l.at(0, seen...)
	result := l.at(time.Minute, seen...)
	status := result.Status(faultlinev1.DistributionStatus{}, machines("a*", "a*", "b", "c*", "c*", "c*", "c*", "gone*"), start())
	counts := map[string]faultlinev1.MachineCounts{}
	for _, domain := range status.FailureDomains {
		counts[domain.Name] = *domain.Machines
	}
	want := map[string]faultlinev1.MachineCounts{"a": {ControlPlane: 2}, "b": {Workers: 1}, "c": {ControlPlane: 4}, "w": {}}
	if !maps.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	// c is being emptied and w takes no control planes: neither counts.
	if status.ControlPlaneSkew == nil || *status.ControlPlaneSkew != 2 {
		t.Errorf("skew %v, want 2", status.ControlPlaneSkew)
	}
	if result.Domains[0].Machines != nil {
		t.Errorf("the result was modified: %+v", result.Domains[0])
	}
}

func TestSkewWithoutControlPlaneDomain(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	if got := l.at(0, bad("a")).Status(faultlinev1.DistributionStatus{}, machines("a*"), start()).ControlPlaneSkew; got != nil {
		t.Errorf("skew %d, want none", *got)
	}
	l.at(0, good("a"))
	l.spec = wants("a", "Cordoned")
	if got := l.at(0, good("a")).Status(faultlinev1.DistributionStatus{}, machines("a*"), start()).ControlPlaneSkew; got != nil {
		t.Errorf("skew %d with a mere kept domain, want none", *got)
	}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	none := distribution.DomainObservation{Name: "w", Health: distribution.Healthy}
	tests := map[string]struct {
		spec   faultlinev1.Distribution
		first  []distribution.DomainObservation
		then   []distribution.DomainObservation // observed after the grace period
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"no domains":                      {status: metav1.ConditionTrue, reason: faultlinev1.ReasonNoFailureDomains},
		"all active":                      {first: observe(3, 0), then: observe(3, 0), status: metav1.ConditionTrue, reason: faultlinev1.ReasonAllActive},
		"within the grace period":         {first: observe(3, 0), status: metav1.ConditionTrue, reason: faultlinev1.ReasonAllActive},
		"one unhealthy":                   {first: observe(3, 0), then: observe(3, 1), status: metav1.ConditionFalse, reason: faultlinev1.ReasonDomainsNotActive, says: "a: datastore ds-a is gone"},
		"too many at once":                {first: observe(3, 0), then: observe(3, 2), status: metav1.ConditionFalse, reason: faultlinev1.ReasonTooManyDomainsUnhealthy, says: "\nb: datastore ds-b is gone"},
		"cordoned by the user":            {spec: wants("a", "Cordoned"), first: observe(3, 0), then: observe(3, 1), status: metav1.ConditionTrue, reason: faultlinev1.ReasonAllActive},
		"all cordoned from the start":     {spec: wants("a", "Cordoned"), first: observe(1, 0), then: observe(1, 0), status: metav1.ConditionFalse, reason: faultlinev1.ReasonNoControlPlaneDomain, says: "a: cordoned by spec.distribution"},
		"none good yet":                   {first: observe(3, 3), then: observe(3, 3), status: metav1.ConditionFalse, reason: faultlinev1.ReasonNoControlPlaneDomain, says: "c: datastore ds-c is gone; has never been healthy"},
		"none meant for control planes":   {first: []distribution.DomainObservation{none}, then: []distribution.DomainObservation{none}, status: metav1.ConditionTrue, reason: faultlinev1.ReasonAllActive},
		"none could be looked up":         {first: observe(2, 0), then: []distribution.DomainObservation{unknown("a"), unknown("b")}, status: metav1.ConditionUnknown, reason: faultlinev1.ReasonLookupFailed, says: "b: connection refused"},
		"a new one, never looked up":      {first: observe(1, 0), then: []distribution.DomainObservation{good("a"), unknown("b")}, status: metav1.ConditionFalse, reason: faultlinev1.ReasonDomainsNotActive, says: "b: connection refused"},
		"the only one turned: is it I?":   {first: observe(1, 0), then: observe(1, 1), status: metav1.ConditionFalse, reason: faultlinev1.ReasonTooManyDomainsUnhealthy},
		"evicted, with the others active": {spec: wants("c", "Evicting"), first: observe(3, 0), then: observe(3, 0), status: metav1.ConditionTrue, reason: faultlinev1.ReasonAllActive},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTimeline(t)
			l.spec = test.spec
			result := l.at(0, test.first...)
			if test.then != nil {
				l.at(0, test.then...)
				result = l.at(grace, test.then...)
			}
			got := result.Condition()
			if got.Type != faultlinev1.FailureDomainsReadyCondition || got.Status != test.status || got.Reason != test.reason {
				t.Errorf("got %+v, want %s %s", got, test.status, test.reason)
			}
			if !strings.Contains(got.Message, test.says) {
				t.Errorf("message %q does not say %q", got.Message, test.says)
			}
		})
	}
}

func TestConditionOfAKeptDomain(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("a", "Cordoned", "b", "Cordoned")
	got := l.at(time.Minute, good("a"), good("b")).Condition()
	if got.Status != metav1.ConditionFalse || got.Reason != faultlinev1.ReasonLastControlPlaneDomain || !strings.Contains(got.Message, "a: stays published") {
		t.Errorf("got %+v", got)
	}
}

func TestFailureDomainsSince(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	known := faultlinev1.DistributionStatus{}
	step := func(minute int, seen ...distribution.DomainObservation) time.Time {
		now := start().Add(time.Duration(minute) * time.Minute)
		known = l.at(time.Duration(minute)*time.Minute, seen...).Status(known, nil, now)
		return known.FailureDomainsSince.Time
	}
	for minute, tc := range []struct {
		seen  []distribution.DomainObservation
		since int
	}{
		{[]distribution.DomainObservation{good("a"), good("b")}, 0},
		{[]distribution.DomainObservation{good("b"), good("a")}, 0},
		{[]distribution.DomainObservation{good("a"), good("b"), good("c")}, 2},
		{[]distribution.DomainObservation{good("a"), good("b"), bad("c")}, 2}, // within the grace period nothing has changed
		{[]distribution.DomainObservation{good("a"), good("b")}, 4},
	} {
		if got, want := step(minute, tc.seen...), start().Add(time.Duration(tc.since)*time.Minute); !got.Equal(want) {
			t.Errorf("minute %d: since %s, want %s", minute, got, want)
		}
	}
}

func TestStatusKeepsOtherFields(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	known := faultlinev1.DistributionStatus{
		ControlPlane: faultlinev1.ControlPlaneDistributionStatus{Plan: []faultlinev1.PlannedMove{{Machine: "m", To: "a"}}},
		Workers:      []faultlinev1.WorkersDistributionStatus{{Name: "md"}},
	}
	got := l.at(0, good("a")).Status(known, nil, start())
	if len(got.ControlPlane.Plan) != 1 || len(got.Workers) != 1 {
		t.Errorf("got %+v", got)
	}
}

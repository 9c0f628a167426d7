// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// A cluster that has never had a control-plane domain has none to keep.
func TestNoControlPlaneDomainYet(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	for i, seen := range [][]distribution.DomainObservation{
		{unknown("a"), unknown("b")},
		{bad("a"), unknown("b")},
		{bad("a"), bad("b")},
	} {
		result := l.at(time.Duration(i)*time.Hour, seen...)
		if result.ControlPlaneDomains != 0 || result.Kept != "" || !result.NoControlPlaneDomain {
			t.Errorf("step %d: %d published, kept %q", i, result.ControlPlaneDomains, result.Kept)
		}
	}
}

// Neither has a cluster without domains meant for control planes, and that is not an error.
func TestNoDomainMeantForControlPlanes(t *testing.T) {
	t.Parallel()
	result := newTimeline(t).at(0, distribution.DomainObservation{Name: "w", Health: distribution.Healthy})
	if result.ControlPlaneDomains != 0 || result.NoControlPlaneDomain {
		t.Errorf("%d published, missing: %t", result.ControlPlaneDomains, result.NoControlPlaneDomain)
	}
}

// allHealthy observes three healthy domains.
var allHealthy = []distribution.DomainObservation{good("a"), good("b"), good("c")}

// forWorkers returns the observation as one of a domain not meant for control planes.
func forWorkers(seen distribution.DomainObservation) distribution.DomainObservation {
	seen.ControlPlane = false
	return seen
}

// lastDomainTests lists ways to lose all, or nearly all, control-plane domains.
var lastDomainTests = map[string]struct {
	spec  faultlinev1.Distribution // from the second step on
	steps [][]distribution.DomainObservation
	kept  string
}{
	"the one unhealthy for the shortest time": {
		steps: [][]distribution.DomainObservation{
			allHealthy, {bad("a"), good("b"), good("c")}, {bad("a"), good("b"), bad("c")}, {bad("a"), bad("b"), bad("c")},
		},
		kept: "b",
	},
	"one that is healthy again before one that is not": {
		steps: [][]distribution.DomainObservation{
			allHealthy, {bad("a"), good("b"), good("c")}, {bad("a"), bad("b"), good("c")}, {good("a"), bad("b"), bad("c")},
		},
		kept: "a",
	},
	"all withdrawn by the user: by name": {
		spec:  wants("a", "Cordoned", "b", "Cordoned", "c", "Cordoned"),
		steps: [][]distribution.DomainObservation{allHealthy, allHealthy},
		kept:  "a",
	},
	"a cordoned one before one being emptied": {
		spec:  wants("a", "Evicting", "b", "Evicting", "c", "Cordoned"),
		steps: [][]distribution.DomainObservation{allHealthy, allHealthy},
		kept:  "c",
	},
	"the only one that the user leaves Active is the majority, and stays": {
		spec:  wants("a", "Cordoned", "b", "Cordoned"),
		steps: [][]distribution.DomainObservation{allHealthy, {good("a"), good("b"), bad("c")}, {good("a"), good("b"), bad("c")}},
		kept:  "",
	},
	"one that has been healthy before a new one": {
		steps: [][]distribution.DomainObservation{{good("b")}, {bad("a"), bad("b")}},
		kept:  "b",
	},
	"a new one before one that the user withdraws": {
		spec:  wants("a", "Cordoned"),
		steps: [][]distribution.DomainObservation{{good("a")}, {good("a"), bad("b")}},
		kept:  "b",
	},
	"a new one when the others are removed": {
		steps: [][]distribution.DomainObservation{allHealthy, {unknown("n"), bad("m")}},
		kept:  "n",
	},
	"one no longer meant for control planes, as the very last": {
		steps: [][]distribution.DomainObservation{{good("a"), forWorkers(good("w"))}, {forWorkers(good("a")), forWorkers(good("w"))}},
		kept:  "a",
	},
	"one still meant for control planes before one that no longer is": {
		spec:  wants("b", "Evicting"),
		steps: [][]distribution.DomainObservation{{good("a"), good("b")}, {forWorkers(good("a")), good("b")}},
		kept:  "b",
	},
	"of those healthy again the one that is for the longest": {
		steps: [][]distribution.DomainObservation{
			allHealthy, {bad("a"), good("b"), good("c")}, {bad("a"), bad("b"), good("c")},
			{bad("a"), good("b"), good("c")}, {good("a"), good("b"), bad("c")},
		},
		kept: "b",
	},
	"none as long as another is Active": {
		steps: [][]distribution.DomainObservation{allHealthy, {bad("a"), good("b"), good("c")}, {bad("a"), bad("b"), good("c")}},
		kept:  "",
	},
}

func TestLastControlPlaneDomain(t *testing.T) {
	t.Parallel()
	for name, test := range lastDomainTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTimeline(t)
			var result distribution.Result
			for i, seen := range test.steps {
				if i > 0 {
					l.spec = test.spec
				}
				// Each is seen twice, a grace period apart, to take effect.
				l.at(time.Duration(i)*3*grace, seen...)
				result = l.at(time.Duration(i)*3*grace+grace, seen...)
			}
			if result.Kept != test.kept {
				t.Fatalf("kept %q, want %q: %+v", result.Kept, test.kept, result.Domains)
			}
			if test.kept == "" {
				return
			}
			if got := controlPlanes(result); !slices.Equal(got, []string{test.kept}) {
				t.Errorf("for control planes: %v, want %s", got, test.kept)
			}
			if got := status(t, result, test.kept); got.Reason != faultlinev1.ReasonLastControlPlaneDomain {
				t.Errorf("reason %q", got.Reason)
			}
			if got := publishedAs(t, result, test.kept).Attributes["reason"]; got != faultlinev1.ReasonLastControlPlaneDomain {
				t.Errorf("published with reason %q", got)
			}
		})
	}
}

// The last domains are removed by a lost label, a typo in a selector or a deletion.
func TestRemovedDomainsStayPublishedWhileNoOtherTakesControlPlanes(t *testing.T) {
	t.Parallel()
	for name, left := range map[string][]distribution.DomainObservation{
		"none is left":                      nil,
		"only one for workers is left":      {forWorkers(good("w"))},
		"only an unhealthy one for workers": {forWorkers(bad("w"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTimeline(t)
			l.at(0, append(slices.Clone(left), allHealthy...)...)
			for _, after := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
				result := l.at(after, left...)
				if got := controlPlanes(result); !slices.Equal(got, []string{"a"}) || result.Kept != "a" {
					t.Fatalf("after %s: for control planes %v, kept %q", after, got, result.Kept)
				}
				for _, name := range []string{"a", "b", "c"} {
					got := status(t, result, name)
					if got.State != cordoned || !got.RemovedSince.Equal(&metav1.Time{Time: start().Add(time.Minute)}) || got.Message == "" {
						t.Errorf("after %s: %+v", after, got)
					}
				}
				if got := status(t, result, "b").Reason; got != faultlinev1.ReasonDomainRemoved {
					t.Errorf("reason %q", got)
				}
				if got := result.Condition(); got.Reason != faultlinev1.ReasonLastControlPlaneDomain || got.Status != metav1.ConditionFalse {
					t.Errorf("condition %+v", got)
				}
				if !result.ControlPlaneNeedsDomain || result.NextCheck != 0 {
					t.Errorf("after %s: needs a domain: %t, next check in %s", after, result.ControlPlaneNeedsDomain, result.NextCheck)
				}
			}

			result := l.at(25*time.Hour, append(slices.Clone(left), good("b"), bad("c"))...)
			if got := controlPlanes(result); !slices.Equal(got, []string{"b", "c"}) {
				t.Errorf("when two are back: %v, and the third does not belong to the cluster", got)
			}
			if got := status(t, result, "b"); !got.RemovedSince.IsZero() || got.State != active {
				t.Errorf("when it is back: %+v", got)
			}
		})
	}
}

// The last domain for control planes is cordoned for its health and then removed.
func TestKeptDomainThatIsRemovedStays(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("a", "Cordoned", "b", "Evicting")
	l.at(time.Minute, good("a"), good("b"))
	result := l.at(2*time.Minute, good("b"))
	if got := controlPlanes(result); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("for control planes %v", got)
	}
	result = l.at(3 * time.Minute)
	if got := controlPlanes(result); !slices.Equal(got, []string{"b"}) || len(result.Domains) != 1 || status(t, result, "b").State != faultlinev1.DomainEvicting {
		t.Fatalf("for control planes %v, domains %+v", got, result.Domains)
	}
}

func TestControlPlaneNeedsNoDomainWithoutAnyMeantForIt(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	if result := l.at(0); result.ControlPlaneNeedsDomain {
		t.Error("without domains")
	}
	if result := l.at(0, forWorkers(good("w"))); result.ControlPlaneNeedsDomain {
		t.Error("with a domain for workers")
	}
	if result := l.at(0, forWorkers(good("w")), unknown("a")); !result.ControlPlaneNeedsDomain {
		t.Error("with a domain for control planes that has not been looked at yet")
	}
}

func TestDomainInDeletionReceivesNothing(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	deleted := good("b")
	deleted.Deleting = true
	result := l.at(time.Minute, good("a"), deleted)
	if got := status(t, result, "b"); got.State != cordoned || got.Reason != faultlinev1.ReasonDomainDeleting || got.Message == "" {
		t.Errorf("%+v", got)
	}
	if got := controlPlanes(result); !slices.Equal(got, []string{"a"}) {
		t.Errorf("for control planes %v", got)
	}
	if got := result.Condition(); got.Status != metav1.ConditionTrue {
		t.Errorf("the user requests it: %+v", got)
	}
	l.spec = wants("a", "Evicting")
	if got := l.at(2*time.Minute, good("a"), deleted); got.Kept != "a" {
		t.Errorf("kept %q, which will soon be gone", got.Kept)
	}
	l.spec = wants("b", "Evicting")
	if got := status(t, l.at(3*time.Minute, good("a"), deleted), "b"); got.State != faultlinev1.DomainEvicting {
		t.Errorf("evicting and being deleted: %+v", got)
	}
}

// A kept domain is dropped as soon as another is Active.
func TestKeptDomainIsReleased(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("a", "Cordoned", "b", "Evicting")
	if got := l.at(time.Minute, good("a"), good("b")).Kept; got != "a" {
		t.Fatalf("kept %q", got)
	}
	l.spec = wants("a", "Cordoned")
	result := l.at(2*time.Minute, good("a"), good("b"))
	if got := controlPlanes(result); result.Kept != "" || !slices.Equal(got, []string{"b"}) {
		t.Errorf("kept %q, for control planes %v", result.Kept, got)
	}
}

// Domains published without a status stay published while they are checked for the first time.
func TestAdopt(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	adopted := distribution.Adopt([]clusterv1.FailureDomain{
		{Name: "a", ControlPlane: &yes}, {Name: "b", ControlPlane: &yes}, {Name: "c", ControlPlane: &yes},
		{Name: "w", ControlPlane: &no}, {Name: "x"},
	}, start())
	l := newTimeline(t)
	l.domains = adopted
	worker := distribution.DomainObservation{Name: "w", Health: distribution.Healthy}
	result := l.at(0, unknown("a"), unknown("b"), bad("c"), worker)
	if got := controlPlanes(result); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("for control planes: %v", got)
	}
	result = l.at(grace, good("a"), good("b"), bad("c"), worker)
	if got := controlPlanes(result); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("after the grace period: %v", got)
	}
	if len(adopted) != 3 {
		t.Errorf("adopted %+v, want those for control planes", adopted)
	}
}

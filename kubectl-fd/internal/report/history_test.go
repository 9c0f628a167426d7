// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func at(minutes int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 11, 20, 3, minutes, 0, 0, time.UTC))
}

// event returns an event recorded a few seconds after it happened.
func event(minutes int, reason, note string) eventsv1.Event {
	return eventsv1.Event{EventTime: metav1.NewMicroTime(at(minutes).Add(3 * time.Second)), Reason: reason, Note: note}
}

// one returns a cluster in which a failure domain was cordoned at minute 1, a control-plane machine was moved from 2 to 3, and a
// worker's move was aborted at 5.
func one() report.Cluster {
	move := func(machine string, phase faultlinev1.MovePhase, started, finished int) *faultlinev1.MachineMove {
		return &faultlinev1.MachineMove{
			PlannedMove: faultlinev1.PlannedMove{Machine: machine, From: "a", To: "b"}, Phase: phase, Started: at(started), Finished: at(finished),
		}
	}
	c := report.Cluster{Domains: []report.Domain{{Name: "a", Listed: true, State: faultlinev1.DomainCordoned, Since: at(1)}}}
	c.ControlPlane.LastMove = move("cp", faultlinev1.MoveCompleted, 2, 3)
	c.Workers = []faultlinev1.WorkersDistributionStatus{{Name: "md", LastMove: move("w", faultlinev1.MoveAborted, 4, 5)}}
	return c
}

func reasons(entries []report.Entry) []string {
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Reason)
	}
	return all
}

func TestHistoryOmitsDuplicateEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	remembered := []string{"DomainCordoned", "MoveStarted", "MoveCompleted", "MoveStarted", "MoveAborted"}
	g.Expect(reasons(report.History(one(), nil))).To(Equal(remembered))
	g.Expect(reasons(report.History(one(), []eventsv1.Event{
		event(1, "FailureDomainCordoned", "Failure domain a is Cordoned: 4 hosts, 4 in error: repair one"),
		event(2, "MoveStarted", "Moving Machine cp from a to b"),
		event(3, "MoveCompleted", "Machine cp, from a to b: Completed"),
		event(4, "WorkerMoveStarted", "Machine w of MachineDeployment md is deleted, so that its MachineSet makes one in b instead of a"),
		event(5, "WorkerMoveAborted", "Machine w of MachineDeployment md stays: it is not Ready"),
	}))).To(Equal(remembered))
}

func TestHistoryShowsOtherEvents(t *testing.T) {
	t.Parallel()
	for scenario, other := range map[string]eventsv1.Event{
		"of another failure domain": event(1, "FailureDomainCordoned", "Failure domain a-2 is Cordoned: all hosts of rack a-3 are in error"),
		"of another state":          event(1, "FailureDomainActive", "Failure domain a is Active"),
		"of an earlier time":        event(-5, "FailureDomainCordoned", "Failure domain a is Cordoned: cordoned by spec.distribution"),
		"of another machine":        event(2, "MoveStarted", "Moving Machine cp-2 from a to b"),
		"several times": {EventTime: metav1.NewMicroTime(at(0).Time), Reason: "FailureDomainCordoned", Note: "Failure domain a is Cordoned",
			Series: &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(1).Time)}},
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(report.History(one(), []eventsv1.Event{other})).To(HaveLen(6))
		})
	}
}

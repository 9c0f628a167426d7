// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/spread"
)

// recording returns a reconciler whose events are stored like those of every controller.
func (w *fixture) recording() *spread.Reconciler {
	w.t.Helper()
	r := w.reconciler(api)
	integration.Start(w.t, apiServer, nil, ctrl.Options{Scheme: scheme}, func(_ context.Context, mgr ctrl.Manager) error {
		r.Recorder = manager.Recorder(mgr, "spread")
		return nil
	})
	return r
}

// eventNotes returns the notes of all stored events with a reason.
func (w *fixture) eventNotes(reason string) func() []string {
	return func() []string {
		list, notes := &eventsv1.EventList{}, []string(nil)
		w.Expect(api.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].Reason == reason {
				notes = append(notes, list.Items[i].Note)
			}
		}
		return notes
	}
}

func TestLongEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.domains("a!Cordoned")
	for i := range 7 {
		w.deployment(fmt.Sprintf("md-%d", i))
		w.scale(fmt.Sprintf("md-%d", i), 1)
	}
	w.reconcile(w.recording())
	w.Expect(len(w.balanced().Message)).To(BeNumerically(">", 1024))
	w.Eventually(w.eventNotes(faultlinev1.ReasonWorkersWaiting)).Should(ConsistOf(And(
		HavePrefix("MachineDeployment md-0: 1 machines wait for a failure domain"), HaveSuffix("... (the rest is in the status)"),
	)))
}

func TestEventsOfTwoMachineDeployments(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleteOne())
	w.deployment("other")
	w.domains("a b")
	w.scale("md", 6)
	w.scale("other", 6)
	r := w.recording()
	w.reconcile(r)
	w.exist()
	w.domains("a b c")
	w.reconcile(r)
	for _, reason := range []string{"WorkersAssigned", "WorkerMoveStarted"} {
		w.Eventually(w.eventNotes(reason)).Should(ConsistOf(ContainSubstring("MachineDeployment md"), ContainSubstring("MachineDeployment other")), reason)
	}
}

func TestNotBalancedEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.domains("a b")
	w.scale("md", 6)
	r := w.recording()
	w.reconcile(r)
	w.exist()
	w.domains("a b c")
	w.reconcile(r)
	w.reconcile(r)
	w.Eventually(w.eventNotes(faultlinev1.ReasonNotBalanced)).Should(ConsistOf(ContainSubstring("to be moved: Machine md-0001 from a to c")))
}

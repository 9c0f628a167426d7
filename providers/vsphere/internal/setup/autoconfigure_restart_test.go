// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// waitForPendingRecord waits until an item is recorded as pending.
func (w *fixture) waitForPendingRecord(zone *infrav1.VSphereDeploymentZone, kind infrav1.ConfiguredKind) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.get(zone)
		var kinds []infrav1.ConfiguredKind
		for _, object := range zone.Status.Configured {
			if object.State == infrav1.ConfiguredPending {
				kinds = append(kinds, object.Kind)
			}
		}
		g.Expect(kinds).To(ContainElement(kind))
	}).Should(Succeed())
}

// The manager dies after it has recorded what it is about to create: before, during and after the call to vCenter. In each case
// the item is created once, belongs to the zone, and is deleted with it.
func TestRestartWhileAZoneIsBeingConfigured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, meanwhile func(*simulator.Server) }{
		"before the call to vCenter": {
			func(s *simulator.Server) {
				s.RefuseCalls("ReconfigureComputeResource_Task", -1, missing("Host.Inventory.EditCluster"))
			},
			func(s *simulator.Server) { s.RefuseCalls("ReconfigureComputeResource_Task", 0, nil) },
		},
		"while vCenter is at it": {
			func(s *simulator.Server) { s.HoldTasks("ReconfigureComputeResource_Task") },
			func(s *simulator.Server) { s.ReleaseTasks("ReconfigureComputeResource_Task") },
		},
		"when vCenter has failed": {
			func(s *simulator.Server) { s.FailTasks("ReconfigureComputeResource_Task", -1, "it is busy") },
			func(s *simulator.Server) { s.FailTasks("ReconfigureComputeResource_Task", 0, "") },
		},
		"before tags are made": {
			func(s *simulator.Server) { s.AllowTagging(false, "CreateCategory") },
			func(s *simulator.Server) { s.AllowTagging(true, "CreateCategory") },
		},
		"when some tags are attached": {
			func(s *simulator.Server) { s.RefuseAttaching(2) },
			func(s *simulator.Server) { s.RefuseAttaching(0) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts())
			tc.before(w.vc)
			zone := w.autoRack("a", named("a"))
			w.waitForPendingRecord(zone, infrav1.ConfiguredHostGroup)
			w.stop()
			tc.meanwhile(w.vc)
			w.Eventually(w.vc.RunningTasks).Should(BeEmpty())
			w.start()
			w.waitForConfigured(zone)
			w.Expect(w.configuration()).To(ConsistOf(racked("a")))
			w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
			w.waitForDeletion(zone)
			w.Expect(w.configuration()).To(BeEmpty())
		})
	}
}

func TestRestartWhileZoneIsBeingReleased(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, meanwhile func(*simulator.Server) }{
		"while vCenter is at it": {
			func(s *simulator.Server) { s.HoldTasks("ReconfigureComputeResource_Task") },
			func(s *simulator.Server) { s.ReleaseTasks("ReconfigureComputeResource_Task") },
		},
		"when tags cannot be deleted": {
			func(s *simulator.Server) { s.AllowTagging(false, "DeleteTag") },
			func(s *simulator.Server) { s.AllowTagging(true, "DeleteTag") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts())
			zone := w.autoRack("a", named("a"))
			w.waitForConfigured(zone)
			tc.before(w.vc)
			calls := w.vc.Calls()
			w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
			w.Eventually(w.vc.Calls).ShouldNot(Equal(calls))
			w.stop()
			tc.meanwhile(w.vc)
			w.Eventually(w.vc.RunningTasks).Should(BeEmpty())
			w.start()
			w.waitForDeletion(zone)
			w.Expect(w.configuration()).To(BeEmpty())
		})
	}
}

// A call without a response may have been executed: what it created is found, and belongs to the zone.
func TestLostResponsesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"ReconfigureComputeResource_Task", "REST POST /rest/com/vmware/cis/tagging/category", "REST POST /rest/com/vmware/cis/tagging/tag",
		"REST POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts())
			w.vc.LoseAnswers(call, 1)
			zone := w.autoRack("a", named("a"))
			w.waitForConfigured(zone)
			w.Expect(w.vc.Calls()[call]).To(BeNumerically(">", 0))
			w.Expect(w.configuration()).To(ConsistOf(racked("a")))
			w.vc.LoseAnswers("ReconfigureComputeResource_Task", 1)
			w.vc.LoseAnswers("REST DELETE /rest/com/vmware/cis/tagging/tag/{id}", 1)
			w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
			w.waitForDeletion(zone)
			w.Expect(w.configuration()).To(BeEmpty())
		})
	}
}

func TestIdleConfiguredZoneMakesNoCalls(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a", named("a"))
	w.waitForConfigured(zone)
	calls := func() map[string]int {
		calls := w.vc.Calls()
		delete(calls, "WaitForUpdatesEx")
		return calls
	}
	w.Eventually(func() map[string]int {
		since := calls()
		w.vc.ResetCalls()
		return since
	}).WithPolling(30 * integration.PollInterval).Should(BeEmpty())
	w.Consistently(calls, "3s", "100ms").Should(BeEmpty())
}

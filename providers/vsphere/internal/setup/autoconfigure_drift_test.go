// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// driftCases returns changes by another client to what was created, and the resulting condition message.
func driftCases() map[string]struct {
	do   func(*simulator.Server) error
	want string
} {
	return map[string]struct {
		do   func(*simulator.Server) error
		want string
	}{
		"disables the rule": {func(s *simulator.Server) error { return s.DisableRule("cluster-1", "rack-a-vms-rule", true) },
			`VM/host rule "rack-a-vms-rule": it is disabled`},
		"has the rule give way": {func(s *simulator.Server) error { return s.SetMandatory("cluster-1", "rack-a-vms-rule", false) },
			`VM/host rule "rack-a-vms-rule": it is not mandatory`},
		"gives the rule another group": {func(s *simulator.Server) error {
			if err := s.SetHostGroup("cluster-1", "others", "host-c-1"); err != nil {
				return err
			}
			return s.SetRuleGroups("cluster-1", "rack-a-vms-rule", "rack-a-vms", "others")
		}, `VM/host rule "rack-a-vms-rule": it applies to VM group "rack-a-vms" and host group "others"`},
		"deletes the rule": {func(s *simulator.Server) error { return s.RemoveRule("cluster-1", "rack-a-vms-rule") },
			`VM/host rule "rack-a-vms-rule": it was removed`},
		"deletes the VM group": {func(s *simulator.Server) error { return s.RemoveGroup("cluster-1", "rack-a-vms") },
			`VM group "rack-a-vms": it was removed`},
		"deletes the host group": {func(s *simulator.Server) error { return s.RemoveGroup("cluster-1", "rack-a-hosts") },
			`host group "rack-a-hosts": it was removed`},
		"adds a host": {func(s *simulator.Server) error {
			return s.SetHostGroup("cluster-1", "rack-a-hosts", "host-a-1", "host-a-2", "host-b-1")
		}, `host group "rack-a-hosts": it has the hosts host-a-1, host-a-2, host-b-1 instead of host-a-1, host-a-2`},
	}
}

func TestDriftIsReportedAndRepaired(t *testing.T) {
	t.Parallel()
	for name, tc := range driftCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts())
			zone := w.autoRack("a", named("a"))
			w.waitForConfigured(zone)
			calls := w.vc.Calls()["ReconfigureComputeResource_Task"]
			w.Expect(tc.do(w.vc)).To(Succeed())
			w.Expect(w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfigurationDriftedReason)).To(And(
				ContainSubstring(tc.want), ContainSubstring("revert the change, or set drift of VSphereFailureDomain "+zone.Name+" to Repair")))
			w.waitForZoneEvent(zone, infrav1.VSphereDeploymentZoneConfigurationDriftedReason)
			w.Expect(w.vc.Calls()["ReconfigureComputeResource_Task"]).To(Equal(calls), "nothing is touched")
			update(w, &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}, repairing)
			w.waitForConfigured(zone)
			for _, line := range racked("a") {
				w.Expect(w.configuration()).To(ContainElement(line))
			}
		})
	}
}

func TestDetachedTagIsReportedAndRepaired(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options []simulator.Option
		look    func(*fixture)
	}{
		"at once": {nil, func(*fixture) {}},
		"when the zone is looked at, where vCenter does not report tag events": {
			[]simulator.Option{simulator.WithSilentTags()},
			func(w *fixture) {
				w.stop()
				w.start()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts(), tc.options...)
			zone := w.autoRack("a", named("a"))
			w.waitForConfigured(zone)
			w.Expect(w.vc.DetachTag("k8s-zone/zone-a", onCluster+"/host-a-1")).To(Succeed())
			tc.look(w)
			w.Expect(w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfigurationDriftedReason)).To(ContainSubstring("on host-a-1: it was removed"))
			update(w, &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}, repairing)
			w.waitForConfigured(zone)
			w.Expect(w.configuration()).To(ConsistOf(racked("a")))
		})
	}
}

// A request that is still pending, or is repeated, would revert what another client does after it has seen that the zone is configured.
func TestZoneIsNotConfiguredWhileARequestForItIsPending(t *testing.T) {
	t.Parallel()
	const attach = "REST POST /rest/com/vmware/cis/tagging/tag-association/{id}?~action=attach"
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a", named("a"), repairing)
	w.waitForConfigured(zone)
	before := w.vc.Calls()[attach]
	w.vc.HoldCalls(attach, true)
	w.Expect(w.vc.DetachTag("k8s-zone/zone-a", onCluster+"/host-a-1")).To(Succeed())
	w.Eventually(func() int { return w.vc.Calls()[attach] }).Should(BeNumerically(">", before))
	w.Expect(w.vc.AttachTag("k8s-zone/zone-a", onCluster+"/host-a-1")).To(Succeed())
	w.Expect(w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfiguringReason)).NotTo(BeEmpty())
	w.Consistently(func() string {
		w.get(zone)
		return conditions.GetReason(zone, infrav1.VSphereDeploymentZoneAutoConfiguredCondition)
	}, "2s").Should(Equal(infrav1.VSphereDeploymentZoneConfiguringReason))
	w.vc.HoldCalls(attach, false)
	w.waitForConfigured(zone)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// rack creates the zone of a rack of simulator.HostGroups.
func (w *fixture) rack(letter string, rule infrav1.HostGroupRule) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	return w.zone(letter, infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore, Networks: []string{simulator.NetworkName},
		Hosts: infrav1.FailureDomainHosts{VMGroupName: "rack-" + letter + "-vms", HostGroupName: "rack-" + letter + "-hosts", Rule: rule},
	}, nil)
}

// waitForHost waits until the virtual machine is on one of the hosts.
func (w *fixture) waitForHost(vm string, hosts ...string) {
	w.t.Helper()
	w.Eventually(func() string { return w.vms()[vm].Host }).Should(BeElementOf(hosts))
}

// waitForEvent waits for an event about the object.
func (w *fixture) waitForEvent(o client.Object, reason string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		events := &corev1.EventList{}
		g.Expect(w.client.List(w.t.Context(), events, client.InNamespace(w.name))).To(Succeed())
		g.Expect(slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == reason && e.InvolvedObject.Name == o.GetName()
		})).To(BeTrue())
	}).Should(Succeed())
}

// Without DRS to place machines and enforce the rules, vCenter starts a machine on the host to which it was cloned, which can
// be any host.
func TestMachineIsPlacedOnHostGroupWithoutDRS(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{simulator.DRSOff, "manual", "partiallyAutomated"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, simulator.HostGroups())
			w.Expect(w.vc.SetDRS("cluster-1", mode)).To(Succeed())
			w.cluster("one")
			zone := w.rack("b", "")
			message := w.waitForCondition(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition, infrav1.VSphereDeploymentZonePlacedExplicitlyReason)
			w.Expect(message).To(ContainSubstring("DRS of compute cluster cluster-1"))
			w.Expect(zone.Status.Ready).To(HaveValue(BeTrue()))
			for _, name := range []string{"cp-0", "cp-1", "cp-2"} {
				w.waitForProvisioned(w.machine("one", name, zone.Name))
				w.waitForHost(name, "host-b-1", "host-b-2")
			}
			vm := w.vsphereVM("cp-0")
			w.waitForCondition(vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMInFailureDomainReason)
		})
	}
}

func TestZoneWithShouldRuleIsNotReadyUnlessRequested(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.Expect(w.vc.SetMandatory("cluster-1", "rack-b", false)).To(Succeed())
	w.cluster("one")
	zone := w.rack("b", "")
	message := w.waitForCondition(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition, "HostsMisconfigured")
	w.Expect(message).To(And(ContainSubstring(`rule "rack-b"`), ContainSubstring("not mandatory"), ContainSubstring("topology.hosts.rule")))
	w.Expect(zone.Status.Ready).To(HaveValue(BeFalse()))

	update(w, &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}, func(d *infrav1.VSphereFailureDomain) {
		d.Spec.Topology.Hosts.Rule = infrav1.ShouldRule
	})
	message = w.waitForCondition(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition, infrav1.VSphereDeploymentZonePlacedExplicitlyReason)
	w.Expect(message).To(ContainSubstring(`rule "rack-b"`))
	w.waitForProvisioned(w.machine("one", "cp-0", zone.Name))
	w.waitForHost("cp-0", "host-b-1", "host-b-2")
}

// DRS violates the rule if the hosts of the group are full. The machine runs, and must not be counted in its zone.
func TestMachineOutsideHostGroupIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.Expect(w.vc.SetMandatory("cluster-1", "rack-b", false)).To(Succeed())
	w.Expect(w.vc.SetFull("cluster-1", true, "host-b-1", "host-b-2", "host-c-1", "host-c-2")).To(Succeed())
	cluster := w.cluster("one")
	a, b := w.rack("a", ""), w.rack("b", infrav1.ShouldRule)
	w.waitForPublished(cluster, a.Name, b.Name)
	machine := w.machine("one", "cp-0", b.Name)
	w.waitForProvisioned(machine)
	w.waitForHost("cp-0", "host-a-1", "host-a-2")
	vm := w.vsphereVM("cp-0")
	message := w.waitForCondition(vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMOutsideFailureDomainReason)
	w.Expect(message).To(And(ContainSubstring("host-a-"), ContainSubstring("rack-b-hosts"), ContainSubstring(b.Name)))
	w.waitForEvent(vm, infrav1.VSphereVMOutsideFailureDomainReason)
	w.Eventually(func() *string { return w.get(machine).(*infrav1.VSphereMachine).Status.FailureDomain }).Should(HaveValue(Equal(a.Name)))
	w.Expect(ptr.Deref(vm.Status.Ready, false)).To(BeTrue(), "it runs")

	w.Expect(w.vc.MoveVMToHost("cp-0", "host-b-1")).To(Succeed())
	w.waitForCondition(vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMInFailureDomainReason)
	w.Eventually(func() *string { return w.get(machine).(*infrav1.VSphereMachine).Status.FailureDomain }).Should(HaveValue(Equal(b.Name)))
}

// Once it runs outside of its failure domain, this cannot be corrected.
func TestMachineIsNotPoweredOnOutsideItsHostGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.cluster("one")
	w.waitForProvisioned(w.machine("one", "cp-0", w.rack("b", "").Name))
	w.Expect(w.vc.SetDRS("cluster-1", simulator.DRSOff)).To(Succeed())
	w.Expect(w.vc.MoveVMToHost("cp-0", "host-a-1")).To(Succeed())
	vm := w.vsphereVM("cp-0")
	w.waitForCondition(vm, infrav1.VSphereVMInFailureDomainCondition, infrav1.VSphereVMOutsideFailureDomainReason)
	w.Expect(w.vc.PowerOffVM("cp-0")).To(Succeed())
	message := w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineOutsideHostGroupReason)
	w.Expect(message).To(And(ContainSubstring("host-a-1"), ContainSubstring("rack-b-hosts")))
	w.Expect(w.vc.MoveVMToHost("cp-0", "host-b-2")).To(Succeed())
	w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	w.waitForHost("cp-0", "host-b-2")
}

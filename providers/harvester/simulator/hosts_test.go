// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// onlyOn requires a host.
func onlyOn(host string) func(*kubevirtv1.VirtualMachine) {
	return func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: host}
	}
}

// after undoes what is done to a host.
func (s *site) after(undo func(context.Context, string) error, host string) {
	s.t.Cleanup(func() { s.Expect(undo(context.WithoutCancel(s.t.Context()), host)).To(Succeed()) })
}

func (s *site) runs(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	s.reaches(name, kubevirtv1.VirtualMachineStatusRunning)
	return s.instance(name)
}

func (s *site) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

func TestNothingStartsOnACordonedHost(t *testing.T) {
	s := newSite(t)
	s.after(sim.Uncordon, "zone-1-host-1")
	s.Expect(sim.Cordon(t.Context(), "zone-1-host-1")).To(Succeed())
	s.create("vm", onlyOn("zone-1-host-1"))
	s.reaches("vm", kubevirtv1.VirtualMachineStatusUnschedulable)
	s.Expect(sim.Uncordon(t.Context(), "zone-1-host-1")).To(Succeed())
	s.Expect(s.runs("vm").Status.NodeName).To(Equal("zone-1-host-1"))
}

func TestVirtualMachineOfALostHostStartsOnAnotherOfItsZone(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-2"))
	before := s.runs("vm")
	s.after(sim.Return, before.Status.NodeName)
	s.Expect(sim.Lose(t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() string {
		vmi := &kubevirtv1.VirtualMachineInstance{}
		if err := s.client.Get(t.Context(), s.key("vm"), vmi); err != nil || vmi.UID == before.UID {
			return ""
		}
		return vmi.Status.NodeName
	}).Should(And(HavePrefix("zone-2-"), Not(Equal(before.Status.NodeName))))
	after := s.runs("vm")
	s.Expect(after.Status.Interfaces[0].MAC).To(Equal(before.Status.Interfaces[0].MAC))
	s.Expect(after.Status.Interfaces[0].IP).To(Equal(before.Status.Interfaces[0].IP), "the lease is for the MAC address")
}

func TestVirtualMachineOfALostZoneIsNowhereUntilTheZoneReturns(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-3"))
	s.runs("vm")
	s.t.Cleanup(func() {
		s.Expect(sim.SetFault(context.WithoutCancel(t.Context()), "lost-zone", false, "zone-3")).To(Succeed())
	})
	s.Expect(sim.SetFault(t.Context(), "lost-zone", true, "zone-3")).To(Succeed())
	s.Expect(s.reaches("vm", kubevirtv1.VirtualMachineStatusUnschedulable).Status.Ready).To(BeFalse())
	s.Expect(sim.SetFault(t.Context(), "lost-zone", false, "zone-3")).To(Succeed())
	s.runs("vm")
	s.Expect(s.zone("vm")).To(Equal("zone-3"))
}

func TestVirtualMachineMigratesAndKeepsItsInstanceAndItsAddress(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-1", "zone-2"))
	before := s.runs("vm")
	to := "zone-2-host-1"
	if before.Status.NodeName == to {
		to = "zone-1-host-2"
	}
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), to)).To(Succeed())
	after := s.runs("vm")
	s.Expect(after.UID).To(Equal(before.UID))
	s.Expect(after.Status.NodeName).To(Equal(to))
	s.Expect(after.Labels).To(HaveKeyWithValue(kubevirtv1.NodeNameLabel, to))
	s.Expect(after.Status.Interfaces).To(Equal(before.Status.Interfaces))
	s.Eventually(func() ([]corev1.Pod, error) {
		left := &corev1.PodList{}
		err := s.client.List(t.Context(), left, client.InNamespace(s.namespace))
		return left.Items, err
	}).Should(ConsistOf(HaveField("Spec.NodeName", to)))
}

func TestVirtualMachineDoesNotMigrateOutOfTheZoneThatItRequires(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-1"))
	before := s.runs("vm")
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), "zone-2-host-1")).To(MatchError(ContainSubstring("affinity")))
	s.Expect(s.runs("vm").Status.NodeName).To(Equal(before.Status.NodeName))
	s.Expect(s.instance("vm").Status.MigrationState.Failed).To(BeTrue())
}

func TestDrainMovesWhatAnotherHostSuitsAndShutsDownTheRest(t *testing.T) {
	s := newSite(t)
	const host = "zone-1-host-1"
	s.after(sim.Uncordon, host)
	s.create("pinned", onlyOn(host))
	s.create("free", inZone("zone-1"))
	s.runs("pinned")
	if s.runs("free").Status.NodeName != host {
		s.Expect(sim.Migrate(t.Context(), s.key("free"), host)).To(Succeed())
	}
	s.Expect(sim.Drain(t.Context(), host)).To(Succeed())
	s.reaches("pinned", kubevirtv1.VirtualMachineStatusStopped)
	s.Expect(s.runs("free").Status.NodeName).To(Equal("zone-1-host-2"))

	s.Expect(sim.Uncordon(t.Context(), host)).To(Succeed())
	s.Expect(s.runs("pinned").Status.NodeName).To(Equal(host))
}

func TestWitnessTakesNoVirtualMachineAndAHostnameMayDifferFromTheName(t *testing.T) {
	s := newSite(t)
	s.after(sim.RemoveHost, "arbiter")
	s.Expect(sim.AddHost(t.Context(), simulator.Host{Name: "arbiter", Witness: true})).To(Succeed())
	s.create("on-witness", onlyOn("arbiter"))
	s.reaches("on-witness", kubevirtv1.VirtualMachineStatusUnschedulable)

	s.after(sim.RemoveHost, "late")
	s.Expect(sim.AddHost(t.Context(), simulator.Host{Name: "late", Hostname: "late.example.com"})).To(Succeed())
	s.create("on-late", onlyOn("late.example.com"))
	s.Expect(s.runs("on-late").Status.NodeName).To(Equal("late"))
	s.Expect(s.client.DeleteAllOf(t.Context(), &kubevirtv1.VirtualMachine{}, client.InNamespace(s.namespace))).To(Succeed())
}

func TestInstanceIsToldTheLabelsOfItsHostForOneCreatorOnly(t *testing.T) {
	s := newSite(t)
	for name, creator := range map[string]string{"driver": "docker-machine-driver-harvester", "other": "harvester"} {
		s.create(name, inZone("zone-1"), func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.ObjectMeta.Labels["harvesterhci.io/creator"] = creator
		})
	}
	s.Expect(s.runs("driver").Annotations).To(HaveKeyWithValue(corev1.LabelTopologyZone, "zone-1"))
	s.Expect(s.runs("other").Annotations).NotTo(HaveKey(corev1.LabelTopologyZone))
}

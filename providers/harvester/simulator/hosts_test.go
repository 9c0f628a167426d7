// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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

// restoreOnCleanup calls undo for a host when the test ends.
func (s *fixture) restoreOnCleanup(undo func(context.Context, string) error, host string) {
	s.t.Cleanup(func() { s.Expect(undo(context.WithoutCancel(s.t.Context()), host)).To(Succeed()) })
}

func (s *fixture) waitForRunning(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	s.waitForStatus(name, kubevirtv1.VirtualMachineStatusRunning)
	return s.instance(name)
}

// waitForAddress waits for a virtual machine to run and for its guest to report its addresses.
func (s *fixture) waitForAddress(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	s.waitForRunning(name)
	s.Eventually(func() []kubevirtv1.VirtualMachineInstanceNetworkInterface { return s.instance(name).Status.Interfaces }).
		Should(ContainElement(HaveField("IP", Not(BeEmpty()))))
	return s.instance(name)
}

func (s *fixture) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

func TestCordon(t *testing.T) {
	s := newFixture(t)
	s.restoreOnCleanup(sim.Uncordon, "zone-1-host-1")
	s.Expect(sim.Cordon(t.Context(), "zone-1-host-1")).To(Succeed())
	s.create("vm", onlyOn("zone-1-host-1"))
	s.unschedulable("vm")
	s.Expect(sim.Uncordon(t.Context(), "zone-1-host-1")).To(Succeed())
	s.Expect(s.waitForRunning("vm").Status.NodeName).To(Equal("zone-1-host-1"))
}

// cutPower cuts the power of the host of a virtual machine until the test ends, and waits until that is visible. It returns the
// instance as it was before.
func (s *fixture) cutPower(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	before := s.waitForRunning(name)
	s.restoreOnCleanup(sim.PowerOnHost, before.Status.NodeName)
	s.Expect(sim.PowerOffHost(s.t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() kubevirtv1.VirtualMachineInstanceCondition { return s.readyCondition(name) }).
		Should(And(HaveField("Status", corev1.ConditionFalse), HaveField("Reason", BeEmpty()), HaveField("Message", BeEmpty())))
	return before
}

func (s *fixture) readyCondition(name string) kubevirtv1.VirtualMachineInstanceCondition {
	for _, condition := range s.instance(name).Status.Conditions {
		if condition.Type == kubevirtv1.VirtualMachineInstanceReady {
			return condition
		}
	}
	return kubevirtv1.VirtualMachineInstanceCondition{}
}

func TestVirtualMachineOfLostHostStaysRunning(t *testing.T) {
	s := newFixture(t)
	s.create("vm", inZone("zone-2"))
	before := s.cutPower("vm")
	s.Consistently(func(g Gomega) {
		g.Expect(s.vm("vm").Status.PrintableStatus).To(Equal(kubevirtv1.VirtualMachineStatusRunning))
		vmi := s.instance("vm")
		g.Expect(vmi.UID).To(Equal(before.UID))
		g.Expect(vmi.Status.Phase).To(Equal(kubevirtv1.Running))
	}, "500ms").Should(Succeed())
	s.Expect(s.vm("vm").Status.Ready).To(BeFalse())
}

func TestVirtualMachineRestartsWhenItsHostReturns(t *testing.T) {
	s := newFixture(t)
	s.create("vm", onlyOn("zone-2-host-1"))
	before := s.cutPower("vm")
	s.Expect(sim.PowerOnHost(t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() types.UID { return s.instanceUID("vm") }).Should(And(Not(BeEmpty()), Not(Equal(before.UID))))
	s.Expect(s.waitForRunning("vm").Status.NodeName).To(Equal(before.Status.NodeName))
}

// instanceUID returns the UID of the instance; "" if it does not exist.
func (s *fixture) instanceUID(name string) types.UID {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.client.Get(s.t.Context(), s.key(name), vmi); err != nil {
		return ""
	}
	return vmi.UID
}

func TestDeletedVirtualMachineOfLostHost(t *testing.T) {
	for name, end := range map[string]func(s *fixture, host string){
		"its Pod is deleted by force": func(s *fixture, _ string) {
			s.Expect(s.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0))).To(Succeed())
		},
		"its host is put out of service": func(s *fixture, host string) { s.Expect(sim.PutOutOfService(t.Context(), host)).To(Succeed()) },
		"its host is back":               func(s *fixture, host string) { s.Expect(sim.PowerOnHost(t.Context(), host)).To(Succeed()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			vm := s.create("vm", inZone("zone-2"))
			host := s.cutPower("vm").Status.NodeName
			s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
			s.Consistently(func(g Gomega) {
				g.Expect(s.instance("vm").Status.Phase).To(Equal(kubevirtv1.Running))
				pods := &corev1.PodList{}
				g.Expect(s.client.List(t.Context(), pods, client.InNamespace(s.namespace))).To(Succeed())
				g.Expect(pods.Items).To(HaveLen(1))
			}, "500ms").Should(Succeed())
			s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusTerminating)
			end(s, host)
			s.Eventually(func() error { return s.client.Get(t.Context(), s.key("vm"), vm) }).Should(MatchError(apierrors.IsNotFound, "is deleted"))
		})
	}
}

func TestPutOutOfService(t *testing.T) {
	s := newFixture(t)
	s.create("vm", inZone("zone-2"))
	s.waitForAddress("vm")
	before := s.cutPower("vm")
	s.Expect(sim.PutOutOfService(t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() string {
		vmi := &kubevirtv1.VirtualMachineInstance{}
		if err := s.client.Get(t.Context(), s.key("vm"), vmi); err != nil || vmi.UID == before.UID {
			return ""
		}
		return vmi.Status.NodeName
	}).Should(And(HavePrefix("zone-2-"), Not(Equal(before.Status.NodeName))))
	after := s.waitForAddress("vm")
	s.Expect(after.Status.Interfaces[0].MAC).To(And(Not(BeEmpty()), Equal(before.Status.Interfaces[0].MAC)))
	s.Expect(after.Status.Interfaces[0].IP).To(Equal(before.Status.Interfaces[0].IP), "the lease is for the MAC address")
}

func TestLostZone(t *testing.T) {
	s := newFixture(t)
	s.create("vm", inZone("zone-3"))
	s.waitForRunning("vm")
	s.t.Cleanup(func() {
		s.Expect(sim.SetFault(context.WithoutCancel(t.Context()), "lost-zone", false, "zone-3")).To(Succeed())
	})
	s.Expect(sim.SetFault(t.Context(), "lost-zone", true, "zone-3")).To(Succeed())
	for _, host := range []string{"zone-3-host-1", "zone-3-host-2"} {
		s.Expect(sim.PutOutOfService(t.Context(), host)).To(Succeed())
	}
	s.Expect(s.unschedulable("vm").Status.Ready).To(BeFalse())
	s.Expect(sim.SetFault(t.Context(), "lost-zone", false, "zone-3")).To(Succeed())
	s.waitForRunning("vm")
	s.Expect(s.zone("vm")).To(Equal("zone-3"))
}

func TestMigrate(t *testing.T) {
	sim.NeedsMigration(t)
	s := newFixture(t)
	s.create("vm", inZone("zone-1", "zone-2"))
	before := s.waitForRunning("vm")
	to := "zone-2-host-1"
	if before.Status.NodeName == to {
		to = "zone-1-host-2"
	}
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), to)).To(Succeed())
	after := s.waitForRunning("vm")
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

func TestMigrateHonorsNodeAffinity(t *testing.T) {
	sim.NeedsMigration(t)
	s := newFixture(t)
	s.create("vm", inZone("zone-1"))
	before := s.waitForRunning("vm")
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), "zone-2-host-1")).To(MatchError(ContainSubstring("affinity")))
	s.Expect(s.waitForRunning("vm").Status.NodeName).To(Equal(before.Status.NodeName))
	s.Expect(s.instance("vm").Status.MigrationState.Failed).To(BeTrue())
}

func TestDrainWithFailedMigration(t *testing.T) {
	sim.NeedsMigration(t)
	s := newFixture(t)
	const host = "zone-1-host-1"
	s.restoreOnCleanup(sim.Uncordon, host)
	s.Expect(sim.Label(t.Context(), host, "pair", s.namespace)).To(Succeed())
	s.Expect(sim.Label(t.Context(), "zone-1-host-2", "pair", s.namespace)).To(Succeed())
	apartByHost := func(vm *kubevirtv1.VirtualMachine) {
		apart(vm)
		spec := &vm.Spec.Template.Spec
		spec.NodeSelector = map[string]string{"pair": s.namespace}
		spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = corev1.LabelHostname
	}
	s.create("a", apartByHost)
	s.create("b", apartByHost)
	ran := map[string]*kubevirtv1.VirtualMachineInstance{"a": s.waitForRunning("a"), "b": s.waitForRunning("b")}
	s.Expect(sim.Drain(t.Context(), host)).To(Succeed())
	for name, before := range ran {
		s.waitForStatus(name, kubevirtv1.VirtualMachineStatusRunning) // it is Migrating in between
		after := s.instance(name)
		s.Expect(after.UID).To(Equal(before.UID))
		s.Expect(after.Status.NodeName).To(Equal(before.Status.NodeName))
	}
}

func TestDrain(t *testing.T) {
	sim.NeedsMigration(t)
	s := newFixture(t)
	const host = "zone-1-host-1"
	s.restoreOnCleanup(sim.Uncordon, host)
	s.create("pinned", onlyOn(host))
	s.create("free", inZone("zone-1"))
	s.waitForRunning("pinned")
	if s.waitForRunning("free").Status.NodeName != host {
		s.Expect(sim.Migrate(t.Context(), s.key("free"), host)).To(Succeed())
	}
	s.Expect(sim.Drain(t.Context(), host)).To(Succeed())
	s.waitForStatus("pinned", kubevirtv1.VirtualMachineStatusStopped)
	s.Expect(s.waitForRunning("free").Status.NodeName).To(Equal("zone-1-host-2"))

	s.Expect(sim.Uncordon(t.Context(), host)).To(Succeed())
	s.Expect(s.waitForRunning("pinned").Status.NodeName).To(Equal(host))
}

func TestWitnessAndHostname(t *testing.T) {
	s := newFixture(t)
	s.restoreOnCleanup(sim.RemoveHost, "arbiter")
	s.Expect(sim.AddHost(t.Context(), simulator.Host{Name: "arbiter", Witness: true})).To(Succeed())
	s.create("on-witness", onlyOn("arbiter"))
	s.unschedulable("on-witness")

	s.restoreOnCleanup(sim.RemoveHost, "late")
	s.Expect(sim.AddHost(t.Context(), simulator.Host{Name: "late", Hostname: "late.example.com"})).To(Succeed())
	s.create("on-late", onlyOn("late.example.com"))
	s.Expect(s.waitForRunning("on-late").Status.NodeName).To(Equal("late"))
	s.Expect(s.client.DeleteAllOf(t.Context(), &kubevirtv1.VirtualMachine{}, client.InNamespace(s.namespace))).To(Succeed())
}

func TestHostLabelsOfInstance(t *testing.T) {
	s := newFixture(t)
	for name, creator := range map[string]string{"driver": "docker-machine-driver-harvester", "other": "harvester"} {
		s.create(name, inZone("zone-1"), func(vm *kubevirtv1.VirtualMachine) {
			vm.Spec.Template.ObjectMeta.Labels["harvesterhci.io/creator"] = creator
		})
	}
	s.Expect(s.waitForRunning("driver").Annotations).To(HaveKeyWithValue(corev1.LabelTopologyZone, "zone-1"))
	s.Expect(s.waitForRunning("other").Annotations).NotTo(HaveKey(corev1.LabelTopologyZone))
}

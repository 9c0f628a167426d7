// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

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

// after calls undo for a host when the test ends.
func (s *site) after(undo func(context.Context, string) error, host string) {
	s.t.Cleanup(func() { s.Expect(undo(context.WithoutCancel(s.t.Context()), host)).To(Succeed()) })
}

func (s *site) runs(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	s.reaches(name, kubevirtv1.VirtualMachineStatusRunning)
	return s.instance(name)
}

// answers waits for a virtual machine to run and for its guest to report its addresses.
func (s *site) answers(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	s.runs(name)
	s.Eventually(func() []kubevirtv1.VirtualMachineInstanceNetworkInterface { return s.instance(name).Status.Interfaces }).
		Should(ContainElement(HaveField("IP", Not(BeEmpty()))))
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
	s.unschedulable("vm")
	s.Expect(sim.Uncordon(t.Context(), "zone-1-host-1")).To(Succeed())
	s.Expect(s.runs("vm").Status.NodeName).To(Equal("zone-1-host-1"))
}

// loses cuts the power of the host of a virtual machine until the test ends, and waits until that is visible. It returns the
// instance as it was before.
func (s *site) loses(name string) *kubevirtv1.VirtualMachineInstance {
	s.t.Helper()
	before := s.runs(name)
	s.after(sim.Return, before.Status.NodeName)
	s.Expect(sim.Lose(s.t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() kubevirtv1.VirtualMachineInstanceCondition { return s.readyOf(name) }).
		Should(And(HaveField("Status", corev1.ConditionFalse), HaveField("Reason", BeEmpty()), HaveField("Message", BeEmpty())))
	return before
}

func (s *site) readyOf(name string) kubevirtv1.VirtualMachineInstanceCondition {
	for _, condition := range s.instance(name).Status.Conditions {
		if condition.Type == kubevirtv1.VirtualMachineInstanceReady {
			return condition
		}
	}
	return kubevirtv1.VirtualMachineInstanceCondition{}
}

func TestVirtualMachineOfALostHostIsCalledRunningAsLongAsItIsNotGivenUp(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-2"))
	before := s.loses("vm")
	s.Consistently(func(g Gomega) {
		g.Expect(s.vm("vm").Status.PrintableStatus).To(Equal(kubevirtv1.VirtualMachineStatusRunning))
		vmi := s.instance("vm")
		g.Expect(vmi.UID).To(Equal(before.UID))
		g.Expect(vmi.Status.Phase).To(Equal(kubevirtv1.Running))
	}, "500ms").Should(Succeed())
	s.Expect(s.vm("vm").Status.Ready).To(BeFalse())
}

func TestVirtualMachineOfAHostThatHasItsPowerBackStartsThereAgain(t *testing.T) {
	s := newSite(t)
	s.create("vm", onlyOn("zone-2-host-1"))
	before := s.loses("vm")
	s.Expect(sim.Return(t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() types.UID { return s.instanceUID("vm") }).Should(And(Not(BeEmpty()), Not(Equal(before.UID))))
	s.Expect(s.runs("vm").Status.NodeName).To(Equal(before.Status.NodeName))
}

// instanceUID returns the UID of the instance; "" if it does not exist.
func (s *site) instanceUID(name string) types.UID {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.client.Get(s.t.Context(), s.key(name), vmi); err != nil {
		return ""
	}
	return vmi.UID
}

func TestVirtualMachineThatIsDeletedOnALostHostGoesWhenItsPodIsDeletedByForce(t *testing.T) {
	for name, end := range map[string]func(s *site, host string){
		"its Pod is deleted by force": func(s *site, _ string) {
			s.Expect(s.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0))).To(Succeed())
		},
		"its host is put out of service": func(s *site, host string) { s.Expect(sim.PutOutOfService(t.Context(), host)).To(Succeed()) },
		"its host is back":               func(s *site, host string) { s.Expect(sim.Return(t.Context(), host)).To(Succeed()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			vm := s.create("vm", inZone("zone-2"))
			host := s.loses("vm").Status.NodeName
			s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
			s.Consistently(func(g Gomega) {
				g.Expect(s.instance("vm").Status.Phase).To(Equal(kubevirtv1.Running))
				pods := &corev1.PodList{}
				g.Expect(s.client.List(t.Context(), pods, client.InNamespace(s.namespace))).To(Succeed())
				g.Expect(pods.Items).To(HaveLen(1))
			}, "500ms").Should(Succeed())
			s.reaches("vm", kubevirtv1.VirtualMachineStatusTerminating)
			end(s, host)
			s.Eventually(func() error { return s.client.Get(t.Context(), s.key("vm"), vm) }).Should(MatchError(apierrors.IsNotFound, "is gone"))
		})
	}
}

func TestVirtualMachineOfALostHostStartsOnAnotherOfItsZoneWhenThatIsPutOutOfService(t *testing.T) {
	s := newSite(t)
	s.create("vm", inZone("zone-2"))
	s.answers("vm")
	before := s.loses("vm")
	s.Expect(sim.PutOutOfService(t.Context(), before.Status.NodeName)).To(Succeed())
	s.Eventually(func() string {
		vmi := &kubevirtv1.VirtualMachineInstance{}
		if err := s.client.Get(t.Context(), s.key("vm"), vmi); err != nil || vmi.UID == before.UID {
			return ""
		}
		return vmi.Status.NodeName
	}).Should(And(HavePrefix("zone-2-"), Not(Equal(before.Status.NodeName))))
	after := s.answers("vm")
	s.Expect(after.Status.Interfaces[0].MAC).To(And(Not(BeEmpty()), Equal(before.Status.Interfaces[0].MAC)))
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
	for _, host := range []string{"zone-3-host-1", "zone-3-host-2"} {
		s.Expect(sim.PutOutOfService(t.Context(), host)).To(Succeed())
	}
	s.Expect(s.unschedulable("vm").Status.Ready).To(BeFalse())
	s.Expect(sim.SetFault(t.Context(), "lost-zone", false, "zone-3")).To(Succeed())
	s.runs("vm")
	s.Expect(s.zone("vm")).To(Equal("zone-3"))
}

func TestVirtualMachineMigratesAndKeepsItsInstanceAndItsAddress(t *testing.T) {
	sim.NeedsMigration(t)
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
	sim.NeedsMigration(t)
	s := newSite(t)
	s.create("vm", inZone("zone-1"))
	before := s.runs("vm")
	s.Expect(sim.Migrate(t.Context(), s.key("vm"), "zone-2-host-1")).To(MatchError(ContainSubstring("affinity")))
	s.Expect(s.runs("vm").Status.NodeName).To(Equal(before.Status.NodeName))
	s.Expect(s.instance("vm").Status.MigrationState.Failed).To(BeTrue())
}

func TestDrainLeavesWhatFitsNowhereElseRunningWhereItIs(t *testing.T) {
	sim.NeedsMigration(t)
	s := newSite(t)
	const host = "zone-1-host-1"
	s.after(sim.Uncordon, host)
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
	ran := map[string]*kubevirtv1.VirtualMachineInstance{"a": s.runs("a"), "b": s.runs("b")}
	s.Expect(sim.Drain(t.Context(), host)).To(Succeed())
	for name, before := range ran {
		s.reaches(name, kubevirtv1.VirtualMachineStatusRunning) // it is Migrating in between
		after := s.instance(name)
		s.Expect(after.UID).To(Equal(before.UID))
		s.Expect(after.Status.NodeName).To(Equal(before.Status.NodeName))
	}
}

func TestDrainMovesWhatAnotherHostSuitsAndShutsDownTheRest(t *testing.T) {
	sim.NeedsMigration(t)
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
	s.unschedulable("on-witness")

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

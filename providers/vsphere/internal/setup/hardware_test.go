// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const oldTemplate = "old" // has virtual hardware of an older version than the hosts support

// newFixtureWithOldHardware returns a fixture with a template of hardware version 10, on hosts that support up to 21.
func newFixtureWithOldHardware(t *testing.T) *fixture {
	t.Helper()
	return newFixtureWithTemplates(t, simulator.Template{Name: oldTemplate, HardwareVersion: "vmx-10"})
}

// hardware creates a machine from the old template with a version of virtual hardware.
func hardware(version string) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) { m.Spec.Template, m.Spec.HardwareVersion = oldTemplate, version }
}

func TestHardwareIsUpgradedBeforeTheFirstStartAndNeverDowngraded(t *testing.T) {
	t.Parallel()
	w := newFixtureWithOldHardware(t)
	for name, tc := range map[string]struct{ wanted, gets string }{
		"newer": {"vmx-13", "vmx-13"}, "older": {"vmx-9", "vmx-10"}, "same": {"vmx-10", "vmx-10"}, "none": {"", "vmx-10"},
	} {
		w.waitForProvisioned(w.worker(name, hardware(tc.wanted)))
		w.Expect(w.vms()[name].HardwareVersion).To(Equal(tc.gets), name)
	}
	w.Expect(w.vc.Calls()["UpgradeVM_Task"]).To(Equal(1))
}

func TestUnsupportedHardwareVersionIsReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithOldHardware(t)
	machine := w.worker("node", hardware("vmx-99"))
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineHardwareVersionNotSupportedReason)
	w.Expect(message).To(And(ContainSubstring("spec.hardwareVersion vmx-99"), ContainSubstring("/dc-1/host/zone-a"), ContainSubstring("VSphereMachineTemplate")))
	w.Expect(w.vms()["node"].Power).To(Equal("poweredOff"), "it cannot be upgraded once it runs")
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestRestartInTheMiddleOfAnUpgradeOfTheHardware(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]bool{"recorded": true, "not recorded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixtureWithOldHardware(t)
			w.vc.HoldTasks("UpgradeVM_Task")
			machine := w.worker("node", hardware("vmx-13"))
			vm := w.waitForTask("node", "UpgradeVM_Task")
			w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineUpgradingHardwareReason)
			w.stop()
			w.vc.ReleaseTasks("UpgradeVM_Task")
			if !recorded {
				w.forgetTask(vm)
				w.Eventually(func() string { return w.vms()["node"].HardwareVersion }).Should(Equal("vmx-13"))
			}
			w.start()
			w.waitForProvisioned(machine)
			w.Expect(w.vms()["node"].HardwareVersion).To(Equal("vmx-13"))
			w.Expect(w.vc.Calls()["UpgradeVM_Task"]).To(Equal(1))
		})
	}
}

func TestSettingsOfTheProcessorReachTheClone(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	for name, nested := range map[string]*bool{"nested": ptr.To(true), "plain": ptr.To(false), "unsaid": nil} {
		w.waitForProvisioned(w.worker(name, func(m *infrav1.VSphereMachine) {
			m.Spec.NestedHV, m.Spec.NumCPUs, m.Spec.NumCoresPerSocket = nested, 6, ptr.To[int32](0)
		}))
		w.Expect(w.vms()[name].NestedHV).To(Equal(nested), name)
		w.Expect(w.vms()[name].CoresPerSocket).To(BeZero(), "vSphere chooses")
	}
}

func TestWindowsMachineName(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("one-windows-pool-abc12-xyz34", func(m *infrav1.VSphereMachine) { m.Spec.OS = infrav1.Windows })
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(And(HaveLen(1), HaveKey("one-windo-xyz34")))
	w.Expect(w.vms()["one-windo-xyz34"].ExtraConfig).To(And(HaveKey("guestinfo.metadata"), HaveKey("guestinfo.userdata")))
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// The PCI IDs of a graphics card.
const nvidia, t4 = 0x10de, 0x1eb8

// devices adds host devices to a machine.
func devices(specs ...infrav1.PCIDeviceSpec) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) { m.Spec.PciDevices = specs }
}

func card(label string) infrav1.PCIDeviceSpec {
	return infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](nvidia), DeviceID: ptr.To[int32](t4), CustomLabel: label}
}

func TestPCIDevicesAreAdded(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	plain, labelled := simulator.PCIDevice(nvidia, t4, ""), simulator.PCIDevice(nvidia, t4, "fast")
	w.Expect(w.vc.SetPCIDevices("zone-a", "zone-a-host-2", plain, plain, labelled, "grid_t4-2q")).To(Succeed())
	w.waitForProvisioned(w.worker("node", devices(card(""), card(""), card("fast"), infrav1.PCIDeviceSpec{VGPUProfile: "grid_t4-2q"})))
	made := w.vms()["node"]
	w.Expect(made.PCI).To(ConsistOf(plain, plain, labelled, "grid_t4-2q"))
	w.Expect(made.MemoryLocked).To(BeTrue())
	w.Expect(made.Host).To(Equal("zone-a-host-2"))
	w.waitForProvisioned(w.worker("other"))
	w.Expect(w.vms()["other"].MemoryLocked).To(BeFalse())
}

func TestMachineWaitsForUsedDevice(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.Expect(w.vc.SetPCIDevices("zone-a", "zone-a-host-1", simulator.PCIDevice(nvidia, t4, ""))).To(Succeed())
	first := w.worker("first", devices(card("")))
	w.waitForProvisioned(first)
	second := w.worker("second", devices(card("")))
	message := w.waitForCondition(second, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachinePCIDevicesUnavailableReason)
	w.Expect(message).To(And(ContainSubstring("spec.pciDevices 1 x 10de:1eb8"), ContainSubstring("/dc-1/host/zone-a"), ContainSubstring("VSphereMachineTemplate")))
	w.Expect(w.vms()["first"].Power).To(Equal("poweredOn"))
	w.remove(first)
	w.waitForProvisioned(second)
	w.Expect(w.vms()["second"].PCI).To(HaveLen(1), "each attempt finds the device that an earlier one has added")
}

func TestDeviceIsAddedOnceDespiteLostResponse(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fixture){
		"answer": func(w *fixture) { w.vc.LoseAnswers("ReconfigVM_Task", 1) },
		"record": func(w *fixture) {
			w.Eventually(func() infrav1.TaskOperation { return w.vsphereVM("node").Status.TaskOperation }).Should(Equal(infrav1.AddDevicesOperation))
			w.stop()
			w.forgetTask(w.vsphereVM("node"))
			w.start()
			w.Eventually(func() int { return w.vc.Calls()["ReconfigVM_Task"] }).Should(BeNumerically(">", 1))
			w.vc.ReleaseTasks("ReconfigVM_Task")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixtureWithTemplates(t)
			w.Expect(w.vc.SetPCIDevices("zone-a", "zone-a-host-1", simulator.PCIDevice(nvidia, t4, ""))).To(Succeed())
			if name == "record" {
				w.vc.HoldTasks("ReconfigVM_Task")
			}
			machine := w.worker("node", devices(card("")))
			lose(w)
			w.waitForProvisioned(machine)
			w.Expect(w.vms()["node"].PCI).To(HaveLen(1))
		})
	}
}

func TestLostDeviceIsReportedAndAddedAfterPowerOff(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.Expect(w.vc.SetPCIDevices("zone-a", "zone-a-host-1", simulator.PCIDevice(nvidia, t4, ""))).To(Succeed())
	w.waitForProvisioned(w.worker("node", devices(card(""))))
	w.Expect(w.vc.RemovePCIDevices("node")).To(Succeed())
	vm := w.vsphereVM("node")
	message := w.waitForCondition(vm, infrav1.VSphereVMPCIDevicesDetachedCondition, infrav1.VSphereVMPCIDevicesDetachedNotFoundReason)
	w.Expect(message).To(And(ContainSubstring("1 x 10de:1eb8"), ContainSubstring("power it off")))
	w.Expect(vm.Status.Ready).To(HaveValue(BeTrue()), "it runs")
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.vms()["node"].PCI).To(HaveLen(1))
		g.Expect(w.vms()["node"].Power).To(Equal("poweredOn"))
		g.Expect(conditions.Has(w.get(vm).(*infrav1.VSphereVM), infrav1.VSphereVMPCIDevicesDetachedCondition)).To(BeFalse())
	}).Should(Succeed())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func TestValidateHardware(t *testing.T) {
	device := func(d infrav1.PCIDeviceSpec) func(*infrav1.VirtualMachineCloneSpec) {
		return func(s *infrav1.VirtualMachineCloneSpec) { s.PciDevices = []infrav1.PCIDeviceSpec{d} }
	}
	version := func(v string) func(*infrav1.VirtualMachineCloneSpec) {
		return func(s *infrav1.VirtualMachineCloneSpec) { s.HardwareVersion = v }
	}
	testRules(t, validCloneSpec, validateClone, []ruleCase[infrav1.VirtualMachineCloneSpec]{
		{"a version of hardware", version("vmx-9"), nil},
		{"a later one", version("vmx-21"), nil},
		{"a number alone", version("19"), []string{"spec.hardwareVersion: Invalid value"}},
		{"a version of ESXi", version("8.0"), []string{"spec.hardwareVersion: Invalid value"}},
		{"no version yet", version("vmx-100"), []string{"spec.hardwareVersion: Invalid value"}},
		{"nested virtualization", func(s *infrav1.VirtualMachineCloneSpec) { s.NestedHV = ptr.To(true) }, nil},
		{"no nested virtualization", func(s *infrav1.VirtualMachineCloneSpec) { s.NestedHV = ptr.To(false) }, nil},
		{"a device", device(infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](4318), DeviceID: ptr.To[int32](7864)}), nil},
		{"a device with a label", device(infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](0), DeviceID: ptr.To[int32](0xffff), CustomLabel: "gpu"}), nil},
		{"a share of a graphics card", device(infrav1.PCIDeviceSpec{VGPUProfile: "grid_t4-2q"}), nil},
		{"a device and a share", device(infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](1), DeviceID: ptr.To[int32](1), VGPUProfile: "p"}), []string{"spec.pciDevices[0]: Invalid value"}},
		{"a device without its vendor", device(infrav1.PCIDeviceSpec{DeviceID: ptr.To[int32](1)}), []string{"spec.pciDevices[0]: Invalid value"}},
		{"a vendor and a share", device(infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](1), VGPUProfile: "p"}), []string{"spec.pciDevices[0]: Invalid value"}},
		{"nothing", device(infrav1.PCIDeviceSpec{CustomLabel: "gpu"}), []string{"spec.pciDevices[0]: Invalid value"}},
		{"no PCI number", device(infrav1.PCIDeviceSpec{VendorID: ptr.To[int32](1 << 16), DeviceID: ptr.To[int32](-1)}),
			[]string{"spec.pciDevices[0].vendorId: Invalid value", "spec.pciDevices[0].deviceId: Invalid value"}},
	})
}

func TestVGPULabelWarning(t *testing.T) {
	g := NewWithT(t)
	spec := infrav1.VirtualMachineCloneSpec{PciDevices: []infrav1.PCIDeviceSpec{
		{VendorID: ptr.To[int32](1), DeviceID: ptr.To[int32](1), CustomLabel: "a"}, {VGPUProfile: "p", CustomLabel: "b"},
	}}
	g.Expect(warnClone(spec, field.NewPath("spec"))).To(ConsistOf("spec.pciDevices[1].customLabel: has no effect together with vGPUProfile"))
}

func TestWindowsVMNameLength(t *testing.T) {
	vm := func(name string, os infrav1.OS) *infrav1.VSphereVM {
		spec := infrav1.VSphereVMSpec{VirtualMachineCloneSpec: validCloneSpec()}
		spec.OS = os
		return &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	}
	for _, tc := range []struct {
		name   string
		os     infrav1.OS
		refuse bool
	}{
		{"machine-6789012", infrav1.Windows, false},
		{"machine-67890123", infrav1.Windows, true},
		{"machine-67890123", infrav1.Linux, false},
	} {
		t.Run(tc.name+" "+string(tc.os), func(t *testing.T) {
			g := NewWithT(t)
			errs := validateVMObject(vm(tc.name, tc.os))
			if !tc.refuse {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(errs.ToAggregate()).To(MatchError(And(ContainSubstring("metadata.name"), ContainSubstring("15 characters"))))
		})
	}
}

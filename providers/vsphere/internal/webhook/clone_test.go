// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// validCloneSpec sets all supported fields.
func validCloneSpec() infrav1.VirtualMachineCloneSpec {
	return infrav1.VirtualMachineCloneSpec{
		Template:          "ubuntu-2404",
		CloneMode:         infrav1.FullClone,
		Server:            "vcenter.example.com",
		Thumbprint:        "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD",
		Datacenter:        "dc",
		Folder:            "/dc/vm/clusters",
		Datastore:         "nfs",
		ResourcePool:      "pool",
		Network:           validNetworkSpec(),
		NumCPUs:           4,
		NumCoresPerSocket: ptr.To[int32](2),
		MemoryMiB:         4096,
		DiskGiB:           25,
		CustomVMXKeys:     map[string]string{"guestinfo.vendordata": "x", "RUN.container": "nginx"},
		TagIDs:            []string{"urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL"},
		OS:                infrav1.Linux,
	}
}

func TestValidateClone(t *testing.T) {
	testRules(t, validCloneSpec, validateClone, []ruleCase[infrav1.VirtualMachineCloneSpec]{
		{"server as a URL", func(s *infrav1.VirtualMachineCloneSpec) { s.Server = "https://vcenter/sdk" }, nil},
		{"page of a server", func(s *infrav1.VirtualMachineCloneSpec) { s.Server = "https://vcenter/ui" }, []string{"spec.server: Invalid value"}},
		{"thumbprint cut short", func(s *infrav1.VirtualMachineCloneSpec) { s.Thumbprint = "AA:BB" }, []string{"spec.thumbprint: Invalid value"}},
		{"guest system by its name", func(s *infrav1.VirtualMachineCloneSpec) { s.OS = "photon" }, nil},
		{"Windows", func(s *infrav1.VirtualMachineCloneSpec) { s.OS = infrav1.Windows }, nil},
		{"cores do not divide processors", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCoresPerSocket = ptr.To[int32](3) }, []string{"spec.numCoresPerSocket: Invalid value"}},
		{"more cores than processors", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCoresPerSocket = ptr.To[int32](8) }, []string{"spec.numCoresPerSocket: Invalid value"}},
		{"cores left to vSphere", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCoresPerSocket = ptr.To[int32](0) }, nil},
		{"cores divide the processors that a machine gets by default", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCPUs = 0 }, nil},
		{"more cores than a machine gets by default", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCPUs, s.NumCoresPerSocket = 0, ptr.To[int32](4) }, []string{"spec.numCoresPerSocket: Invalid value"}},
		{"neither cores nor processors", func(s *infrav1.VirtualMachineCloneSpec) { s.NumCPUs, s.NumCoresPerSocket = 0, nil }, nil},
		{"memory no multiple of 4", func(s *infrav1.VirtualMachineCloneSpec) { s.MemoryMiB = 4095 }, []string{"spec.memoryMiB: Invalid value"}},
		{"reserved key", func(s *infrav1.VirtualMachineCloneSpec) { s.CustomVMXKeys["guestinfo.userdata"] = "x" }, []string{"spec.customVMXKeys[guestinfo.userdata]: Forbidden"}},
		{"reserved key in capitals", func(s *infrav1.VirtualMachineCloneSpec) { s.CustomVMXKeys["GuestInfo.Metadata.Encoding"] = "x" }, []string{"spec.customVMXKeys[GuestInfo.Metadata.Encoding]: Forbidden"}},
		{"reserved key of Ignition", func(s *infrav1.VirtualMachineCloneSpec) { s.CustomVMXKeys["guestinfo.ignition.config.data"] = "x" }, []string{"spec.customVMXKeys[guestinfo.ignition.config.data]: Forbidden"}},
		{"empty key", func(s *infrav1.VirtualMachineCloneSpec) { s.CustomVMXKeys[""] = "x" }, []string{"spec.customVMXKeys: Invalid value"}},
		{"key with space around", func(s *infrav1.VirtualMachineCloneSpec) { s.CustomVMXKeys["a "] = "x" }, []string{"spec.customVMXKeys: Invalid value"}},
		{"tag by its name", func(s *infrav1.VirtualMachineCloneSpec) { s.TagIDs = append(s.TagIDs, "k8s-zone-a") }, []string{"spec.tagIDs[1]: Invalid value"}},
		{"tag without its number", func(s *infrav1.VirtualMachineCloneSpec) { s.TagIDs = []string{"urn:vmomi:InventoryServiceTag:"} }, []string{"spec.tagIDs[0]: Invalid value"}},
		{"all errors are reported", func(s *infrav1.VirtualMachineCloneSpec) {
			s.Server, s.MemoryMiB, s.AdditionalDisksGiB = "a b", 1, []int32{-1}
			s.Network.Devices[1].MACAddr = "x"
		}, []string{
			"spec.server: Invalid value", "spec.memoryMiB: Invalid value", "spec.additionalDisksGiB[0]: Invalid value",
			"spec.network.devices[1].macAddr: Invalid value",
		}},
	})
}

func TestWarnClone(t *testing.T) {
	for name, tc := range map[string]struct {
		mode     infrav1.CloneMode
		snapshot string
		disk     int32
		want     string
	}{
		"a linked clone cannot grow":           {infrav1.LinkedClone, "", 40, "spec.diskGiB: has no effect on a linked clone, which keeps the size of its snapshot; use cloneMode fullClone"},
		"a full clone has no snapshot":         {infrav1.FullClone, "base", 40, "spec.snapshot: is not used by a full clone, which is created from the template itself; use cloneMode linkedClone"},
		"a full clone can grow":                {infrav1.FullClone, "", 40, ""},
		"a linked clone has a snapshot":        {infrav1.LinkedClone, "base", 0, ""},
		"without a mode it depends on vCenter": {"", "base", 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spec := infrav1.VirtualMachineCloneSpec{CloneMode: tc.mode, Snapshot: tc.snapshot, DiskGiB: tc.disk}
			warnings := warnClone(spec, field.NewPath("spec"))
			if tc.want == "" {
				g.Expect(warnings).To(BeEmpty())
				return
			}
			g.Expect(warnings).To(ConsistOf(HavePrefix(tc.want)))
		})
	}
}

func TestValidatePowerOff(t *testing.T) {
	for name, tc := range map[string]struct {
		mode    infrav1.VirtualMachinePowerOpMode
		seconds int32
		want    []string
	}{
		"trySoft may time out": {infrav1.VirtualMachinePowerOpModeTrySoft, 60, nil},
		"hard does not wait":   {infrav1.VirtualMachinePowerOpModeHard, 60, []string{"spec.guestSoftPowerOffTimeoutSeconds: Invalid value"}},
		"soft waits for ever":  {infrav1.VirtualMachinePowerOpModeSoft, 60, []string{"spec.guestSoftPowerOffTimeoutSeconds: Invalid value"}},
		"the default is hard":  {"", 60, []string{"spec.guestSoftPowerOffTimeoutSeconds: Invalid value"}},
		"without a timeout":    {infrav1.VirtualMachinePowerOpModeHard, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			errs := validatePowerOff(tc.mode, tc.seconds, field.NewPath("spec"))
			NewWithT(t).Expect(rulestest.Summary(errs)).To(ConsistOf(tc.want))
		})
	}
}

func TestValidateNaming(t *testing.T) {
	testRules(t, func() infrav1.VSphereVMNamingSpec { return infrav1.VSphereVMNamingSpec{} }, validateNaming,
		[]ruleCase[infrav1.VSphereVMNamingSpec]{
			{"of the machine's name", func(n *infrav1.VSphereVMNamingSpec) { n.Template = "vm-{{ .machine.name }}" }, nil},
			{"not closed", func(n *infrav1.VSphereVMNamingSpec) { n.Template = "{{ .machine.name" }, []string{"spec.template: Invalid value"}},
			{"of something unknown", func(n *infrav1.VSphereVMNamingSpec) { n.Template = "{{ .cluster.name }}" }, []string{"spec.template: Invalid value"}},
			{"in capitals", func(n *infrav1.VSphereVMNamingSpec) { n.Template = "VM-{{ .machine.name }}" }, []string{"spec.template: Invalid value"}},
			{"that comes to nothing", func(n *infrav1.VSphereVMNamingSpec) { n.Template = "{{ trunc 0 .machine.name }}" }, []string{"spec.template: Invalid value"}},
		})
}

func TestWarnNaming(t *testing.T) {
	g := NewWithT(t)
	path := field.NewPath("spec", "naming")
	g.Expect(warnNaming(infrav1.VSphereVMNamingSpec{}, path)).To(BeEmpty())
	g.Expect(warnNaming(infrav1.VSphereVMNamingSpec{Template: "{{ .machine.name | trunc 3 }}"}, path)).To(BeEmpty())
	g.Expect(warnNaming(infrav1.VSphereVMNamingSpec{Template: "{{ .machine.name"}, path)).To(BeEmpty(), "that is an error")
	g.Expect(warnNaming(infrav1.VSphereVMNamingSpec{Template: "the-vm"}, path)).To(
		ConsistOf(And(HavePrefix("spec.naming.template: "), ContainSubstring("use .machine.name"))))
}

func TestUnknownOSIsTreatedAsLinux(t *testing.T) {
	g, path := NewWithT(t), field.NewPath("spec")
	for _, silent := range []infrav1.OS{"", infrav1.Linux, infrav1.Windows} {
		g.Expect(warnClone(infrav1.VirtualMachineCloneSpec{OS: silent}, path)).To(BeEmpty(), silent)
	}
	g.Expect(warnClone(infrav1.VirtualMachineCloneSpec{OS: "photon"}, path)).To(ConsistOf("spec.os: is treated as Linux"))
}

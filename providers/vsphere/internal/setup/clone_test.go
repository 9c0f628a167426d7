// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	plainTemplate = "plain" // has no snapshot
	agedTemplate  = "aged"  // has the snapshots first and second
	diskTemplate  = "disk"  // has a disk of 30 GiB
)

// newFixtureWithTemplates returns a fixture without failure domains, with additional templates.
func newFixtureWithTemplates(t *testing.T, templates ...simulator.Template) *fixture {
	t.Helper()
	layout := simulator.ThreeZones()
	for _, template := range templates {
		template.Datastore, template.Networks = simulator.SharedDatastore, []string{simulator.NetworkName}
		layout.Datacenters[0].Templates = append(layout.Datacenters[0].Templates, template)
	}
	w := newFixture(t, layout)
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	return w
}

// newFixtureWithNode returns a fixture in which machine "node" is ready.
func newFixtureWithNode(t *testing.T) (*fixture, *infrav1.VSphereMachine) {
	t.Helper()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node")
	w.waitForProvisioned(machine)
	return w, machine
}

// worker creates a machine without a failure domain.
func (w *fixture) worker(name string, changes ...func(*infrav1.VSphereMachine)) *infrav1.VSphereMachine {
	w.t.Helper()
	return w.machine("one", name, "", append([]func(*infrav1.VSphereMachine){func(m *infrav1.VSphereMachine) {
		m.Spec.ResourcePool, m.Spec.Datastore = "/dc-1/host/zone-a/Resources", simulator.SharedDatastore
	}}, changes...)...)
}

func (w *fixture) vsphereVM(name string) *infrav1.VSphereVM {
	w.t.Helper()
	vm := &infrav1.VSphereVM{ObjectMeta: w.meta(name)}
	w.Eventually(func() error { return w.client.Get(w.t.Context(), keyOf(vm), vm) }).Should(Succeed())
	return vm
}

type cloneCase struct {
	template, snapshot string
	mode               infrav1.CloneMode
	diskGiB            int32

	linked   bool
	wantDisk int
}

func cloneCases() map[string]cloneCase {
	return map[string]cloneCase{
		"default-with-snapshot":    {template: agedTemplate, linked: true, wantDisk: 20},
		"default-without-snapshot": {template: plainTemplate, wantDisk: 20},
		"linked":                   {template: agedTemplate, mode: infrav1.LinkedClone, linked: true, wantDisk: 20},
		"linked-of-a-snapshot":     {template: agedTemplate, mode: infrav1.LinkedClone, snapshot: "first", linked: true, wantDisk: 20},
		"linked-without-snapshot":  {template: plainTemplate, mode: infrav1.LinkedClone, wantDisk: 20},
		"linked-keeps-its-disk":    {template: agedTemplate, mode: infrav1.LinkedClone, diskGiB: 40, linked: true, wantDisk: 20},
		"full":                     {template: agedTemplate, mode: infrav1.FullClone, wantDisk: 20},
		"full-with-larger-disk":    {template: agedTemplate, mode: infrav1.FullClone, diskGiB: 40, wantDisk: 40},
		"full-of-a-larger-disk":    {template: diskTemplate, mode: infrav1.FullClone, diskGiB: 30, wantDisk: 30},
	}
}

func TestCloneModes(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t, simulator.Template{Name: plainTemplate}, simulator.Template{Name: diskTemplate, DiskGiB: 30},
		simulator.Template{Name: agedTemplate, Snapshots: []string{"first", "second"}})
	machines := map[string]*infrav1.VSphereMachine{}
	for name, tc := range cloneCases() {
		machines[name] = w.worker(name, func(m *infrav1.VSphereMachine) {
			m.Spec.Template, m.Spec.CloneMode, m.Spec.Snapshot, m.Spec.DiskGiB = tc.template, tc.mode, tc.snapshot, tc.diskGiB
		})
	}
	for name, tc := range cloneCases() {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.waitForProvisioned(machines[name])
			made := w.vms()[name]
			w.Expect(made.Linked).To(Equal(tc.linked))
			w.Expect(made.DiskGiB).To(Equal(tc.wantDisk))
			status := w.vsphereVM(name).Status
			w.Expect(status.Snapshot).To(Equal(tc.snapshot))
			mode := infrav1.FullClone
			if tc.linked {
				mode = infrav1.LinkedClone
			}
			w.Expect(status.CloneMode).To(Equal(mode))
		})
	}
}

func TestShrinkingDiskIsNotCloned(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t, simulator.Template{Name: diskTemplate, DiskGiB: 30})
	w.worker("small", func(m *infrav1.VSphereMachine) {
		m.Spec.Template, m.Spec.CloneMode, m.Spec.DiskGiB = diskTemplate, infrav1.FullClone, 10
	})
	message := w.waitForCondition(w.vsphereVM("small"), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineInvalidSpecReason)
	w.Expect(message).To(And(ContainSubstring("diskGiB"), ContainSubstring("30 GiB")))
	w.Expect(w.vms()).To(BeEmpty())
}

func TestMachineMatchesSpec(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	tag, err := w.vc.TagID("zone-b")
	w.Expect(err).NotTo(HaveOccurred())
	machine := w.worker("node", func(m *infrav1.VSphereMachine) {
		m.Spec.NumCPUs, m.Spec.NumCoresPerSocket, m.Spec.MemoryMiB = 4, ptr.To[int32](2), 4096
		m.Spec.ResourcePool, m.Spec.Folder, m.Spec.Datastore = "/dc-1/host/zone-b/Resources/workload", "templates", "datastore-b"
		m.Spec.CloneMode = infrav1.FullClone // the template's disk is on a datastore of its own
		m.Spec.Network.Devices = []infrav1.NetworkDeviceSpec{
			{NetworkName: "network-b", DHCP4: ptr.To(true), MACAddr: "00:50:56:00:00:01"}, {NetworkName: simulator.NetworkName, DHCP4: ptr.To(true)},
		}
		m.Spec.CustomVMXKeys = map[string]string{"isolation.tools.copy.disable": "TRUE"}
		m.Spec.TagIDs = []string{tag}
	})
	w.waitForProvisioned(machine)
	made := w.vms()["node"]
	w.Expect(made.CPUs).To(Equal(4))
	w.Expect(made.CoresPerSocket).To(Equal(2))
	w.Expect(made.MemoryMiB).To(Equal(4096))
	w.Expect(made.Pool).To(Equal("/dc-1/host/zone-b/Resources/workload"))
	w.Expect(made.Folder).To(Equal("/dc-1/vm/templates"))
	w.Expect(made.Datastore).To(Equal("datastore-b"))
	w.Expect(made.Cluster).To(Equal("zone-b"))
	w.Expect(made.Networks).To(Equal([]string{"network-b", simulator.NetworkName}), "in the order of the spec, and none of the template's")
	w.Expect(made.MACs[0]).To(Equal("00:50:56:00:00:01"))
	w.Expect(made.ExtraConfig).To(HaveKeyWithValue("isolation.tools.copy.disable", "TRUE"))
	w.Expect(made.TagIDs).To(Equal([]string{tag}))
	w.Expect(made.InstanceUUID).To(BeEquivalentTo(w.vsphereVM("node").UID))
	w.Expect(machine.Status.FailureDomain).To(BeNil(), "none was requested")
	w.Expect(machine.Spec.ProviderID).To(Equal("vsphere://" + made.UUID))
}

func TestDefaultSize(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.waitForProvisioned(w.worker("node"))
	made := w.vms()["node"]
	w.Expect([]int{made.CPUs, made.MemoryMiB}).To(Equal([]int{2, 2048}))
}

func TestBootstrapDataReachesTheGuest(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	for format, key := range map[string]string{"cloud-config": "guestinfo.userdata", "ignition": "guestinfo.ignition.config.data"} {
		t.Run(format, func(t *testing.T) {
			w := w.in(t)
			w.create(&corev1.Secret{ObjectMeta: w.meta(format), StringData: map[string]string{"value": "data of " + format, "format": format}})
			w.waitForProvisioned(w.worker(format))
			config := w.vms()[format].ExtraConfig
			w.Expect(config).To(HaveKeyWithValue(key+".encoding", "base64"))
			data, err := base64.StdEncoding.DecodeString(config[key])
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(string(data)).To(Equal("data of " + format))
		})
	}
	t.Run("unknown format", func(t *testing.T) {
		w := w.in(t)
		w.create(&corev1.Secret{ObjectMeta: w.meta("windows"), StringData: map[string]string{"value": "x", "format": "powershell"}})
		w.worker("windows")
		message := w.waitForCondition(w.vsphereVM("windows"), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineInvalidSpecReason)
		w.Expect(message).To(And(ContainSubstring("powershell"), ContainSubstring("windows")))
		w.Expect(w.vms()).NotTo(HaveKey("windows"))
	})
}

func TestStaticAddressesReachTheGuestAndAreReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) {
		m.Spec.Network.Devices = []infrav1.NetworkDeviceSpec{
			{NetworkName: simulator.NetworkName, IPAddrs: []string{"192.168.7.5/24", "2001:db8::5/64"}, Gateway4: "192.168.7.1", Gateway6: "2001:db8::1"},
			{NetworkName: "network-a", IPAddrs: []string{"192.168.8.5/24"}, DeviceName: "storage"},
		}
	})
	w.waitForProvisioned(machine)
	made := w.vms()["node"]
	meta := w.metadata(made)
	w.Expect(meta.Hostname).To(Equal("node"))
	w.Expect(meta.Network.Ethernets).To(HaveLen(2))
	first, second := meta.Network.Ethernets["id0"], meta.Network.Ethernets["id1"]
	w.Expect([]string{first.Match.MAC, second.Match.MAC}).To(Equal(made.MACs), "each card has the addresses that are meant for it")
	w.Expect(first.Addresses).To(Equal([]string{"192.168.7.5/24", "2001:db8::5/64"}))
	w.Expect(second.Addresses).To(Equal([]string{"192.168.8.5/24"}))
	w.Expect(second.Name).To(Equal("storage"))
	w.Expect(machine.Status.Addresses).To(ConsistOf(
		clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: "192.168.7.5"},
		clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: "2001:db8::5"},
		clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: "192.168.8.5"},
		clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: "node"},
	), "and no link-local ones")
	w.Expect(machine.Status.Network).To(HaveLen(2))
	w.Expect(machine.Status.Network[0].IPAddrs).To(Equal([]string{"192.168.7.5", "2001:db8::5"}))
	w.Expect(machine.Status.Network[0].MACAddr).To(Equal(made.MACs[0]))
	w.Expect(machine.Status.Network[0].NetworkName).To(Equal(simulator.NetworkName))
}

// guestMetadata is the part of the guest's metadata that tests check.
type guestMetadata struct {
	Hostname string `json:"local-hostname"`
	Network  struct {
		Ethernets map[string]struct {
			Match struct {
				MAC string `json:"macaddress"`
			} `json:"match"`
			Name      string   `json:"set-name"`
			Addresses []string `json:"addresses"`
		} `json:"ethernets"`
	} `json:"network"`
}

func (w *fixture) metadata(vm simulator.VM) guestMetadata {
	w.t.Helper()
	data, err := base64.StdEncoding.DecodeString(vm.ExtraConfig["guestinfo.metadata"])
	w.Expect(err).NotTo(HaveOccurred())
	meta := guestMetadata{}
	w.Expect(yaml.Unmarshal(data, &meta)).To(Succeed())
	return meta
}

func TestMachineWithoutAddressWaitsForOne(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) { m.Spec.Network.Devices[0].DHCP4 = nil })
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForStaticIPAllocationReason)
	w.Expect(message).To(ContainSubstring("spec.network.devices[0]"))
	w.Expect(w.vms()).To(BeEmpty())
	update(w, machine, func(m *infrav1.VSphereMachine) { m.Spec.Network.Devices[0].IPAddrs = []string{"192.168.7.5/24"} })
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["node"].IPs).To(ConsistOf("192.168.7.5"))
}

func TestNamingTemplate(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) { m.Spec.Naming.Template = "{{ .machine.name }}-vm" })
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(HaveKey("node-vm"))
	w.Expect(w.metadata(w.vms()["node-vm"]).Hostname).To(Equal("node-vm"), "the guest's name is the one that its Node will have")
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// localTemplate is on datastore-a, which only the hosts of zone-a mount, and has a snapshot.
const localTemplate = "local"

// A linked clone would read its parent's disk from a datastore that no host of its zone mounts.
func TestUnmountedTemplateIsFullyCloned(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	layout.Datacenters[0].Templates = append(layout.Datacenters[0].Templates, simulator.Template{
		Name: localTemplate, Cluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}, Snapshots: []string{"base"},
	})
	w := newFixture(t, layout)
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	from := func(change func(*infrav1.VSphereMachine)) func(*infrav1.VSphereMachine) {
		return func(m *infrav1.VSphereMachine) {
			m.Spec.Template = localTemplate
			change(m)
		}
	}
	unset := func(*infrav1.VSphereMachine) {}
	linked := func(m *infrav1.VSphereMachine) { m.Spec.CloneMode = infrav1.LinkedClone }
	w.waitForProvisioned(w.machine("one", "near", zones[0].Name, from(unset)))
	w.waitForProvisioned(w.machine("one", "far", zones[1].Name, from(unset)))
	w.waitForProvisioned(w.machine("one", "far-linked", zones[1].Name, from(linked)))
	w.Expect(w.vms()["near"].Linked).To(BeTrue())
	w.Expect(w.vms()["far"].Linked).To(BeFalse())
	w.Expect(w.vms()["far-linked"].Linked).To(BeFalse())

	named := w.machine("one", "far-named", zones[1].Name, from(func(m *infrav1.VSphereMachine) { m.Spec.Snapshot = "base" }))
	message := w.waitForCondition(named, provisionedCondition, infrav1.VSphereVMVirtualMachineInvalidSpecReason)
	w.Expect(message).To(And(ContainSubstring("datastore datastore-a"), ContainSubstring("set cloneMode to fullClone")))
}

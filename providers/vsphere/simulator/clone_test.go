// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestCloneIsPlacedInPoolsCluster(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	hosts := map[string]bool{}
	for _, name := range []string{"a-1", "b-1", "c-1", "a-2", "b-2", "c-2"} {
		zone := "zone-" + name[:1]
		pool := "/dc-1/host/" + zone + "/Resources/workload"
		c.clone(name, c.cloneSpec(pool, "datastore-"+name[:1]))
		vm, _ := s.VM(name)
		if vm.Datacenter != "dc-1" || vm.Cluster != zone || vm.Pool != pool || vm.Folder != "/dc-1/vm/workload" || vm.Datastore != "datastore-"+name[:1] {
			t.Errorf("%s is %+v", name, vm)
		}
		hosts[vm.Host] = true
	}
	if len(hosts) != 6 {
		t.Errorf("six VMs in three clusters of two hosts are on %d hosts", len(hosts))
	}
}

func TestCloneAppliesSpec(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	id := uuid.NewString()
	devices := must(c.template().Device(t.Context()))(t)
	disk := devices.SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
	disk.CapacityInKB, disk.CapacityInBytes = 30<<20, 30<<30
	old := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
	network := must(c.finder.Network(t.Context(), "network-b"))(t)
	card := must(object.EthernetCardTypes().CreateEthernetCard("vmxnet3", must(network.EthernetCardBackingInfo(t.Context()))(t)))(t)
	card.GetVirtualDevice().Key = -1
	c.clone("vm", c.cloneSpec("/dc-1/host/zone-b/Resources", "datastore-b", func(spec *types.VirtualMachineCloneSpec) {
		spec.Config = &types.VirtualMachineConfigSpec{
			InstanceUuid: id, Annotation: "made by a test", NumCPUs: 4, NumCoresPerSocket: types.NewInt32(2), MemoryMB: 4096,
			ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "guestinfo.userdata", Value: "x"}},
			DeviceChange: []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk},
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: old},
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card},
			},
		}
	}))
	vm, _ := s.VM("vm")
	if vm.InstanceUUID != id || vm.Annotation != "made by a test" || vm.CPUs != 4 || vm.CoresPerSocket != 2 || vm.MemoryMiB != 4096 ||
		vm.DiskGiB != 30 || vm.ExtraConfig["guestinfo.userdata"] != "x" || vm.Power != "poweredOff" || vm.Linked || vm.Template {
		t.Errorf("clone is %+v", vm)
	}
	if !slices.Equal(vm.Networks, []string{"network-b"}) {
		t.Errorf("cards are on %q", vm.Networks)
	}
}

func TestClonesDifferInIdentity(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeDatacenters())
	seen := map[string]bool{}
	id := uuid.NewString() // requested by all: only the first gets it
	for _, dc := range []string{"dc-a", "dc-b"} {
		c := connect(t, s, dc)
		c.clone("vm", c.cloneSpec("/"+dc+"/host/cluster-1/Resources", "shared", func(spec *types.VirtualMachineCloneSpec) {
			spec.Config.InstanceUuid = id
		}))
	}
	for _, vm := range s.VMs() {
		for _, value := range append(vm.MACs, vm.UUID, vm.InstanceUUID) {
			if seen[value] {
				t.Errorf("%s of %s is not unique", value, vm.Folder)
			}
			seen[value] = true
		}
	}
	if !seen[id] || len(seen) != 6 {
		t.Errorf("identities are %v", seen)
	}
}

func TestLinkedClone(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	snapshot := must(c.template().FindSnapshot(t.Context(), "base"))(t)
	linked := func(spec *types.VirtualMachineCloneSpec) {
		spec.Snapshot = snapshot
		spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	}
	c.clone("vm", c.cloneSpec("/dc-1/host/zone-c/Resources", "datastore-c", linked))
	if vm, _ := s.VM("vm"); !vm.Linked || vm.DiskGiB != 20 || vm.Cluster != "zone-c" {
		t.Errorf("linked clone is %+v", vm)
	}
	for name, tc := range map[string]struct {
		option cloneOption
		want   string
	}{
		"without snapshot": {func(spec *types.VirtualMachineCloneSpec) { linked(spec); spec.Snapshot = nil }, "spec.snapshot"},
		"deleted snapshot": {func(spec *types.VirtualMachineCloneSpec) {
			linked(spec)
			spec.Snapshot = &types.ManagedObjectReference{Type: "VirtualMachineSnapshot", Value: "snapshot-0"}
		}, "has already been deleted"},
		"with a larger disk": {func(spec *types.VirtualMachineCloneSpec) {
			linked(spec)
			disk := must(c.template().Device(t.Context()))(t).SelectByType((*types.VirtualDisk)(nil))[0].(*types.VirtualDisk)
			disk.CapacityInKB, disk.CapacityInBytes = 30<<20, 30<<30
			spec.Config.DeviceChange = []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk},
			}
		}, "capacityInKB"},
	} {
		err := c.startClone("refused", c.cloneSpec("/dc-1/host/zone-c/Resources", "datastore-c", tc.option)).Wait(t.Context())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want %q", name, err, tc.want)
		}
	}
	if n := len(s.VMs()); n != 1 {
		t.Errorf("%d VMs after refused clones", n)
	}
}

// None of these creates a VM, and each fails its task.
func TestRefusedClones(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	c.clone("taken", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	elsewhere := must(must(c.finder.Network(t.Context(), "network-b"))(t).EthernetCardBackingInfo(t.Context()))(t)
	unknown := &types.VirtualEthernetCardNetworkBackingInfo{}
	unknown.DeviceName = "no such network"
	card := func(backing types.BaseVirtualDeviceBackingInfo) cloneOption {
		return func(spec *types.VirtualMachineCloneSpec) {
			device := must(object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing))(t)
			spec.Config.DeviceChange = []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: device},
			}
		}
	}
	as := func(spec *types.VirtualMachineCloneSpec) {}
	for name, tc := range map[string]struct {
		vm, datastore string
		option        cloneOption
		want          types.BaseMethodFault
	}{
		"name in use":                  {"taken", "datastore-a", as, &types.DuplicateName{}},
		"datastore of another cluster": {"vm", "datastore-b", as, &types.InvalidDatastore{}},
		"network of another cluster":   {"vm", "datastore-a", card(elsewhere), &types.InvalidDeviceBacking{}},
		"network that does not exist":  {"vm", "datastore-a", card(unknown), &types.InvalidDeviceBacking{}},
		"host that is not in the pool's": {"vm", "datastore-a", func(spec *types.VirtualMachineCloneSpec) {
			host := must(c.finder.HostSystem(t.Context(), "zone-b/zone-b-host-1"))(t).Reference()
			spec.Location.Host = &host
		}, &types.NoCompatibleHost{}},
	} {
		err := c.startClone(tc.vm, c.cloneSpec("/dc-1/host/zone-a/Resources", tc.datastore, tc.option)).Wait(t.Context())
		if !isFault(err, tc.want) {
			t.Errorf("%s: error is %v, want %T", name, err, tc.want)
		}
	}
	if n := len(s.VMs()); n != 1 {
		t.Errorf("%d VMs after refused clones", n)
	}
}

// The message must be vCenter's, not the name of a Go type.
func TestDuplicateNameMessage(t *testing.T) {
	t.Parallel()
	c := connect(t, simulator.Start(t, simulator.ThreeZones()), "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	c.clone("vm", spec)
	err := c.startClone("vm", spec).Wait(t.Context())
	if err == nil || err.Error() != "The name 'vm' already exists." {
		t.Errorf("error is %v", err)
	}
	if !fault.Is(err, &types.DuplicateName{}) {
		t.Errorf("fault of %v is not DuplicateName", err)
	}
}

// A controller lists only the devices of its own VM.
func TestControllersAreNotShared(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeDatacenters())
	for _, dc := range []string{"dc-a", "dc-b", "dc-c"} {
		c := connect(t, s, dc)
		devices := must(c.template().Device(t.Context()))(t)
		for _, device := range devices.SelectByType((*types.VirtualPCIController)(nil)) {
			seen := map[int32]bool{}
			for _, key := range device.(types.BaseVirtualController).GetVirtualController().Device {
				if seen[key] {
					t.Errorf("%s: %s lists device %d twice", dc, devices.Name(device), key)
				}
				seen[key] = true
			}
		}
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Machines manages the virtual machines of a vCenter.
type Machines struct {
	inventory *Inventory
	admin     *AdminClient
	cloning   *Cloning
}

// NewMachines returns the machines of an inventory.
func NewMachines(i *Inventory, admin *AdminClient, c *Cloning) *Machines {
	return &Machines{inventory: i, admin: admin, cloning: c}
}

// VM is the state of a virtual machine in vCenter.
type VM struct {
	Ref, Name, InstanceUUID, UUID string
	// Datacenter, Cluster, Host and Datastore are names; Pool and Folder are inventory paths. Templates have no pool.
	Datacenter, Cluster, Host, Pool, Folder, Datastore string
	// Networks lists the name of each card's network, in the order of the cards.
	Networks []string
	// MACs lists the address of each card.
	MACs []string
	// IPs are the addresses reported by the guest, without link-local ones.
	IPs []string
	// Groups are its DRS VM groups, sorted.
	Groups []string
	// Power is poweredOn, poweredOff or suspended.
	Power       string
	Annotation  string
	ExtraConfig map[string]string
	// TagIDs are the identifiers of its tags, sorted.
	TagIDs         []string
	CPUs           int
	CoresPerSocket int
	MemoryMiB      int
	DiskGiB        int // of the first disk
	// Disks are all its disks.
	Disks []Disk
	// HomePolicy is the name of the storage policy of its files; "" for the default.
	HomePolicy string
	// CPU and Memory are the resource allocations.
	CPU, Memory Resources
	// FTEncryption and MigrateEncryption are the encryption modes of fault tolerance and migration traffic.
	FTEncryption, MigrateEncryption string
	// KeyProvider and Key are the key with which its files are encrypted.
	KeyProvider, Key string
	// HardwareVersion is the version of the virtual hardware, such as vmx-13.
	HardwareVersion string
	// NestedHV reports whether the guest may run virtual machines; nil leaves it to vCenter.
	NestedHV *bool
	// MemoryLocked reports whether all memory is reserved, whatever its size.
	MemoryLocked bool
	// PCI lists its host devices, named by PCIDevice.
	PCI []string
	// Linked reports whether the first disk is linked to that of another VM.
	Linked   bool
	Template bool
}

// Disk is a disk of a virtual machine.
type Disk struct {
	GiB int
	// Unit is its unit number at its controller.
	Unit int
	// Mode is the requested mode of a clone's disk: Thin, Thick or EagerlyZeroed.
	Mode string
	// Policy is the name of its storage policy; "" for vCenter's default.
	Policy string
}

// Resources are the CPU resources in MHz or the memory resources in MiB of a virtual machine. Zero means not set.
type Resources struct {
	Reservation, Limit int64
	Shares             int
}

func resourcesOf(info *types.ResourceAllocationInfo) Resources {
	var r Resources
	if info == nil {
		return r
	}
	if info.Reservation != nil {
		r.Reservation = *info.Reservation
	}
	if info.Limit != nil && *info.Limit > 0 {
		r.Limit = *info.Limit
	}
	if info.Shares != nil && info.Shares.Level == types.SharesLevelCustom {
		r.Shares = int(info.Shares.Shares)
	}
	return r
}

// List returns all virtual machines that are marked as templates, or those that are not, sorted by path.
func (m *Machines) List(templates bool) []VM {
	groups := map[types.ManagedObjectReference][]string{}
	for _, cluster := range m.inventory.Clusters() {
		m.inventory.WithLock(cluster, func() {
			maps.Copy(groups, groupsOfVMs(cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)))
		})
	}
	var out []VM
	for _, e := range m.inventory.Registry.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		view := m.inspect(vm)
		if view.Template != templates || m.inventory.Registry.Get(vm.Self) == nil {
			continue
		}
		view.Groups = slices.Sorted(slices.Values(groups[vm.Self]))
		view.TagIDs = m.admin.AttachedTags(vm.Self)
		out = append(out, view)
	}
	slices.SortFunc(out, func(a, b VM) int {
		return strings.Compare(a.Folder+"/"+a.Name, b.Folder+"/"+b.Name)
	})
	return out
}

// inspect reads one VM. Related objects are read after it is unlocked.
func (m *Machines) inspect(vm *simulator.VirtualMachine) VM {
	var view VM
	var host, pool, folder *types.ManagedObjectReference
	var datastores []types.ManagedObjectReference
	var cards []Card
	m.inventory.WithLock(vm, func() {
		view = machineProperties(&vm.VirtualMachine)
		m.describe(&view, &vm.VirtualMachine)
		host, pool, folder = vm.Runtime.Host, vm.ResourcePool, vm.Parent
		datastores = slices.Clone(vm.Datastore)
		cards = cardsOf(&vm.VirtualMachine)
	})
	ctx := m.inventory.NewContext()
	for _, card := range cards {
		view.MACs = append(view.MACs, card.MAC)
		view.Networks = append(view.Networks, networkName(ctx, card.Network()))
	}
	view.Host = m.inventory.NameOf(host)
	if cluster, ok := m.inventory.ClusterOfHost(host); ok {
		view.Cluster = entityName(ctx, cluster)
	}
	if p, ok := Get[*simulator.ResourcePool](m.inventory, pool); ok {
		view.Pool = m.inventory.PathOf(p)
	}
	if f, ok := Get[*simulator.Folder](m.inventory, folder); ok {
		view.Folder = m.inventory.PathOf(f)
		if dc := m.inventory.DatacenterOf(f); dc != nil {
			view.Datacenter = entityName(ctx, dc)
		}
	}
	if len(datastores) > 0 {
		view.Datastore = m.inventory.NameOf(&datastores[0])
	}
	return view
}

// machineProperties returns the properties of the locked VM itself.
func machineProperties(vm *mo.VirtualMachine) VM {
	view := VM{
		Ref: vm.Self.Value, Name: vm.Name, Power: string(vm.Runtime.PowerState), ExtraConfig: extraConfig(vm),
	}
	if c := vm.Config; c != nil {
		view.InstanceUUID, view.UUID, view.Annotation, view.Template = c.InstanceUuid, c.Uuid, c.Annotation, c.Template
		view.CPUs, view.MemoryMiB = int(c.Hardware.NumCPU), int(c.Hardware.MemoryMB)
		if c.Hardware.NumCoresPerSocket != nil {
			view.CoresPerSocket = int(*c.Hardware.NumCoresPerSocket)
		}
		view.HardwareVersion, view.NestedHV, view.MemoryLocked = c.Version, c.NestedHVEnabled, c.MemoryReservationLockedToMax != nil && *c.MemoryReservationLockedToMax
		view.PCI = pciDevicesOf(c.Hardware.Device)
		disks := object.VirtualDeviceList(c.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
		if len(disks) > 0 {
			disk := disks[0].(*types.VirtualDisk)
			view.DiskGiB = int(disk.CapacityInKB >> 20)
			backing, _ := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			view.Linked = backing != nil && backing.Parent != nil
		}
	}
	if vm.Guest != nil {
		for _, card := range vm.Guest.Net {
			for _, ip := range card.IpAddress {
				if !strings.HasPrefix(ip, "fe80:") {
					view.IPs = append(view.IPs, ip)
				}
			}
		}
	}
	return view
}

// describe adds the disks, resources and keys of a locked VM to view.
func (m *Machines) describe(view *VM, vm *mo.VirtualMachine) {
	settings := m.cloning.StorageSettings(vm.Self)
	view.HomePolicy = settings.Home
	if vm.Config == nil {
		return
	}
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disk := device.(*types.VirtualDisk)
		requested := settings.Disk(disk)
		shown := Disk{Mode: requested.Mode, Policy: requested.Policy}
		shown.GiB = int(disk.CapacityInKB >> 20)
		if disk.UnitNumber != nil {
			shown.Unit = int(*disk.UnitNumber)
		}
		view.Disks = append(view.Disks, shown)
	}
	view.CPU, view.Memory = resourcesOf(vm.Config.CpuAllocation), resourcesOf(vm.Config.MemoryAllocation)
	view.FTEncryption, view.MigrateEncryption = vm.Config.FtEncryptionMode, vm.Config.MigrateEncryption
	if key := vm.Config.KeyId; key != nil && key.ProviderId != nil {
		view.KeyProvider, view.Key = key.ProviderId.Id, key.KeyId
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// VM is a virtual machine as vCenter has it.
type VM struct {
	Ref, Name, InstanceUUID, UUID string
	// Datacenter, Cluster, Host and Datastore are names; Pool and Folder are
	// inventory paths. Templates have no pool.
	Datacenter, Cluster, Host, Pool, Folder, Datastore string
	// Networks has the name of each card's network, in the order of the cards.
	Networks []string
	// MACs has the address of each card.
	MACs []string
	// IPs is what the guest reports, without link-local addresses.
	IPs []string
	// Groups are the DRS VM groups that it is in, sorted.
	Groups []string
	// Power is poweredOn, poweredOff or suspended.
	Power       string
	Annotation  string
	ExtraConfig map[string]string
	// TagIDs are the tags attached, sorted.
	TagIDs         []string
	CPUs           int
	CoresPerSocket int
	MemoryMiB      int
	DiskGiB        int // of the first disk
	// Disks are all of them.
	Disks []Disk
	// HomePolicy is the name of the storage policy of its files, "" for the default.
	HomePolicy string
	// CPU and Memory are what is reserved of them, limited and weighed.
	CPU, Memory Resources
	// FTEncryption and MigrateEncryption are modes of traffic.
	FTEncryption, MigrateEncryption string
	// KeyProvider and Key are what its files are encrypted with.
	KeyProvider, Key string
	// HardwareVersion is that of the virtual hardware, such as vmx-13.
	HardwareVersion string
	// NestedHV says that the guest may run virtual machines; nil leaves it to vCenter.
	NestedHV *bool
	// MemoryLocked says that all memory is reserved, whatever its size.
	MemoryLocked bool
	// PCI are its host devices, as PCIDevice names them.
	PCI []string
	// Linked says that the first disk builds upon another VM's.
	Linked   bool
	Template bool
}

// VMs returns all virtual machines but templates, in the order of their paths.
func (s *Server) VMs() []VM { return s.list(false) }

// Templates returns all virtual machines that are marked as templates.
func (s *Server) Templates() []VM { return s.list(true) }

// VM returns the virtual machine of that name, and whether there is exactly one.
func (s *Server) VM(name string) (VM, bool) {
	vms := slices.DeleteFunc(s.VMs(), func(vm VM) bool { return vm.Name != name })
	if len(vms) != 1 {
		return VM{}, false
	}
	return vms[0], true
}

func (s *Server) list(templates bool) []VM {
	groups := map[types.ManagedObjectReference][]string{}
	for _, cluster := range s.clusters() {
		s.locked(cluster, func() {
			for ref, names := range vmGroups(cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)) {
				groups[ref] = names
			}
		})
	}
	var out []VM
	for _, e := range s.registry.All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		view := s.inspect(vm)
		if view.Template != templates || s.registry.Get(vm.Self) == nil {
			continue
		}
		view.Groups = slices.Sorted(slices.Values(groups[vm.Self]))
		view.TagIDs = s.admin.attachedTags(vm.Self)
		out = append(out, view)
	}
	slices.SortFunc(out, func(a, b VM) int {
		return strings.Compare(a.Folder+"/"+a.Name, b.Folder+"/"+b.Name)
	})
	return out
}

func (a *administrator) attachedTags(ref types.ManagedObjectReference) []string {
	a.tags.Lock()
	defer a.tags.Unlock()
	ids, _ := a.tags.AttachedTags(ref)
	slices.Sort(ids)
	return ids
}

// inspect looks at one VM. Its neighbours are looked up after it is unlocked.
func (s *Server) inspect(vm *simulator.VirtualMachine) VM {
	var view VM
	var host, pool, folder *types.ManagedObjectReference
	var datastores []types.ManagedObjectReference
	var nics []guestCard
	s.locked(vm, func() {
		view = properties(&vm.VirtualMachine)
		s.describe(&view, &vm.VirtualMachine)
		host, pool, folder = vm.Runtime.Host, vm.ResourcePool, vm.Parent
		datastores = slices.Clone(vm.Datastore)
		nics = cards(&vm.VirtualMachine)
	})
	ctx := s.call()
	for _, nic := range nics {
		view.MACs = append(view.MACs, nic.mac)
		view.Networks = append(view.Networks, s.networkOf(ctx, &nic))
	}
	view.Host = s.nameAt(host)
	if cluster, ok := s.clusterOfHost(host); ok {
		view.Cluster = nameOf(ctx, cluster)
	}
	if p, ok := get[*simulator.ResourcePool](s, pool); ok {
		view.Pool = s.pathOf(p)
	}
	if f, ok := get[*simulator.Folder](s, folder); ok {
		view.Folder = s.pathOf(f)
		if dc := s.datacenterOf(f); dc != nil {
			view.Datacenter = nameOf(ctx, dc)
		}
	}
	if len(datastores) > 0 {
		view.Datastore = s.nameAt(&datastores[0])
	}
	return view
}

func (s *Server) nameAt(ref *types.ManagedObjectReference) string {
	if e, ok := get[mo.Entity](s, ref); ok {
		return nameOf(s.call(), e)
	}
	return ""
}

// properties returns what the locked VM says about itself.
func properties(vm *mo.VirtualMachine) VM {
	view := VM{
		Ref: vm.Self.Value, Name: vm.Name, Power: string(vm.Runtime.PowerState), ExtraConfig: extraConfig(vm),
	}
	if c := vm.Config; c != nil {
		view.InstanceUUID, view.UUID, view.Annotation, view.Template = c.InstanceUuid, c.Uuid, c.Annotation, c.Template
		view.CPUs, view.MemoryMiB = int(c.Hardware.NumCPU), int(c.Hardware.MemoryMB)
		if c.Hardware.NumCoresPerSocket != nil {
			view.CoresPerSocket = int(*c.Hardware.NumCoresPerSocket)
		}
		view.HardwareVersion, view.NestedHV, view.MemoryLocked = c.Version, c.NestedHVEnabled, isTrue(c.MemoryReservationLockedToMax)
		view.PCI = passedThrough(c.Hardware.Device)
		disks := object.VirtualDeviceList(c.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
		if len(disks) > 0 {
			disk := disks[0].(*types.VirtualDisk)
			view.DiskGiB = int(disk.CapacityInKB >> 20)
			backing, _ := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
			view.Linked = backing != nil && backing.Parent != nil
		}
	}
	if vm.Guest != nil {
		for _, nic := range vm.Guest.Net {
			for _, ip := range nic.IpAddress {
				if !strings.HasPrefix(ip, "fe80:") {
					view.IPs = append(view.IPs, ip)
				}
			}
		}
	}
	return view
}

// RunningTasks returns the tasks that have not ended, as "CloneVM_Task task-12".
func (s *Server) RunningTasks() []string {
	var out []string
	for _, obj := range s.registry.AllReference("Task") {
		task := obj.(*simulator.Task)
		s.call().WithLock(task, func() {
			if !finished(task.Info) {
				out = append(out, task.Info.Name+" "+task.Self.Value)
			}
		})
	}
	return slices.Sorted(slices.Values(out))
}

// GroupMembers returns the references of the VMs in each DRS VM group of a compute
// cluster, given by name or inventory path; also of VMs that have gone.
func (s *Server) GroupMembers(cluster string) (map[string][]string, error) {
	c, err := s.cluster(cluster)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	s.locked(c, func() {
		for _, info := range c.ConfigurationEx.(*types.ClusterConfigInfoEx).Group {
			if group, ok := info.(*types.ClusterVmGroup); ok {
				out[group.Name] = nil
				for _, ref := range group.Vm {
					out[group.Name] = append(out[group.Name], ref.Value)
				}
			}
		}
	})
	return out, nil
}

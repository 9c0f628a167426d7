// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// Kind is a class of objects whose names are looked up together.
type Kind string

// The kinds, in the terms of specifications.
const (
	KindDatacenter Kind = "datacenter"
	KindCompute    Kind = "computeCluster"
	KindPool       Kind = "resourcePool"
	KindFolder     Kind = "folder"
	KindDatastore  Kind = "datastore"
	KindNetwork    Kind = "network"
	KindHost       Kind = "host"
	KindSwitch     Kind = "switch"
	KindVM         Kind = "template" // a virtual machine is looked up by name only to clone it
)

// KindOf returns the kind of a managed object type, or "" for a type that the index does not keep.
func KindOf(managedType string) Kind {
	switch managedType {
	case "Datacenter":
		return KindDatacenter
	case "ComputeResource", "ClusterComputeResource":
		return KindCompute
	case "ResourcePool":
		return KindPool
	case "Folder", "StoragePod":
		return KindFolder
	case "Datastore":
		return KindDatastore
	case "Network", "OpaqueNetwork", "DistributedVirtualPortgroup":
		return KindNetwork
	case "HostSystem":
		return KindHost
	case "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return KindSwitch
	}
	return ""
}

// Entity is any inventory object except a virtual machine. Fields that its type does not have are empty.
type Entity struct {
	Ref, Parent Ref
	Name        string
	changes     int // relevant changes since the session began
	revision    int // how often it was reported

	VMFolder    Ref      // Datacenter
	Hosts       []Ref    // compute resource: its hosts; network, datastore: the hosts connected to it
	Networks    []Ref    // compute resource
	RootPool    Ref      // compute resource
	Groups      groupSet // cluster
	drs         drsMode  // cluster
	Readable    bool     // cluster: its configuration could be read
	connected   bool     // HostSystem
	Maintenance bool     // HostSystem, Datastore
	Accessible  bool     // Datastore
	storage     string   // Datastore: its type, such as VMFS

	PortgroupKey, SwitchUUID string // distributed port group, distributed switch
	PortgroupSwitch          Ref
	OpaqueID, OpaqueType     string
}

// groupSet holds the DRS groups of a cluster and the rules between them.
type groupSet struct {
	VMs, Hosts map[string][]Ref
	of         map[Ref][]string // names by member, sorted
	rules      []hostRule
}

type hostRule struct {
	Name, vmGroup, hostGroup string // hostGroup is empty for an anti-affinity rule
	Enabled, Mandatory       bool
	key                      int32
}

// Usable reports whether a host can run virtual machines now.
func (e *Entity) Usable() bool { return e.connected && !e.Maintenance }

// keepsTogether reports whether a disk on the datastore must have its parent on the same datastore.
func (e *Entity) keepsTogether() bool {
	return strings.EqualFold(e.storage, string(types.HostFileSystemVolumeFileSystemTypeVsan)) ||
		strings.EqualFold(e.storage, string(types.HostFileSystemVolumeFileSystemTypeVVOL))
}

// names returns the name as stored by vCenter, which escapes slashes, and unescaped.
func (e *Entity) names() []string {
	if plain := Unescape(e.Name); plain != e.Name {
		return []string{e.Name, plain}
	}
	return []string{e.Name}
}

// Unescape returns a name without vCenter's escapes.
func Unescape(name string) string {
	return strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%").Replace(name)
}

// As returns the value of a property. An unset property is reported as nil and becomes the zero value.
func As[T any](value types.AnyType) T {
	typed, _ := value.(T)
	return typed
}

func (e *Entity) set(property string, value types.AnyType) {
	switch property {
	case "name":
		e.Name = As[string](value)
	case "parent":
		e.Parent = As[Ref](value)
	case "vmFolder":
		e.VMFolder = As[Ref](value)
	case "host":
		e.Hosts = hostsOf(value)
	case "network":
		e.Networks = As[types.ArrayOfManagedObjectReference](value).ManagedObjectReference
	case "resourcePool":
		e.RootPool = As[Ref](value)
	case "configurationEx":
		e.Groups, e.drs = groupsOf(value), drsOf(value)
		_, e.Readable = value.(types.ClusterConfigInfoEx)
	default:
		e.setDetail(property, value)
	}
}

func (e *Entity) setDetail(property string, value types.AnyType) {
	switch property {
	case "runtime.connectionState":
		e.connected = As[types.HostSystemConnectionState](value) == types.HostSystemConnectionStateConnected
	case "runtime.inMaintenanceMode":
		e.Maintenance = As[bool](value)
	case "summary.accessible":
		e.Accessible = As[bool](value)
	case "summary.type":
		e.storage = As[string](value)
	case "summary.maintenanceMode":
		state := types.DatastoreSummaryMaintenanceModeState(As[string](value))
		e.Maintenance = state != "" && state != types.DatastoreSummaryMaintenanceModeStateNormal
	case "key":
		e.PortgroupKey = As[string](value)
	case "uuid":
		e.SwitchUUID = As[string](value)
	case "config.distributedVirtualSwitch":
		e.PortgroupSwitch = As[Ref](value)
	case "summary":
		opaque := As[types.OpaqueNetworkSummary](value)
		e.OpaqueID, e.OpaqueType = opaque.OpaqueNetworkId, opaque.OpaqueNetworkType
	}
}

// hostsOf returns a list of hosts, or the hosts of a datastore's working mounts.
func hostsOf(value types.AnyType) []Ref {
	mounts, ok := value.(types.ArrayOfDatastoreHostMount)
	if !ok {
		return As[types.ArrayOfManagedObjectReference](value).ManagedObjectReference
	}
	var hosts []Ref
	for _, mount := range mounts.DatastoreHostMount {
		if accessible := mount.MountInfo.Accessible; accessible == nil || *accessible {
			hosts = append(hosts, mount.Key)
		}
	}
	return hosts
}

func groupsOf(value types.AnyType) groupSet {
	set := groupSet{VMs: map[string][]Ref{}, Hosts: map[string][]Ref{}, of: map[Ref][]string{}}
	config := As[types.ClusterConfigInfoEx](value)
	for _, group := range config.Group {
		switch g := group.(type) {
		case *types.ClusterVmGroup:
			set.VMs[g.Name] = g.Vm
		case *types.ClusterHostGroup:
			set.Hosts[g.Name] = g.Host
		}
	}
	for _, groups := range []map[string][]Ref{set.VMs, set.Hosts} {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			for _, member := range groups[name] {
				set.of[member] = append(set.of[member], name)
			}
		}
	}
	for _, rule := range config.Rule {
		if r, ok := rule.(*types.ClusterVmHostRuleInfo); ok {
			enabled, mandatory := r.Enabled == nil || *r.Enabled, r.Mandatory != nil && *r.Mandatory
			set.rules = append(set.rules, hostRule{r.Name, r.VmGroupName, r.AffineHostGroupName, enabled, mandatory, r.Key})
		}
	}
	return set
}

func drsOf(value types.AnyType) drsMode {
	config := As[types.ClusterConfigInfoEx](value).DrsConfig
	return drsMode{enabled: config.Enabled != nil && *config.Enabled, behavior: string(config.DefaultVmBehavior)}
}

// BoundTo returns why a disk of devices cannot be the parent of a disk on another datastore, or "" if all can: vSAN and virtual
// volumes keep a disk and its parent on the same datastore. Files can refer to one another across other datastores, but a host
// must have access to both. hosts are the candidates to run the virtual machine; if empty, their access is not checked.
func (ix *Index) BoundTo(devices object.VirtualDeviceList, datastore Ref, hosts []Ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, device := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		backing, ok := device.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if !ok {
			continue
		}
		parent := backing.GetVirtualDeviceFileBackingInfo().Datastore
		if parent == nil || *parent == datastore {
			continue
		}
		if store, known := ix.Entities[*parent]; known {
			if bound := store.boundFrom(ix.Entities[datastore], hosts); bound != "" {
				return bound
			}
		}
	}
	return ""
}

// boundFrom returns why disks on the datastore cannot be parents of disks on another one.
func (e *Entity) boundFrom(other *Entity, hosts []Ref) string {
	mountsBoth := func(host Ref) bool {
		return slices.Contains(e.Hosts, host) && slices.Contains(other.Hosts, host)
	}
	switch {
	case e.keepsTogether():
		return fmt.Sprintf("its disk is on datastore %s of type %s, and a linked clone must be on the same datastore", e.Name, e.storage)
	case other != nil && len(hosts) > 0 && len(e.Hosts) > 0 && !slices.ContainsFunc(hosts, mountsBoth):
		return fmt.Sprintf("its disk is on datastore %s, and no host there mounts both it and datastore %s", e.Name, other.Name)
	default:
		return ""
	}
}

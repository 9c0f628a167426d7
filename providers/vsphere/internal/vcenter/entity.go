// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// kind is a class of objects that are looked up by name among one another.
type kind string

const (
	kindDatacenter kind = "datacenter"
	kindCompute    kind = "computeCluster"
	kindPool       kind = "resourcePool"
	kindFolder     kind = "folder"
	kindDatastore  kind = "datastore"
	kindNetwork    kind = "network"
	kindHost       kind = "host"
	kindSwitch     kind = "switch"
	kindVM         kind = "template" // a virtual machine is looked up by name only to be cloned
)

// kindOf returns "" for a type that the index does not keep.
func kindOf(managedType string) kind {
	switch managedType {
	case "Datacenter":
		return kindDatacenter
	case "ComputeResource", "ClusterComputeResource":
		return kindCompute
	case "ResourcePool":
		return kindPool
	case "Folder", "StoragePod":
		return kindFolder
	case "Datastore":
		return kindDatastore
	case "Network", "OpaqueNetwork", "DistributedVirtualPortgroup":
		return kindNetwork
	case "HostSystem":
		return kindHost
	case "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch":
		return kindSwitch
	}
	return ""
}

// entity is anything in the inventory but a virtual machine. Fields that a type does not have stay empty.
type entity struct {
	ref, parent ref
	name        string
	changes     int // that mattered, since the session began
	revision    int // how often it was reported

	vmFolder    ref      // Datacenter
	hosts       []ref    // compute resource: its hosts; network, datastore: the hosts that reach it
	networks    []ref    // compute resource
	rootPool    ref      // compute resource
	groups      groupSet // cluster
	drs         drsMode  // cluster
	readable    bool     // cluster: its configuration could be read
	connected   bool     // HostSystem
	maintenance bool     // HostSystem, Datastore
	accessible  bool     // Datastore
	storage     string   // Datastore: its type, such as VMFS

	portgroupKey, switchUUID string // distributed port group, distributed switch
	portgroupSwitch          ref
	opaqueID, opaqueType     string
}

// groupSet is a cluster's DRS groups and the rules that tie them.
type groupSet struct {
	vms, hosts map[string][]ref
	of         map[ref][]string // the same by member: names, sorted
	rules      []hostRule
}

type hostRule struct {
	name, vmGroup, hostGroup string
	enabled, mandatory       bool
}

// usable says whether a host can run virtual machines now.
func (e *entity) usable() bool { return e.connected && !e.maintenance }

// keepsTogether reports whether a datastore's disks have their parents there.
func (e *entity) keepsTogether() bool {
	return strings.EqualFold(e.storage, string(types.HostFileSystemVolumeFileSystemTypeVsan)) ||
		strings.EqualFold(e.storage, string(types.HostFileSystemVolumeFileSystemTypeVVOL))
}

// names returns the name as vCenter stores it, which escapes slashes, and as people write it.
func (e *entity) names() []string {
	if plain := unescape(e.name); plain != e.name {
		return []string{e.name, plain}
	}
	return []string{e.name}
}

func unescape(name string) string {
	return strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%").Replace(name)
}

// as reads a property. One that was unset is reported as nil and becomes the zero value.
func as[T any](value types.AnyType) T {
	typed, _ := value.(T)
	return typed
}

func (e *entity) set(property string, value types.AnyType) {
	switch property {
	case "name":
		e.name = as[string](value)
	case "parent":
		e.parent = as[ref](value)
	case "vmFolder":
		e.vmFolder = as[ref](value)
	case "host":
		e.hosts = hostsOf(value)
	case "network":
		e.networks = as[types.ArrayOfManagedObjectReference](value).ManagedObjectReference
	case "resourcePool":
		e.rootPool = as[ref](value)
	case "configurationEx":
		e.groups, e.drs = groupsOf(value), drsOf(value)
		_, e.readable = value.(types.ClusterConfigInfoEx)
	default:
		e.setDetail(property, value)
	}
}

func (e *entity) setDetail(property string, value types.AnyType) {
	switch property {
	case "runtime.connectionState":
		e.connected = as[types.HostSystemConnectionState](value) == types.HostSystemConnectionStateConnected
	case "runtime.inMaintenanceMode":
		e.maintenance = as[bool](value)
	case "summary.accessible":
		e.accessible = as[bool](value)
	case "summary.type":
		e.storage = as[string](value)
	case "summary.maintenanceMode":
		state := types.DatastoreSummaryMaintenanceModeState(as[string](value))
		e.maintenance = state != "" && state != types.DatastoreSummaryMaintenanceModeStateNormal
	case "key":
		e.portgroupKey = as[string](value)
	case "uuid":
		e.switchUUID = as[string](value)
	case "config.distributedVirtualSwitch":
		e.portgroupSwitch = as[ref](value)
	case "summary":
		opaque := as[types.OpaqueNetworkSummary](value)
		e.opaqueID, e.opaqueType = opaque.OpaqueNetworkId, opaque.OpaqueNetworkType
	}
}

// hostsOf reads a list of hosts, or of a datastore's mounts that work.
func hostsOf(value types.AnyType) []ref {
	mounts, ok := value.(types.ArrayOfDatastoreHostMount)
	if !ok {
		return as[types.ArrayOfManagedObjectReference](value).ManagedObjectReference
	}
	var hosts []ref
	for _, mount := range mounts.DatastoreHostMount {
		if accessible := mount.MountInfo.Accessible; accessible == nil || *accessible {
			hosts = append(hosts, mount.Key)
		}
	}
	return hosts
}

func groupsOf(value types.AnyType) groupSet {
	set := groupSet{vms: map[string][]ref{}, hosts: map[string][]ref{}, of: map[ref][]string{}}
	config := as[types.ClusterConfigInfoEx](value)
	for _, group := range config.Group {
		switch g := group.(type) {
		case *types.ClusterVmGroup:
			set.vms[g.Name] = g.Vm
		case *types.ClusterHostGroup:
			set.hosts[g.Name] = g.Host
		}
	}
	for _, groups := range []map[string][]ref{set.vms, set.hosts} {
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			for _, member := range groups[name] {
				set.of[member] = append(set.of[member], name)
			}
		}
	}
	for _, rule := range config.Rule {
		if r, ok := rule.(*types.ClusterVmHostRuleInfo); ok && r.AffineHostGroupName != "" {
			enabled, mandatory := r.Enabled == nil || *r.Enabled, r.Mandatory != nil && *r.Mandatory
			set.rules = append(set.rules, hostRule{r.Name, r.VmGroupName, r.AffineHostGroupName, enabled, mandatory})
		}
	}
	return set
}

func drsOf(value types.AnyType) drsMode {
	config := as[types.ClusterConfigInfoEx](value).DrsConfig
	return drsMode{enabled: config.Enabled != nil && *config.Enabled, behavior: string(config.DefaultVmBehavior)}
}

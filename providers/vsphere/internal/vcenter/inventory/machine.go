// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// PowerState of a virtual machine, in vCenter's words.
type PowerState string

// Power states.
const (
	PoweredOn  PowerState = "poweredOn"
	PoweredOff PowerState = "poweredOff"
	Suspended  PowerState = "suspended"
)

// ConnectionState says whether vCenter can manage a virtual machine, in vCenter's words.
type ConnectionState string

// Connection states. Only Disconnected ends with its host's return.
const (
	Connected    ConnectionState = "connected"
	Disconnected ConnectionState = "disconnected" // its host is lost
	Orphaned     ConnectionState = "orphaned"     // its host does not know it any more
	Inaccessible ConnectionState = "inaccessible" // its files cannot be read
	Invalid      ConnectionState = "invalid"      // its files make no sense
)

// VM is a virtual machine as the stream last reported it.
type VM struct {
	Ref, Name              string
	InstanceUUID, BiosUUID string
	Path                   string // inventory path, such as /dc/vm/folder/name
	FolderRef              string
	HostRef, Host          string // reference and name
	HostConnected          bool
	ResourcePoolRef        string
	Datacenter, Cluster    string // inventory paths, such as /dc and /dc/host/cluster
	ClusterRef             string // reference of Cluster
	Power                  PowerState
	Template               bool
	Connection             ConnectionState
	Annotation             string     // its notes, or what Options.KeepNotes leaves of them
	File                   string     // its configuration file, such as [datastore] folder/name.vmx
	ToolsRunning           bool       // as Guest
	Guest                  []GuestNIC // of virtual machines that Candidates has returned; empty until the stream reports it
}

// GuestNIC is one of the machine's own network cards as the guest reports it.
type GuestNIC struct {
	MAC, Network string
	IPs          []string
	Connected    bool
	DeviceKey    int32
}

// Location is where a virtual machine is.
type Location struct {
	Datacenter     string // inventory path
	ComputeCluster string // inventory path
	Host           string
	VMGroups       []string // of the cluster, that it is a member of
	HostGroups     []string // of the cluster, that its host is a member of
}

// Connected reports whether vCenter can manage the virtual machine: neither its host nor its files are lost.
func (v VM) Connected() bool { return v.Connection == Connected }

// Whole reports whether vCenter knows who the virtual machine is. One that is being made, or whose files cannot be read,
// may have no UUID.
func (v VM) Whole() bool { return v.InstanceUUID != "" || v.BiosUUID != "" }

// Machine is a virtual machine or template of an index.
type Machine struct {
	*record
	revision int // how often it was reported
}

// updated is the record after what was reported. When the virtual machine enters the stream that is all that it has.
func (m *Machine) updated(reported types.ObjectUpdate) record {
	now := *m.record
	if reported.Kind == types.ObjectUpdateKindEnter {
		for _, property := range VMProperties() {
			now.set(property, nil)
		}
	}
	for _, change := range reported.ChangeSet {
		now.set(change.Name, change.Val)
	}
	return now
}

// Candidates returns the virtual machines that have the instance UUID, the BIOS UUID or the reference, each once.
func (ix *Index) Candidates(instance, bios string, recorded Ref) []VM {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	refs := append([]Ref{recorded}, refsOf(ix.instances[strings.ToLower(instance)])...)
	refs = append(refs, refsOf(ix.bios[strings.ToLower(bios)])...)
	slices.SortFunc(refs, CompareRefs)
	var found []VM
	for _, r := range slices.Compact(refs) {
		if vm, ok := ix.VM(r); ok {
			found = append(found, vm)
		}
	}
	return found
}

// VM returns a virtual machine in the package's words. The lock is held.
func (ix *Index) VM(r Ref) (VM, bool) {
	m, ok := ix.VMs[r]
	if !ok {
		return VM{}, false
	}
	vm := VM{
		Ref: m.Ref.String(), Name: m.Name, InstanceUUID: m.InstanceUUID, BiosUUID: m.BiosUUID,
		Path: ix.Path(m.Parent) + "/" + m.Name, FolderRef: RefString(m.Parent), HostRef: RefString(m.host),
		ResourcePoolRef: RefString(m.pool), Power: PowerState(m.power), Template: m.Template,
		Connection: ConnectionState(m.connection), Annotation: m.annotation, File: m.file, ToolsRunning: ix.details[r].tools, Guest: ix.details[r].guest,
	}
	if host, ok := ix.Entities[m.host]; ok {
		vm.Host, vm.HostConnected = host.Name, host.connected
	}
	if dc := ix.Above(m.Parent, KindDatacenter); dc != nil {
		vm.Datacenter = ix.Path(dc.Ref)
	}
	if compute := ix.computeOf(m); compute != nil {
		vm.Cluster, vm.ClusterRef = ix.Path(compute.Ref), compute.Ref.String()
	}
	return vm, true
}

func (ix *Index) computeOf(m *Machine) *Entity {
	if compute := ix.Above(m.host, KindCompute); compute != nil {
		return compute
	}
	return ix.Above(m.pool, KindCompute)
}

// Above returns the nearest object of a kind at or above r, or nil.
func (ix *Index) Above(r Ref, kind Kind) *Entity {
	for e := ix.Entities[r]; e != nil; e = ix.Entities[e.Parent] {
		if KindOf(e.Ref.Type) == kind {
			return e
		}
	}
	return nil
}

// Path returns the inventory path of an entity. The root folder has none.
func (ix *Index) Path(r Ref) string {
	e, ok := ix.Entities[r]
	if !ok || e.Parent == (Ref{}) {
		return ""
	}
	return ix.Path(e.Parent) + "/" + e.Name
}

// RefString returns type and value, "" for no reference.
func RefString(r Ref) string {
	if r == (Ref{}) {
		return ""
	}
	return r.String()
}

// ParseRef reads a reference, with its type or without when there is only one that it can be.
func ParseRef(managedType, s string) Ref {
	var r Ref
	if r.FromString(s) {
		return r
	}
	return Ref{Type: managedType, Value: s}
}

// NameOf returns the name of an object that is there. The lock is held.
func (ix *Index) NameOf(r Ref) string {
	if m, ok := ix.VMs[r]; ok {
		return m.Name
	}
	return ix.Entities[r].Name
}

// FullPath returns the inventory path of an object, be it a virtual machine. The lock is held.
func (ix *Index) FullPath(r Ref) string {
	if m, ok := ix.VMs[r]; ok {
		return ix.Path(m.Parent) + "/" + m.Name
	}
	return ix.Path(r)
}

// Unfinished returns the virtual machines of a name that have no UUIDs.
func (ix *Index) Unfinished(name string) []VM {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var found []VM
	for _, m := range ix.vmNames[name] {
		if vm, ok := ix.VM(m.Ref); ok && !vm.Whole() {
			found = append(found, vm)
		}
	}
	return found
}

// VMOf returns the virtual machine of a reference.
func (ix *Index) VMOf(r Ref) (VM, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.VM(r)
}

// VMIn returns a virtual machine or template directly in a folder.
func (ix *Index) VMIn(folder Ref, name string) (VM, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, m := range ix.vmNames[name] {
		if m.Parent == folder {
			ix.Missed.Note(name) // whoever asks waits for the name to become free
			return ix.VM(m.Ref)
		}
	}
	return VM{}, false
}

// Locate returns where a virtual machine is, and nothing if it is gone.
func (ix *Index) Locate(r Ref) Location {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	m, ok := ix.VMs[r]
	if !ok {
		return Location{}
	}
	now, _ := ix.VM(m.Ref)
	location := Location{Datacenter: now.Datacenter, ComputeCluster: now.Cluster, Host: now.Host}
	if compute := ix.computeOf(m); compute != nil {
		location.VMGroups = slices.Clone(compute.Groups.of[m.Ref])
		location.HostGroups = slices.Clone(compute.Groups.of[m.host])
	}
	return location
}

// ByInstanceUUID returns the virtual machine of an instance UUID. The lock is held.
func (ix *Index) ByInstanceUUID(uuid string) (Ref, bool) {
	found := ix.instances[strings.ToLower(uuid)]
	if len(found) == 0 {
		return Ref{}, false
	}
	return found[0].Ref, true
}

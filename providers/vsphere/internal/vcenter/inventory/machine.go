// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// PowerState is the power state of a virtual machine, in vCenter's terms.
type PowerState string

// Power states.
const (
	PoweredOn  PowerState = "poweredOn"
	PoweredOff PowerState = "poweredOff"
	Suspended  PowerState = "suspended"
)

// ConnectionState is the connection state of a virtual machine, in vCenter's terms.
type ConnectionState string

// Connection states. Only Disconnected ends when the host returns.
const (
	Connected    ConnectionState = "connected"
	Disconnected ConnectionState = "disconnected" // its host is not connected
	Orphaned     ConnectionState = "orphaned"     // its host does not have it any more
	Inaccessible ConnectionState = "inaccessible" // its files cannot be read
	Invalid      ConnectionState = "invalid"      // its files are invalid
)

// VM is a virtual machine as last reported by the stream.
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
	Annotation             string     // its notes, or the part that Options.KeepNotes keeps
	File                   string     // its configuration file, such as [datastore] folder/name.vmx
	ToolsRunning           bool       // as in Guest
	Guest                  []GuestNIC // for virtual machines that Candidates has returned; empty until the stream reports it
}

// GuestNIC is one of the machine's own network cards, as reported by the guest.
type GuestNIC struct {
	MAC, Network string
	IPs          []string
	Connected    bool
	DeviceKey    int32
}

// Location is the location of a virtual machine in the inventory.
type Location struct {
	Datacenter     string // inventory path
	ComputeCluster string // inventory path
	Host           string
	VMGroups       []string // VM groups of the cluster to which it belongs
	HostGroups     []string // host groups of the cluster to which its host belongs
}

// Connected reports whether vCenter can manage the virtual machine: its host is connected and its files are accessible.
func (v VM) Connected() bool { return v.Connection == Connected }

// Whole reports whether vCenter reports a UUID of the virtual machine. A machine that is being created, or whose files cannot
// be read, may have none.
func (v VM) Whole() bool { return v.InstanceUUID != "" || v.BiosUUID != "" }

// Machine is a virtual machine or template of an index.
type Machine struct {
	*record
	revision int // how often it was reported
}

// updated returns the record with the reported changes. When a virtual machine enters the stream, all of its properties are
// reported.
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

// Candidates returns the virtual machines with the instance UUID, the BIOS UUID or the reference, each once.
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

// VM returns a virtual machine. The caller must hold the lock.
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

// RefString returns type and value, or "" for the zero reference.
func RefString(r Ref) string {
	if r == (Ref{}) {
		return ""
	}
	return r.String()
}

// ParseRef parses a reference with its type, or one of managedType without it.
func ParseRef(managedType, s string) Ref {
	var r Ref
	if r.FromString(s) {
		return r
	}
	return Ref{Type: managedType, Value: s}
}

// NameOf returns the name of an existing object. The caller must hold the lock.
func (ix *Index) NameOf(r Ref) string {
	if m, ok := ix.VMs[r]; ok {
		return m.Name
	}
	return ix.Entities[r].Name
}

// FullPath returns the inventory path of an object, including virtual machines. The caller must hold the lock.
func (ix *Index) FullPath(r Ref) string {
	if m, ok := ix.VMs[r]; ok {
		return ix.Path(m.Parent) + "/" + m.Name
	}
	return ix.Path(r)
}

// Unfinished returns the virtual machines with a name that have no UUIDs.
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

// VMOf returns the virtual machine with a reference.
func (ix *Index) VMOf(r Ref) (VM, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.VM(r)
}

// VMIn returns a virtual machine or template that is directly in a folder.
func (ix *Index) VMIn(folder Ref, name string) (VM, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	for _, m := range ix.vmNames[name] {
		if m.Parent == folder {
			ix.Missed.Note(name) // the caller waits for the name to become free
			return ix.VM(m.Ref)
		}
	}
	return VM{}, false
}

// Locate returns where a virtual machine is, or a zero Location if it does not exist.
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

// ByInstanceUUID returns the virtual machine with an instance UUID. The caller must hold the lock.
func (ix *Index) ByInstanceUUID(uuid string) (Ref, bool) {
	found := ix.instances[strings.ToLower(uuid)]
	if len(found) == 0 {
		return Ref{}, false
	}
	return found[0].Ref, true
}

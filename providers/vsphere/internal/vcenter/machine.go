// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

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

// Candidates returns the virtual machines that have the instance UUID, the BIOS UUID or the reference, each once. Of one
// BIOS UUID, which vCenter does not keep unique, there may be several: a copy that was registered or restored. What the
// guests report is followed from now on: VMChanged events tell of it.
func (s *Session) Candidates(instanceUUID, biosUUID, vmRef string) []VM {
	found := s.index.candidates(instanceUUID, biosUUID, parseRef("VirtualMachine", vmRef))
	for i := range found {
		s.want(parseRef("VirtualMachine", found[i].Ref), found[i].Power)
	}
	return found
}

// Unfinished returns the virtual machines of a name that vCenter does not know the UUIDs of, or not yet.
func (s *Session) Unfinished(name string) []VM {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	var found []VM
	for _, m := range s.index.vmNames[name] {
		if vm, ok := s.index.vm(m.ref); ok && !vm.Whole() {
			found = append(found, vm)
		}
	}
	return found
}

// VMByRef finds a virtual machine by reference.
func (s *Session) VMByRef(vmRef string) (VM, bool) {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	return s.index.vm(parseRef("VirtualMachine", vmRef))
}

// VMInFolder finds a virtual machine or template directly in a folder.
func (s *Session) VMInFolder(folderRef, name string) (VM, bool) {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	folder := parseRef("Folder", folderRef)
	for _, m := range s.index.vmNames[name] {
		if m.parent == folder {
			s.index.missed.note(name) // whoever asks waits for the name to become free
			return s.index.vm(m.ref)
		}
	}
	return VM{}, false
}

// Locate says where a virtual machine is now, and nothing if it is gone.
func (s *Session) Locate(vm VM) Location {
	ix := s.index
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	m, ok := ix.vms[parseRef("VirtualMachine", vm.Ref)]
	if !ok {
		return Location{}
	}
	now, _ := ix.vm(m.ref)
	location := Location{Datacenter: now.Datacenter, ComputeCluster: now.Cluster, Host: now.Host}
	if compute := ix.computeOf(m); compute != nil {
		location.VMGroups = slices.Clone(compute.groups.of[m.ref])
		location.HostGroups = slices.Clone(compute.groups.of[m.host])
	}
	return location
}

// machine is a virtual machine or template of an index.
type machine struct {
	*record
	revision int // how often it was reported
}

// updated is the record after what was reported. When the virtual machine enters the stream that is all that it has.
func (m *machine) updated(reported types.ObjectUpdate) record {
	now := *m.record
	if reported.Kind == types.ObjectUpdateKindEnter {
		for _, property := range vmProperties() {
			now.set(property, nil)
		}
	}
	for _, change := range reported.ChangeSet {
		now.set(change.Name, change.Val)
	}
	return now
}

func (ix *index) candidates(instance, bios string, recorded ref) []VM {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	refs := append([]ref{recorded}, refsOf(ix.instances[strings.ToLower(instance)])...)
	refs = append(refs, refsOf(ix.bios[strings.ToLower(bios)])...)
	slices.SortFunc(refs, compareRefs)
	var found []VM
	for _, r := range slices.Compact(refs) {
		if vm, ok := ix.vm(r); ok {
			found = append(found, vm)
		}
	}
	return found
}

// vm returns a virtual machine in the package's words. The lock is held.
func (ix *index) vm(r ref) (VM, bool) {
	m, ok := ix.vms[r]
	if !ok {
		return VM{}, false
	}
	vm := VM{
		Ref: m.ref.String(), Name: m.name, InstanceUUID: m.instanceUUID, BiosUUID: m.biosUUID,
		Path: ix.path(m.parent) + "/" + m.name, FolderRef: refString(m.parent), HostRef: refString(m.host),
		ResourcePoolRef: refString(m.pool), Power: PowerState(m.power), Template: m.template,
		Connection: ConnectionState(m.connection), Annotation: m.annotation, File: m.file, ToolsRunning: ix.details[r].tools, Guest: ix.details[r].guest,
	}
	if host, ok := ix.entities[m.host]; ok {
		vm.Host, vm.HostConnected = host.name, host.connected
	}
	if dc := ix.above(m.parent, kindDatacenter); dc != nil {
		vm.Datacenter = ix.path(dc.ref)
	}
	if compute := ix.computeOf(m); compute != nil {
		vm.Cluster, vm.ClusterRef = ix.path(compute.ref), compute.ref.String()
	}
	return vm, true
}

func (ix *index) computeOf(m *machine) *entity {
	if compute := ix.above(m.host, kindCompute); compute != nil {
		return compute
	}
	return ix.above(m.pool, kindCompute)
}

// above returns the nearest object of a kind at or above r, or nil.
func (ix *index) above(r ref, kind kind) *entity {
	for e := ix.entities[r]; e != nil; e = ix.entities[e.parent] {
		if kindOf(e.ref.Type) == kind {
			return e
		}
	}
	return nil
}

// path returns the inventory path of an entity. The root folder has none.
func (ix *index) path(r ref) string {
	e, ok := ix.entities[r]
	if !ok || e.parent == (ref{}) {
		return ""
	}
	return ix.path(e.parent) + "/" + e.name
}

func refString(r ref) string {
	if r == (ref{}) {
		return ""
	}
	return r.String()
}

// parseRef reads a reference, with its type or without when there is only one that it can be.
func parseRef(managedType, s string) ref {
	var r ref
	if r.FromString(s) {
		return r
	}
	return ref{Type: managedType, Value: s}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// record holds what the index keeps of every virtual machine or template, managed here or not. It is immutable once it is
// shared.
type record struct {
	Ref, Parent, host, pool Ref
	Name                    string
	InstanceUUID, BiosUUID  string
	annotation, file        string
	power                   types.VirtualMachinePowerState
	connection              types.VirtualMachineConnectionState
	Template                bool
}

func (r *record) set(property string, value types.AnyType) {
	switch property {
	case "name":
		r.Name = As[string](value)
	case "parent":
		r.Parent = As[Ref](value)
	case "summary.config":
		r.setConfig(value)
	case "resourcePool":
		r.pool = As[Ref](value)
	case "runtime.host":
		r.host = As[Ref](value)
	case "runtime.powerState":
		r.power = As[types.VirtualMachinePowerState](value)
	case "runtime.connectionState":
		r.connection = As[types.VirtualMachineConnectionState](value)
	}
}

// setConfig keeps the known UUIDs and file while vCenter cannot read the virtual machine's files and reports none: they do not
// change without a new value.
func (r *record) setConfig(value types.AnyType) {
	config, there := value.(types.VirtualMachineConfigSummary)
	if !there {
		return
	}
	r.Template, r.annotation = config.Template, config.Annotation
	r.file = cmp.Or(config.VmPathName, r.file)
	r.InstanceUUID = cmp.Or(config.InstanceUuid, r.InstanceUUID)
	r.BiosUUID = cmp.Or(config.Uuid, r.BiosUUID)
}

// Records keeps one copy of what is equal for several accounts of a vCenter. The accounts share nothing else: each has its own
// stream and index. Only vCenter can decide what an account may see, and the permissions change without notice. If one read
// served all accounts, a tenant could see, and act on, virtual machines without permission.
type Records struct {
	keep func(notes string) string // returns the part of a virtual machine's notes to keep

	mu    sync.Mutex
	vms   map[string]*sharedRecord // by the reference's value
	words map[string]string        // strings with few distinct values, one copy each
}

type sharedRecord struct {
	latest *record
	users  int // indexes that have the virtual machine, possibly with an older record
}

// NewRecords returns empty records. keep returns the part of notes to keep; if nil, notes are kept in full.
func NewRecords(keep func(notes string) string) *Records {
	return &Records{keep: keep, vms: map[string]*sharedRecord{}, words: map[string]string{}}
}

// share returns the record to use for all equal ones. isNew is true for the first record of a virtual machine in an index.
func (r *Records) share(one record, isNew bool) *record {
	if r.keep != nil {
		one.annotation = r.keep(one.annotation)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shared, ok := r.vms[one.Ref.Value]
	if !ok {
		r.intern(&one)
		shared = &sharedRecord{latest: &one}
		r.vms[one.Ref.Value] = shared
	}
	if isNew {
		shared.users++
	}
	if *shared.latest != one {
		r.intern(&one)
		shared.latest = &one
	}
	return shared.latest
}

// release records that an index no longer has the virtual machine.
func (r *Records) release(vm Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	shared, ok := r.vms[vm.Value]
	if !ok {
		return
	}
	if shared.users--; shared.users == 0 {
		delete(r.vms, vm.Value)
	}
	if len(r.vms) == 0 {
		r.words = map[string]string{} // none is in use
	}
}

func (r *Records) intern(one *record) {
	one.Ref.Type = r.word(one.Ref.Type)
	for _, related := range []*Ref{&one.Parent, &one.host, &one.pool} {
		related.Type, related.Value = r.word(related.Type), r.word(related.Value)
	}
	one.power = types.VirtualMachinePowerState(r.word(string(one.power)))
	one.connection = types.VirtualMachineConnectionState(r.word(string(one.connection)))
	one.annotation = strings.Clone(one.annotation) // may be a substring of longer notes
}

func (r *Records) word(w string) string {
	if known, ok := r.words[w]; ok {
		return known
	}
	r.words[w] = w
	return w
}

// Shared holds the records of a pool, by server.
type Shared struct {
	Keep func(notes string) string

	mu sync.Mutex
	of map[string]*Records
}

// Records returns the records of a server.
func (v *Shared) Records(server string) *Records {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[string]*Records{}
	}
	if v.of[server] == nil {
		v.of[server] = NewRecords(v.Keep)
	}
	return v.of[server]
}

// Forget drops the records of a server.
func (v *Shared) Forget(server string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.of, server)
}

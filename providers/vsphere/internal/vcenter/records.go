// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// record is what the index keeps of every virtual machine or template, whoever it belongs to. It never changes once it is
// shared.
type record struct {
	ref, parent, host, pool ref
	name                    string
	instanceUUID, biosUUID  string
	annotation, file        string
	power                   types.VirtualMachinePowerState
	connection              types.VirtualMachineConnectionState
	template                bool
}

func (r *record) set(property string, value types.AnyType) {
	switch property {
	case "name":
		r.name = as[string](value)
	case "parent":
		r.parent = as[ref](value)
	case "summary.config":
		r.setConfig(value)
	case "resourcePool":
		r.pool = as[ref](value)
	case "runtime.host":
		r.host = as[ref](value)
	case "runtime.powerState":
		r.power = as[types.VirtualMachinePowerState](value)
	case "runtime.connectionState":
		r.connection = as[types.VirtualMachineConnectionState](value)
	}
}

// setConfig keeps the UUIDs and the file that are known while vCenter cannot read the virtual machine's files and reports
// none: they do not change without a new value.
func (r *record) setConfig(value types.AnyType) {
	config, there := value.(types.VirtualMachineConfigSummary)
	if !there {
		return
	}
	r.template, r.annotation = config.Template, config.Annotation
	r.file = cmp.Or(config.VmPathName, r.file)
	r.instanceUUID = cmp.Or(config.InstanceUuid, r.instanceUUID)
	r.biosUUID = cmp.Or(config.Uuid, r.biosUUID)
}

// records keeps what is equal for several accounts of a vCenter once. That is all that the accounts share: each has a
// stream and an index of its own. What an account may see only vCenter can say, and the answer changes without notice; if
// one reading served all, a tenant could be shown, and act on, virtual machines that his account has no right to.
type records struct {
	keep func(notes string) string // the part of a virtual machine's notes that is kept

	mu    sync.Mutex
	vms   map[string]*sharedRecord // by the value of the reference
	words map[string]string        // of which there are few, in one copy each
}

type sharedRecord struct {
	latest *record
	users  int // indexes that have the virtual machine, be it with an older record
}

func newRecords(keep func(notes string) string) *records {
	return &records{keep: keep, vms: map[string]*sharedRecord{}, words: map[string]string{}}
}

// share returns the record that all use which are equal to this one. The first of an index for a virtual machine is new to it.
func (r *records) share(one record, isNew bool) *record {
	if r.keep != nil {
		one.annotation = r.keep(one.annotation)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shared, ok := r.vms[one.ref.Value]
	if !ok {
		r.intern(&one)
		shared = &sharedRecord{latest: &one}
		r.vms[one.ref.Value] = shared
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

// release tells that an index has the virtual machine no more.
func (r *records) release(vm ref) {
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

func (r *records) intern(one *record) {
	one.ref.Type = r.word(one.ref.Type)
	for _, related := range []*ref{&one.parent, &one.host, &one.pool} {
		related.Type, related.Value = r.word(related.Type), r.word(related.Value)
	}
	one.power = types.VirtualMachinePowerState(r.word(string(one.power)))
	one.connection = types.VirtualMachineConnectionState(r.word(string(one.connection)))
	one.annotation = strings.Clone(one.annotation) // may be a part of longer notes
}

func (r *records) word(w string) string {
	if known, ok := r.words[w]; ok {
		return known
	}
	r.words[w] = w
	return w
}

// vcenters holds the records of a pool, by server.
type vcenters struct {
	keep func(notes string) string

	mu sync.Mutex
	of map[string]*records
}

func (v *vcenters) records(server string) *records {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[string]*records{}
	}
	if v.of[server] == nil {
		v.of[server] = newRecords(v.keep)
	}
	return v.of[server]
}

func (v *vcenters) forget(server string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.of, server)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// structure lets one task at a time change the structure of the inventory. vcsim
// walks and changes its lists of children under different locks, and shows a new
// VM to everybody before it has a host or devices.
type structure struct {
	turn sync.Mutex

	mu      sync.Mutex
	maker   *simulator.Context // the task that makes VMs now
	unlocks []func()
	macs    uint32                               // addresses ever given to cards
	placed  map[types.ManagedObjectReference]int // VMs ever put on a host

	full sync.Map // hosts on which DRS may start no VM
}

func newStructure() *structure {
	return &structure{placed: map[types.ManagedObjectReference]int{}}
}

// structural tasks make, remove or move objects, or write names, which vcsim reads without a lock to look objects up.
func structural(method string) bool {
	switch method {
	case "CloneVM_Task", "CreateVM_Task", "RegisterVM_Task", "Destroy_Task", "RelocateVM_Task",
		"MoveIntoFolder_Task", "Rename_Task", "ReconfigVM_Task", "AddHost_Task", "AddDVPortgroup_Task", "ReconfigureDvs_Task":
		return true
	}
	return false
}

// enter waits for the turn of the task and answers how it ends.
func (st *structure) enter(ctx *simulator.Context, r *request) (leave func()) {
	if !structural(r.method.Name) {
		return func() {}
	}
	st.turn.Lock()
	st.mu.Lock()
	st.maker = ctx
	st.mu.Unlock()
	return func() {
		st.mu.Lock()
		unlocks := st.unlocks
		st.maker, st.unlocks = nil, nil
		st.mu.Unlock()
		for _, unlock := range unlocks {
			unlock()
		}
		st.turn.Unlock()
	}
}

// own takes a turn for a change that is no task.
func (st *structure) own() (leave func()) {
	st.turn.Lock()
	return st.turn.Unlock
}

// hold keeps a VM that is being made locked, on behalf of its maker, until it is
// complete. The maker holds the lock already when it is put.
func (st *structure) hold(vm *simulator.VirtualMachine) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.maker != nil {
		st.unlocks = append(st.unlocks, st.maker.Map.AcquireLock(st.maker, vm))
	}
}

// choose returns the usable host that fits and has been chosen least, by name
// among equals. It counts choices, not VMs, so that clones which start together
// spread.
func (st *structure) choose(hosts []hostView, fits func(hostView) bool) (hostView, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	var able []hostView
	for _, host := range hosts {
		if host.usable && fits(host) {
			able = append(able, host)
		}
	}
	if len(able) == 0 {
		return hostView{}, false
	}
	chosen := slices.MinFunc(able, func(a, b hostView) int {
		return cmp.Or(cmp.Compare(st.placed[a.ref], st.placed[b.ref]), cmp.Compare(a.name, b.name))
	})
	st.placed[chosen.ref]++
	return chosen, true
}

// setFull notes whether DRS may start VMs on a host.
func (st *structure) setFull(host types.ManagedObjectReference, full bool) {
	if full {
		st.full.Store(host, nil)
	} else {
		st.full.Delete(host)
	}
}

func (st *structure) isFull(host types.ManagedObjectReference) bool {
	_, full := st.full.Load(host)
	return full
}

// nextMAC returns an address of vCenter's range that no card has. vcsim lets
// clones keep the addresses of their template.
func (st *structure) nextMAC() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.macs++
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", 0x80|st.macs>>16&0x3f, st.macs>>8&0xff, st.macs&0xff)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Visibility says how new VMs come into sight, and which are out of it.
type Visibility struct {
	inventory *Inventory
	turns     *Turns

	mu               sync.Mutex
	hidden, nameless bool
	unseen           map[types.ManagedObjectReference]bool
}

// NewVisibility shows all VMs. Taking one out of its folder takes a turn.
func NewVisibility(i *Inventory, turns *Turns) *Visibility {
	return &Visibility{inventory: i, turns: turns}
}

// Hide takes a VM out of its folder and of what property collectors find by any other way, although it exists, as when
// an account loses its permission on it. vcsim's own collector still finds it by way of its pool, its host or a container view.
func (v *Visibility) Hide(vm string) error {
	return v.inFolder(vm, v.takeOut)
}

// Show undoes Hide.
func (v *Visibility) Show(vm string) error {
	return v.inFolder(vm, func(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
		v.hide(ref, false)
		v.inventory.Registry.AddReference(ctx, folder, &folder.ChildEntity, ref)
		ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
	})
}

// HideClones makes clones that end from now on appear in no folder, as for an
// account that has no permission on what it makes. Show undoes it for one.
func (v *Visibility) HideClones(hidden bool) {
	v.set(func(v *Visibility) { v.hidden = hidden })
}

// WithholdUUIDs makes clones that end from now on appear without their UUIDs, as a
// VM does that vCenter has not finished. RevealUUIDs shows those of one.
func (v *Visibility) WithholdUUIDs(withheld bool) {
	v.set(func(v *Visibility) { v.nameless = withheld })
}

// RevealUUIDs undoes WithholdUUIDs for a VM.
func (v *Visibility) RevealUUIDs(vm string) error {
	return v.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) { showUUIDs(ctx, machine, true) })
}

// Present brings a clone that is complete into sight. The clone is locked.
func (v *Visibility) Present(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	v.mu.Lock()
	hidden, nameless := v.hidden, v.nameless
	v.mu.Unlock()
	if nameless {
		showUUIDs(ctx, vm, false)
	}
	folder, ok := Get[*simulator.Folder](v.inventory, vm.Parent)
	if hidden && ok {
		ctx.WithLock(folder, func() { v.takeOut(ctx, folder, vm.Self) })
	}
}

// Visible leaves out what clients may not see.
func (v *Visibility) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return v.unseen[ref] })
}

// Forget is for a VM that has gone.
func (v *Visibility) Forget(ref types.ManagedObjectReference) { v.hide(ref, false) }

func (v *Visibility) inFolder(vm string, do func(*simulator.Context, *simulator.Folder, types.ManagedObjectReference)) error {
	machine, err := v.inventory.VM(vm)
	if err != nil {
		return err
	}
	folder, ok := Get[*simulator.Folder](v.inventory, machine.Parent)
	if !ok {
		return fmt.Errorf("VM %s is in no folder", vm)
	}
	defer v.turns.Own()()
	ctx := v.inventory.Call()
	ctx.WithLock(folder, func() { do(ctx, folder, machine.Self) })
	return nil
}

// showUUIDs shows or hides the UUIDs of the locked VM in its summary, which is what clients follow.
func showUUIDs(ctx *simulator.Context, vm *simulator.VirtualMachine, shown bool) {
	var instance, bios string
	if shown {
		instance, bios = vm.Config.InstanceUuid, vm.Config.Uuid
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "summary.config.instanceUuid", Val: instance}, {Name: "summary.config.uuid", Val: bios},
	})
}

func (v *Visibility) set(change func(*Visibility)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(v)
}

// hide notes whether clients may see an object.
func (v *Visibility) hide(ref types.ManagedObjectReference, hidden bool) {
	v.set(func(v *Visibility) {
		if v.unseen == nil {
			v.unseen = map[types.ManagedObjectReference]bool{}
		}
		if hidden {
			v.unseen[ref] = true
		} else {
			delete(v.unseen, ref)
		}
	})
}

// takeOut takes a VM out of the locked folder, but not out of vCenter. Its pool, its
// host and container views lead to it still, so it is noted too.
func (v *Visibility) takeOut(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
	v.hide(ref, true)
	v.inventory.Registry.RemoveReference(ctx, folder, &folder.ChildEntity, ref)
	ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
}

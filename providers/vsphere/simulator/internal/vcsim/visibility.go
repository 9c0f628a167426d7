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

// Visibility controls how new VMs become visible, and which VMs are hidden.
type Visibility struct {
	inventory *Inventory
	turns     *Turns

	mu               sync.Mutex
	hidden, nameless bool
	unseen           map[types.ManagedObjectReference]bool
}

// NewVisibility returns a Visibility that shows all VMs. Removing a VM from its folder takes a turn.
func NewVisibility(i *Inventory, turns *Turns) *Visibility {
	return &Visibility{inventory: i, turns: turns}
}

// Hide hides an existing VM in its folder and from property collectors, as when an account loses its permission on it. vcsim's
// own collector still finds it through its pool, its host or a container view.
func (v *Visibility) Hide(vm string) error {
	return v.inFolder(vm, v.takeOut)
}

// Show reverts Hide.
func (v *Visibility) Show(vm string) error {
	return v.inFolder(vm, func(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
		v.hide(ref, false)
		v.inventory.Registry.AddReference(ctx, folder, &folder.ChildEntity, ref)
		ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
	})
}

// HideClones makes clones that complete from now on appear in no folder, as for an account without permission on the VMs that it
// creates. Show reverts it for one VM.
func (v *Visibility) HideClones(hidden bool) {
	v.set(func(v *Visibility) { v.hidden = hidden })
}

// WithholdUUIDs makes clones that complete from now on appear without their UUIDs, like a VM that vCenter is still creating.
// RevealUUIDs shows those of one VM.
func (v *Visibility) WithholdUUIDs(withheld bool) {
	v.set(func(v *Visibility) { v.nameless = withheld })
}

// RevealUUIDs reverts WithholdUUIDs for a VM.
func (v *Visibility) RevealUUIDs(vm string) error {
	return v.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) { showUUIDs(ctx, machine, true) })
}

// Present makes a completed clone visible. The clone is locked.
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

// Visible returns the references that clients may see.
func (v *Visibility) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return v.unseen[ref] })
}

// Forget removes the state of a deleted VM.
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

// showUUIDs shows or hides the UUIDs in the summary of the locked VM, which clients watch.
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

// hide sets whether clients may see an object.
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

// takeOut removes a VM from the locked folder, but not from vCenter. It can still be reached through its pool, its host and
// container views, so it is also marked as hidden.
func (v *Visibility) takeOut(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
	v.hide(ref, true)
	v.inventory.Registry.RemoveReference(ctx, folder, &folder.ChildEntity, ref)
	ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
}

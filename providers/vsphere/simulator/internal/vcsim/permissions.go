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

// Permissions controls which VMs clients can see, and how new VMs become visible.
type Permissions struct {
	inventory *Inventory
	structure *StructureLock

	mu                        sync.Mutex
	hideClones, withholdUUIDs bool
	hidden                    map[types.ManagedObjectReference]bool
}

// NewPermissions returns Permissions that show all VMs. Removing a VM from its folder locks the structure.
func NewPermissions(i *Inventory, structure *StructureLock) *Permissions {
	return &Permissions{inventory: i, structure: structure}
}

// Hide hides an existing VM in its folder and from property collectors, as when an account loses its permission on it. vcsim's
// own collector still finds it through its pool, its host or a container view.
func (p *Permissions) Hide(vm string) error {
	return p.editFolder(vm, p.removeFromFolder)
}

// Show reverts Hide.
func (p *Permissions) Show(vm string) error {
	return p.editFolder(vm, func(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
		p.setHidden(ref, false)
		p.inventory.Registry.AddReference(ctx, folder, &folder.ChildEntity, ref)
		ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
	})
}

// HideClones makes clones that complete from now on appear in no folder, as for an account without permission on the VMs that it
// creates. Show reverts it for one VM.
func (p *Permissions) HideClones(hidden bool) {
	p.update(func(p *Permissions) { p.hideClones = hidden })
}

// WithholdUUIDs makes clones that complete from now on appear without their UUIDs, like a VM that vCenter is still creating.
// RevealUUIDs shows those of one VM.
func (p *Permissions) WithholdUUIDs(withheld bool) {
	p.update(func(p *Permissions) { p.withholdUUIDs = withheld })
}

// RevealUUIDs reverts WithholdUUIDs for a VM.
func (p *Permissions) RevealUUIDs(vm string) error {
	return p.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) { showUUIDs(ctx, machine, true) })
}

// PublishClone makes a completed clone visible. The clone is locked.
func (p *Permissions) PublishClone(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	p.mu.Lock()
	hidden, nameless := p.hideClones, p.withholdUUIDs
	p.mu.Unlock()
	if nameless {
		showUUIDs(ctx, vm, false)
	}
	folder, ok := Get[*simulator.Folder](p.inventory, vm.Parent)
	if hidden && ok {
		ctx.WithLock(folder, func() { p.removeFromFolder(ctx, folder, vm.Self) })
	}
}

// Visible returns the references that clients may see.
func (p *Permissions) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return p.hidden[ref] })
}

// Forget removes the state of a deleted VM.
func (p *Permissions) Forget(ref types.ManagedObjectReference) { p.setHidden(ref, false) }

func (p *Permissions) editFolder(vm string, do func(*simulator.Context, *simulator.Folder, types.ManagedObjectReference)) error {
	machine, err := p.inventory.VM(vm)
	if err != nil {
		return err
	}
	folder, ok := Get[*simulator.Folder](p.inventory, machine.Parent)
	if !ok {
		return fmt.Errorf("VM %s is not in a folder", vm)
	}
	defer p.structure.LockStructure()()
	ctx := p.inventory.NewContext()
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

func (p *Permissions) update(change func(*Permissions)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// setHidden sets whether clients may see an object.
func (p *Permissions) setHidden(ref types.ManagedObjectReference, hidden bool) {
	p.update(func(p *Permissions) {
		if p.hidden == nil {
			p.hidden = map[types.ManagedObjectReference]bool{}
		}
		if hidden {
			p.hidden[ref] = true
		} else {
			delete(p.hidden, ref)
		}
	})
}

// removeFromFolder removes a VM from the locked folder, but not from vCenter. It can still be reached through its pool, its host and
// container views, so it is also marked as hidden.
func (p *Permissions) removeFromFolder(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
	p.setHidden(ref, true)
	p.inventory.Registry.RemoveReference(ctx, folder, &folder.ChildEntity, ref)
	ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
}

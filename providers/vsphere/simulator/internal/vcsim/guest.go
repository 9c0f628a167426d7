// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"cmp"
	"log"
	"net/netip"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// GuestNetwork simulates guests: after the boot time, their tools run and report the host name and the addresses of each card.
type GuestNetwork struct {
	inventory *Inventory
	leases    leases

	mu              sync.Mutex
	delay           time.Duration
	boots           map[types.ManagedObjectReference]*time.Timer
	extraInterfaces map[types.ManagedObjectReference][]nic // interfaces of guests without a card
	closed          bool
	done            sync.WaitGroup
}

// NewGuestNetwork returns a GuestNetwork with this boot time; with a negative time guests never finish booting.
func NewGuestNetwork(i *Inventory, delay time.Duration) *GuestNetwork {
	return &GuestNetwork{
		inventory: i, delay: delay, boots: map[types.ManagedObjectReference]*time.Timer{}, extraInterfaces: map[types.ManagedObjectReference][]nic{},
	}
}

// SetDelay sets the boot time of guests that are powered on from now on.
func (g *GuestNetwork) SetDelay(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delay = d
}

// Close cancels pending boots and waits for running ones.
func (g *GuestNetwork) Close() {
	g.mu.Lock()
	g.closed = true
	for ref := range g.boots {
		g.stop(ref)
	}
	g.mu.Unlock()
	g.done.Wait()
}

// schedule boots the guest after its boot time.
func (g *GuestNetwork) schedule(ref types.ManagedObjectReference, boot func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(ref)
	if g.closed || g.delay < 0 {
		return
	}
	g.done.Add(1)
	g.boots[ref] = time.AfterFunc(g.delay, func() {
		defer g.done.Done()
		boot()
	})
}

func (g *GuestNetwork) cancel(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(ref)
}

// Forget removes the state of a deleted VM.
func (g *GuestNetwork) Forget(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(ref)
	delete(g.extraInterfaces, ref)
}

func (g *GuestNetwork) stop(ref types.ManagedObjectReference) {
	if timer := g.boots[ref]; timer != nil && timer.Stop() {
		g.done.Done()
	}
	delete(g.boots, ref)
}

// PowerChanged is called while the VM is locked.
func (g *GuestNetwork) PowerChanged(vm *mo.VirtualMachine) {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		g.schedule(vm.Self, func() { g.boot(vm.Self) })
		return
	}
	g.cancel(vm.Self)
	g.inventory.Registry.Update(g.inventory.NewContext(), vm, guestState(&guestReport{cards: nics(vm)}))
}

// boot makes the guest report its state, if it is still on.
func (g *GuestNetwork) boot(ref types.ManagedObjectReference) {
	vm, ok := Get[*simulator.VirtualMachine](g.inventory, &ref)
	if !ok {
		return
	}
	ctx := g.inventory.NewContext()
	g.inventory.Registry.WithLock(ctx, vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		config := extraConfig(&vm.VirtualMachine)
		meta, err := parseMetadata(config["guestinfo.metadata"], config["guestinfo.metadata.encoding"])
		if err != nil {
			log.Printf("simulator: guest of %s: %v", vm.Name, err) // it boots without metadata, as cloud-init does
		}
		r := &guestReport{running: true, hostname: cmp.Or(meta.Hostname, vm.Name), cards: nics(&vm.VirtualMachine)}
		for i := range r.cards {
			card := &r.cards[i]
			card.network = networkName(ctx, card.Network())
			card.addresses = g.addresses(meta.card(card.MAC), card)
		}
		r.cards = append(g.interfaces(ref), r.cards...)
		ctx.Update(vm, guestState(r))
	})
}

// addresses returns the addresses of the card according to its configuration.
func (g *GuestNetwork) addresses(config ethernet, card *nic) []netip.Prefix {
	out := config.static()
	if config.DHCP4 {
		out = append(out, g.leases.dhcp4(card.Network(), card.MAC))
	}
	if config.DHCP6 {
		out = append(out, g.leases.dhcp6(card.Network(), card.MAC))
	}
	if local, ok := linkLocal(card.MAC); ok {
		out = append(out, local)
	}
	return out
}

// extraConfig returns the part of a VM's configuration that its guest can read. The VM is locked.
func extraConfig(vm *mo.VirtualMachine) map[string]string {
	out := map[string]string{}
	if vm.Config == nil {
		return out
	}
	for _, option := range vm.Config.ExtraConfig {
		if value, ok := option.GetOptionValue().Value.(string); ok {
			out[option.GetOptionValue().Key] = value
		}
	}
	return out
}

// CheckTools rejects the shutdown of a guest whose tools do not run; vcsim would power it off.
func (g *GuestNetwork) CheckTools(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](g.inventory, &ref)
	if !ok {
		return nil
	}
	var fault types.BaseMethodFault
	g.inventory.WithLock(vm, func() {
		on := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
		if on && vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}

// nics returns the cards of a locked VM.
func nics(vm *mo.VirtualMachine) []nic {
	var out []nic
	for _, card := range cardsOf(vm) {
		out = append(out, nic{Card: card})
	}
	return out
}

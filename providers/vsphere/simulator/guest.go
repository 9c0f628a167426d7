// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"log"
	"net/netip"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// guestNetwork boots guests: some time after power on their tools run and report
// the host name and the addresses of each card.
type guestNetwork struct {
	leases leases

	mu     sync.Mutex
	delay  time.Duration
	boots  map[types.ManagedObjectReference]*time.Timer
	others map[types.ManagedObjectReference][]guestCard // interfaces of guests that are no cards
	closed bool
	done   sync.WaitGroup
}

func newGuestNetwork(delay time.Duration) *guestNetwork {
	return &guestNetwork{
		delay: delay, boots: map[types.ManagedObjectReference]*time.Timer{}, others: map[types.ManagedObjectReference][]guestCard{},
	}
}

// SetGuestDelay sets how long guests that power on from now on take to boot; a
// negative time means that they never do.
func (s *Server) SetGuestDelay(d time.Duration) {
	s.guests.mu.Lock()
	defer s.guests.mu.Unlock()
	s.guests.delay = d
}

// close stops the boots that have not happened and waits for the others.
func (g *guestNetwork) close() {
	g.mu.Lock()
	g.closed = true
	for ref := range g.boots {
		g.stop(ref)
	}
	g.mu.Unlock()
	g.done.Wait()
}

// schedule boots the guest after its delay.
func (g *guestNetwork) schedule(ref types.ManagedObjectReference, boot func()) {
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

func (g *guestNetwork) cancel(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(ref)
}

// forget is for a VM that has gone.
func (g *guestNetwork) forget(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop(ref)
	delete(g.others, ref)
}

func (g *guestNetwork) stop(ref types.ManagedObjectReference) {
	if timer := g.boots[ref]; timer != nil && timer.Stop() {
		g.done.Done()
	}
	delete(g.boots, ref)
}

// powerChanged is told while the VM is locked.
func (s *Server) powerChanged(vm *mo.VirtualMachine) {
	if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
		s.guests.schedule(vm.Self, func() { s.boot(vm.Self) })
		return
	}
	s.guests.cancel(vm.Self)
	s.pci.release(vm.Self)
	s.registry.Update(s.call(), vm, guestState(&guestReport{cards: cards(vm)}))
}

// boot makes the guest report itself, if it is still on.
func (s *Server) boot(ref types.ManagedObjectReference) {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return
	}
	ctx := s.call()
	s.registry.WithLock(ctx, vm, func() {
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		config := extraConfig(&vm.VirtualMachine)
		meta, err := parseMetadata(config["guestinfo.metadata"], config["guestinfo.metadata.encoding"])
		if err != nil {
			log.Printf("simulator: guest of %s: %v", vm.Name, err) // it boots without, as cloud-init does
		}
		report := &guestReport{running: true, hostname: cmp.Or(meta.Hostname, vm.Name), cards: cards(&vm.VirtualMachine)}
		for i := range report.cards {
			card := &report.cards[i]
			card.network = s.networkOf(ctx, card)
			card.addresses = s.guests.addresses(meta.card(card.mac), card)
		}
		report.cards = append(s.guests.interfaces(ref), report.cards...)
		ctx.Update(vm, guestState(report))
	})
}

// addresses follows the configuration of the card.
func (g *guestNetwork) addresses(config ethernet, card *guestCard) []netip.Prefix {
	out := config.static()
	if config.DHCP4 {
		out = append(out, g.leases.dhcp4(card.networkRef, card.mac))
	}
	if config.DHCP6 {
		out = append(out, g.leases.dhcp6(card.networkRef, card.mac))
	}
	if local, ok := linkLocal(card.mac); ok {
		out = append(out, local)
	}
	return out
}

// guestReport is what the tools report.
type guestReport struct {
	running  bool
	hostname string
	cards    []guestCard
}

type guestCard struct {
	key        int32
	mac        string
	network    string
	networkRef types.ManagedObjectReference
	backing    types.BaseVirtualDeviceBackingInfo
	addresses  []netip.Prefix
}

// cards returns the network cards of a VM that is locked.
func cards(vm *mo.VirtualMachine) []guestCard {
	var out []guestCard
	if vm.Config == nil {
		return nil
	}
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device) {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			base := card.GetVirtualEthernetCard()
			out = append(out, guestCard{key: base.Key, mac: base.MacAddress, backing: base.Backing})
		}
	}
	return out
}

// networkOf returns the name of the network that a card is on, and notes which it is.
func (s *Server) networkOf(ctx *simulator.Context, card *guestCard) string {
	switch backing := card.backing.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if backing.Network != nil {
			card.networkRef = *backing.Network
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		card.networkRef = types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: backing.Port.PortgroupKey}
	}
	if network, ok := s.registry.Get(card.networkRef).(mo.Entity); ok {
		return nameOf(ctx, network)
	}
	return ""
}

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

// guestReachable refuses to shut down a guest whose tools do not run; vcsim would
// just switch it off.
func (s *Server) guestReachable(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return nil
	}
	var fault types.BaseMethodFault
	s.locked(vm, func() {
		on := vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
		if on && vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
			fault = &types.ToolsUnavailable{}
		}
	})
	return fault
}

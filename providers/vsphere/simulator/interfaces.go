// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// notACard is what vCenter reports for an interface that no virtual device stands behind.
const notACard = -1

// SetGuestInterface makes the running guest of a VM, given as for PowerOffVM,
// report an interface that is none of its cards, ahead of them: a bridge of the
// pod network such as cni0, or kube-ipvs0 with the addresses of all services. It
// stays over restarts, and another call with its name replaces the addresses.
func (s *Server) SetGuestInterface(vm, name string, addresses ...netip.Prefix) error {
	found, err := s.find(vm)
	if err != nil {
		return err
	}
	s.guests.setInterface(found.Self, guestCard{key: notACard, mac: macOf(name), addresses: addresses})
	s.boot(found.Self)
	return nil
}

func (g *guestNetwork) setInterface(vm types.ManagedObjectReference, set guestCard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(g.others[vm]), func(card guestCard) bool { return card.mac == set.mac })
	g.others[vm] = append(kept, set)
}

func (g *guestNetwork) interfaces(vm types.ManagedObjectReference) []guestCard {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.others[vm])
}

// macOf gives an interface an address of those that everybody may use.
func macOf(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	sum := h.Sum32()
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)) //nolint:gosec // bytes are what is wanted
}

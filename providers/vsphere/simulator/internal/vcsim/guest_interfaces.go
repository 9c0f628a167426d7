// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// notACard is the key that vCenter reports for an interface without a virtual device.
const notACard = -1

// macOf returns a locally administered address for an interface.
func macOf(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	sum := h.Sum32()
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}

// SetInterface makes a running guest report an interface without a network card, before its cards. It is kept over restarts, and
// another call with its name replaces the addresses.
func (g *GuestNetwork) SetInterface(vm types.ManagedObjectReference, name string, addresses []netip.Prefix) {
	g.setInterface(vm, nic{Card: Card{Key: notACard, MAC: macOf(name)}, addresses: addresses})
	g.boot(vm)
}

func (g *GuestNetwork) setInterface(vm types.ManagedObjectReference, set nic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(g.extraInterfaces[vm]), func(card nic) bool { return card.MAC == set.MAC })
	g.extraInterfaces[vm] = append(kept, set)
}

func (g *GuestNetwork) interfaces(vm types.ManagedObjectReference) []nic {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.extraInterfaces[vm])
}

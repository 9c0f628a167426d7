// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"net/netip"
	"time"
)

// SetGuestDelay sets the boot time of guests that are powered on from now on; with a negative time they never finish booting.
func (s *Server) SetGuestDelay(d time.Duration) { s.guests.SetDelay(d) }

// SetGuestInterface makes the running guest of a VM, given as for PowerOffVM, report an interface without a network card, before
// its cards: a bridge of the pod network such as cni0, or kube-ipvs0 with the addresses of all services. It is kept over
// restarts, and another call with its name replaces the addresses.
func (s *Server) SetGuestInterface(vm, name string, addresses ...netip.Prefix) error {
	found, err := s.inventory.VM(vm)
	if err != nil {
		return err
	}
	s.guests.SetInterface(found.Self, name, addresses)
	return nil
}

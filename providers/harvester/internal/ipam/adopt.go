// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apart is before what tells holders of one name apart. Names of objects do not have it, so that no load balancer is such a holder.
const apart = "@"

// Apart is a holder whose name others may have, too: management clusters do not know each other.
func Apart(name, id string) string { return name + apart + id }

// Adopt has an address, which its holder uses, be held by the id, which is one of Apart: it was held by the name alone, or is free. The pool is
// the first that has the address; the zero value says that none does. The error wraps ErrHeld when another has it.
func (c *Claimer) Adopt(ctx context.Context, h Harvester, pools []string, addr netip.Addr, id string) (Claimed, error) {
	former, _, _ := strings.Cut(id, apart)
	for _, name := range pools {
		claimed := Claimed{Pool: name}
		err := c.change(ctx, h, name, func(p *Pool) (changed bool, err error) {
			claimed.Address = p.spread.address(addr)
			return p.adopt(addr, id, former)
		})
		switch {
		case err == nil:
			return claimed, nil
		case !errors.Is(err, ErrOutside) && client.IgnoreNotFound(err) != nil:
			return Claimed{}, fmt.Errorf("adopting %s in IPPool %s: %w", addr, name, err)
		}
	}
	return Claimed{}, nil
}

// adopt renames the holder of an address, or gives it if it is free. One that is held twice is not: it is not clear whose it is.
func (p *Pool) adopt(addr netip.Addr, id, former string) (changed bool, _ error) {
	now, held := p.holders[addr]
	if !held || now.id != former || len(p.doubled[addr]) > 0 {
		return p.Give(addr, id)
	}
	without(p.byID, former, addr)
	p.byID[id] = append(p.byID[id], addr)
	now.id = id
	p.holders[addr] = now
	now.in.hold(now.given, id)
	p.changed(now.in)
	return true, nil
}

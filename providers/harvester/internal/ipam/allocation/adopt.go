// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"strings"
)

// apart is before what tells holders of one name apart. Names of objects do not have it, so that no load balancer is such a holder.
const apart = "@"

// Apart is a holder whose name others may have, too: management clusters do not know each other.
func Apart(name, id string) string { return name + apart + id }

// Adopt has an address, which its holder uses, be held by the id, which is one of Apart: it was held by the name alone, or is free. One that is
// held twice is not renamed: it is not clear whose it is.
func (p *Pool) Adopt(addr netip.Addr, id string) (_ Address, changed bool, _ error) {
	now, held := p.holders[addr]
	former, _, _ := strings.Cut(id, apart)
	if !held || now.id != former || len(p.doubled[addr]) > 0 {
		changed, err := p.Give(addr, id)
		return p.address(addr), changed, err
	}
	without(p.byID, former, addr)
	p.byID[id] = append(p.byID[id], addr)
	now.id = id
	p.holders[addr] = now
	now.in.hold(now.given, id)
	p.changed(now.in)
	return p.address(addr), true, nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"strings"
)

// apart separates the name of a holder from its id. Names of objects do not contain it, so no load balancer is such a holder.
const apart = "@"

// Apart returns the id of a holder whose name may not be unique, because management clusters do not know of each other.
func Apart(name, id string) string { return name + apart + id }

// Adopt makes id, a result of Apart, the holder of an address that it uses. The address was held by the name alone or is free. An address
// with two holders is not renamed, because its owner is ambiguous.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

const (
	// Addresses of a block have all bits but these in common, and those of a section. What an address costs to write grows with its block,
	// what it costs to know the pool with how many blocks there are.
	blockBits, sectionBits = 5, 8

	nameLimit, labelLimit = 253, 63
)

// blockOf is the addresses of the block that is made for an address.
func blockOf(addr netip.Addr) netip.Prefix { return neighbours(addr, blockBits) }

// sectionOf is the addresses of the section that an address is in.
func sectionOf(addr netip.Addr) netip.Prefix { return neighbours(addr, sectionBits) }

func neighbours(addr netip.Addr, bits int) netip.Prefix {
	of, _ := addr.Prefix(addr.BitLen() - bits) // it has more
	return of
}

// addressesOf is the addresses that a block is for; false for one that nobody can make sense of.
func addressesOf(block *lbv1.IPPoolBlock) (netip.Prefix, bool) {
	first, ok := ipaddr.Parse(block.First)
	if !ok {
		return netip.Prefix{}, false
	}
	section := sectionOf(first)
	if block.Part == "" {
		return section, first == section.Addr()
	}
	part, err := netip.ParsePrefix(block.Part)
	return part, err == nil && part == part.Masked() && part.Bits() > section.Bits() && section.Contains(part.Addr())
}

// Section is the first address of the section that the addresses of a block are in.
func (r *Record) Section() netip.Addr { return sectionOf(r.Of.Addr()).Addr() }

// Missing are the blocks of a section that holders may be added to, and that are not there: those that are in use already, or all.
func (p *Pool) Missing(section netip.Addr, all bool) (missing []*Record) {
	if p.blocks[sectionOf(section)] != nil {
		return nil
	}
	for addr := section; sectionOf(section).Contains(addr); addr = ipaddr.LastOf(blockOf(addr)).Next() {
		of := blockOf(addr)
		if p.blocks[of] == nil && all && p.hasFree(of) {
			p.blockAt(of)
		}
		if r := p.blocks[of]; r != nil && r.Version == "" {
			missing = append(missing, r)
		}
	}
	return missing
}

func (p *Pool) hasFree(of netip.Prefix) bool {
	for addr := of.Addr(); of.Contains(addr); addr = addr.Next() {
		if p.free(addr) {
			return true
		}
	}
	return false
}

// NewBlock is the object of a block that is to be made, with nothing in it.
func (p *Pool) NewBlock(r *Record) *lbv1.IPPoolBlock {
	owner := metav1.OwnerReference{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPool", Name: p.name, UID: p.uid}
	return &lbv1.IPPoolBlock{
		ObjectMeta: metav1.ObjectMeta{
			Name: blockName(p.name, r.Of), Labels: BlocksOf(p.name), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Pool: p.name, First: r.Section().String(), Part: r.Of.String(),
	}
}

// blockName is the name of a block: that of the pool, the first address, and how many bits the others have in common with it, unless it is for
// all of a section. No two are the same, since there is no dash in an address.
func blockName(pool string, of netip.Prefix) string {
	name := of.Addr().String()
	if of.Addr().Is6() {
		b := of.Addr().As16()
		name = hex.EncodeToString(b[:])
	}
	if of != sectionOf(of.Addr()) {
		name += "-" + strconv.Itoa(of.Bits())
	}
	return shorten(pool, nameLimit-1-len(name)) + "-" + name
}

// Metadata is the object of a record, of which nothing but the metadata is read.
func (p *Pool) Metadata(r *Record) *metav1.PartialObjectMetadata {
	kind, name := "IPPool", p.name
	if r.IsBlock() {
		kind, name = "IPPoolBlock", blockName(p.name, r.Of)
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: lbv1.GroupVersion.String(), Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

// IsForeign reports whether a block is of a pool of the same name that is gone.
func IsForeign(block *lbv1.IPPoolBlock, pool *lbv1.IPPool) bool {
	for _, owner := range block.OwnerReferences {
		if owner.Kind == "IPPool" && owner.UID != pool.UID {
			return true
		}
	}
	return false
}

// BlocksOf selects the blocks of a pool.
func BlocksOf(pool string) client.MatchingLabels {
	return client.MatchingLabels{lbv1.PoolLabel: shorten(pool, labelLimit)}
}

// shorten makes a name out of one that is too long, which is another for another.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := hex.EncodeToString(sum[:8])
	return strings.TrimRight(name[:limit-len(tail)-1], "-.") + "." + tail
}

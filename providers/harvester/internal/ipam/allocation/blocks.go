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
	// blockBits and sectionBits are the numbers of low bits in which the addresses of a block and of a section differ. The cost of
	// writing an address grows with the size of its block, the cost of reading a pool with the number of blocks.
	blockBits, sectionBits = 5, 8

	nameLimit, labelLimit = 253, 63
)

// blockOf returns the prefix of the block for an address.
func blockOf(addr netip.Addr) netip.Prefix { return neighbours(addr, blockBits) }

// sectionOf returns the prefix of the section that contains an address.
func sectionOf(addr netip.Addr) netip.Prefix { return neighbours(addr, sectionBits) }

func neighbours(addr netip.Addr, bits int) netip.Prefix {
	of, _ := addr.Prefix(addr.BitLen() - bits) // addresses have more bits than that
	return of
}

// addressesOf returns the prefix of a block; false if the block is invalid.
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

// Section returns the first address of the section that contains the block.
func (r *Record) Section() netip.Addr { return sectionOf(r.Of.Addr()).Addr() }

// Missing returns the blocks of a section that may get holders and are not stored: those already in use or, with all, every block.
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

// NewBlock returns the empty object of a block to create.
func (p *Pool) NewBlock(r *Record) *lbv1.IPPoolBlock {
	owner := metav1.OwnerReference{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPool", Name: p.name, UID: p.uid}
	return &lbv1.IPPoolBlock{
		ObjectMeta: metav1.ObjectMeta{
			Name: blockName(p.name, r.Of), Labels: BlocksOf(p.name), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Pool: p.name, First: r.Section().String(), Part: r.Of.String(),
	}
}

// blockName returns the name of a block: the name of the pool, the first address and, unless the block is a whole section, the prefix
// length. Names are unique, since an address does not contain a dash.
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

// Metadata returns the object of a record for requests that decode only the metadata.
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

// IsForeign reports whether a block belongs to a deleted pool of the same name.
func IsForeign(block *lbv1.IPPoolBlock, pool *lbv1.IPPool) bool {
	for _, owner := range block.OwnerReferences {
		if owner.Kind == "IPPool" && owner.UID != pool.UID {
			return true
		}
	}
	return false
}

// IsCopy reports whether a block is a copy of another one under a new name.
func IsCopy(block *lbv1.IPPoolBlock) bool {
	of, ok := addressesOf(block)
	return ok && block.Name != blockName(block.Pool, of)
}

// IsBlockOf reports whether a block belongs to the pool with a name. BlocksOf also selects copies, and blocks of pools with a similar name.
func IsBlockOf(block *lbv1.IPPoolBlock, pool string) bool {
	return block.Pool == pool && !IsCopy(block)
}

// BlocksOf returns the selector of a pool's blocks.
func BlocksOf(pool string) client.MatchingLabels {
	return client.MatchingLabels{lbv1.PoolLabel: shorten(pool, labelLimit)}
}

// shorten truncates a name to limit and appends a hash, so that different names stay different.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := hex.EncodeToString(sum[:8])
	return strings.TrimRight(name[:limit-len(tail)-1], "-.") + "." + tail
}

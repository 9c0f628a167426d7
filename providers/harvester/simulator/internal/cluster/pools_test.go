// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package cluster

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

func poolOf(ranges ...lbv1.Range) *lbv1.IPPool {
	return &lbv1.IPPool{Spec: lbv1.IPPoolSpec{Ranges: ranges}}
}

func TestPoolAddresses(t *testing.T) {
	for _, c := range []struct {
		pool *lbv1.IPPool
		size int64
	}{
		{poolOf(lbv1.Range{Subnet: "192.168.41.0/24"}), 253},
		{poolOf(lbv1.Range{Subnet: "172.16.232.0/24", RangeStart: "172.16.232.10", RangeEnd: "172.16.232.13"}, lbv1.Range{Subnet: "192.168.41.0/24"}), 257},
		{poolOf(lbv1.Range{Subnet: "10.0.0.0/30", Gateway: "10.0.0.2"}), 1},
		{poolOf(lbv1.Range{Subnet: "10.0.0.7/32"}), 1},
		{poolOf(lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.7", RangeEnd: "10.0.0.7"}), 1},
		{poolOf(lbv1.Range{Subnet: "255.255.255.0/24", Gateway: "255.255.255.254"}), 253},
	} {
		g := NewWithT(t)
		spans, err := parseRanges(c.pool)
		g.Expect(err).NotTo(HaveOccurred())
		total := int64(0)
		for _, s := range spans {
			total += s.size()
		}
		g.Expect(total).To(Equal(c.size))
		given := map[string]bool{}
		for range c.size {
			address, err := allocateAddress(c.pool, "ns/"+string(rune('a'+len(given))))
			g.Expect(err).NotTo(HaveOccurred())
			given[address.IP] = true
		}
		g.Expect(given).To(HaveLen(int(c.size)), "each address is allocated once")
		_, err = allocateAddress(c.pool, "ns/late")
		g.Expect(errors.Is(err, errExhausted)).To(BeTrue())
	}
}

func TestAllocationOrder(t *testing.T) {
	g := NewWithT(t)
	pool := poolOf(lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.10", RangeEnd: "10.0.0.12"})
	next := func(owner string) string {
		address, err := allocateAddress(pool, owner)
		g.Expect(err).NotTo(HaveOccurred())
		return address.IP
	}
	g.Expect(next("ns/a")).To(Equal("10.0.0.10"))
	g.Expect(releaseAddresses(pool, "ns/a")).To(BeTrue())
	g.Expect(releaseAddresses(pool, "ns/a")).To(BeFalse())
	g.Expect(next("ns/b")).To(Equal("10.0.0.11"))
	g.Expect(next("ns/a")).To(Equal("10.0.0.10"))
	_, err := allocateAddress(pool, "ns/a")
	g.Expect(err).To(MatchError(errDuplicate))
	g.Expect(next("ns/c")).To(Equal("10.0.0.12"), "after the last allocated address")
}

func TestPoolSelection(t *testing.T) {
	g := NewWithT(t)
	named := func(name, network string, priority uint32, scope ...lbv1.Tuple) lbv1.IPPool {
		pool := lbv1.IPPool{Spec: lbv1.IPPoolSpec{Selector: lbv1.Selector{Network: network, Priority: priority, Scope: scope}}}
		pool.Name = name
		return pool
	}
	one := lbv1.Tuple{Project: anyValue, Namespace: "one", GuestCluster: anyValue}
	pools := []lbv1.IPPool{
		named("unscoped", "n", 9), named("low", "n", 1, one), named("high", "n", 2, one), named("other", "m", 3, one),
		named("global", "", 0, lbv1.Tuple{Project: anyValue, Namespace: anyValue, GuestCluster: anyValue}),
	}
	g.Expect(requirement{network: "n", namespace: "one"}.choose(pools).Name).To(Equal("high"))
	g.Expect(requirement{network: "m", namespace: "one"}.choose(pools).Name).To(Equal("other"))
	g.Expect(requirement{network: "n", namespace: "two"}.choose(pools).Name).To(Equal("global"))
	g.Expect(requirement{network: "n", namespace: "two"}.choose(pools[:4])).To(BeNil())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// The pools of the proposal, and others.
func TestTheTotalOfAPoolIsWhatItCanGive(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ranges           []lbv1.Range
		held             []string
		total, available int64
	}{
		"the proposal's first": {[]lbv1.Range{{RangeStart: "172.16.231.10", RangeEnd: "172.16.231.13", Subnet: "172.16.231.0/24"}, {Subnet: "172.16.232.0/24"}},
			[]string{"172.16.231.10"}, 257, 256},
		"the proposal's second":            {[]lbv1.Range{{Subnet: "192.168.41.0/24"}}, []string{"192.168.41.4", "192.168.41.5"}, 253, 251},
		"a /16":                            {[]lbv1.Range{{Subnet: "10.0.0.0/16"}}, nil, 65533, 65533},
		"the gateway of another range":     {[]lbv1.Range{{RangeStart: "10.0.0.1", RangeEnd: "10.0.0.9", Gateway: "10.0.0.20", Subnet: "10.0.0.0/24"}, {RangeStart: "10.0.0.20", RangeEnd: "10.0.0.29", Subnet: "10.0.0.0/24"}}, nil, 17, 17},
		"what is held elsewhere":           {[]lbv1.Range{{Subnet: "10.0.0.0/29"}}, []string{"10.0.0.1", "10.9.0.1", "no address", "10.0.0.2"}, 5, 4},
		"two spellings of the same":        {[]lbv1.Range{{Subnet: "fd00::/126"}}, []string{"fd00::2", "fd00:0::2"}, 2, 1},
		"more than can be counted":         {[]lbv1.Range{{Subnet: "fd00::/64"}, {Subnet: "fd01::/64"}}, []string{"fd00::9"}, math.MaxInt64, math.MaxInt64 - 1},
		"a range that is its gateway only": {[]lbv1.Range{{RangeStart: "10.0.0.1", RangeEnd: "10.0.0.1", Subnet: "10.0.0.0/24"}}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			status := lbv1.IPPoolStatus{Allocated: map[string]string{}}
			for _, ip := range tc.held {
				status.Allocated[ip] = "ns/a"
			}
			is := read(t, pool(status, tc.ranges...)).Status()
			g.Expect([]int64{is.Total, is.Available}).To(Equal([]int64{tc.total, tc.available}))
		})
	}
}

// All of the 2^64 addresses are allocatable, and no data structure has that size.
func TestFreeAddressOfLargeSubnetIsFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	held := map[string]string{}
	addr := netip.MustParseAddr("fd00::fffe")
	for range 3000 {
		held[addr.String()] = "ns/a"
		addr = addr.Next()
	}
	p := read(t, pool(lbv1.IPPoolStatus{LastAllocated: "fd00::fffd", Allocated: held}, lbv1.Range{Subnet: "fd00::/64"}))
	got, _, err := p.Get("ns/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.IP).To(Equal(addr))
	end := read(t, pool(lbv1.IPPoolStatus{LastAllocated: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}, lbv1.Range{Subnet: "ffff:ffff:ffff:ffff::/64"}))
	got, _, err = end.Get("ns/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.IP.String()).To(Equal("ffff:ffff:ffff:ffff::2"))
}

func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, pool(lbv1.IPPoolStatus{}, lbv1.Range{Subnet: "10.0.0.0/16"}))
	given := map[string]string{}
	for i := range allocation.MaxHistory + 10 {
		id := fmt.Sprintf("ns/%d", i)
		address, _, err := p.Get(id)
		g.Expect(err).NotTo(HaveOccurred())
		given[id] = address.IP.String()
		g.Expect(p.Release(id)).To(BeTrue())
	}
	g.Expect(p.Status().AllocatedHistory).To(HaveLen(allocation.MaxHistory))
	for i, same := range map[int]bool{9: false, 10: true, allocation.MaxHistory: true} {
		id := fmt.Sprintf("ns/%d", i)
		address, _, err := p.Get(id)
		g.Expect(err).NotTo(HaveOccurred())
		if same {
			g.Expect(address.IP.String()).To(Equal(given[id]), id)
		} else {
			g.Expect(address.IP.String()).NotTo(Equal(given[id]), id)
		}
	}
}

func pool(status lbv1.IPPoolStatus, ranges ...lbv1.Range) *lbv1.IPPool {
	return &lbv1.IPPool{Spec: lbv1.IPPoolSpec{Ranges: ranges}, Status: status}
}

func small(status lbv1.IPPoolStatus) *lbv1.IPPool {
	return pool(status, lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.1", RangeEnd: "10.0.0.4"})
}

func read(t *testing.T, stored *lbv1.IPPool) *allocation.Pool {
	t.Helper()
	p, err := allocation.NewPool(stored)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return p
}

func TestGetIsIdempotent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, small(lbv1.IPPoolStatus{}))
	first, changed, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changed).To(BeTrue())
	g.Expect(first.IP.String()).To(Equal("10.0.0.2")) // the gateway is not allocated
	g.Expect(first.Subnet.String()).To(Equal("10.0.0.0/24"))
	g.Expect(first.Gateway.String()).To(Equal("10.0.0.1"))
	again, changed, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changed).To(BeFalse())
	g.Expect(again).To(Equal(first))
	g.Expect(p.Status().Allocated).To(Equal(map[string]string{"10.0.0.2": "ns/a"}))
	g.Expect(p.Status().Available).To(BeEquivalentTo(2))
}

func TestAddressesAreAllocatedInTurn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, small(lbv1.IPPoolStatus{}))
	given := func(id string) string {
		address, _, err := p.Get(id)
		g.Expect(err).NotTo(HaveOccurred())
		return address.IP.String()
	}
	g.Expect(given("ns/a")).To(Equal("10.0.0.2"))
	g.Expect(p.Release("ns/a")).To(BeTrue())
	g.Expect(given("ns/b")).To(Equal("10.0.0.3"))
	g.Expect(given("ns/c")).To(Equal("10.0.0.4"))
	g.Expect(given("ns/d")).To(Equal("10.0.0.2")) // wraps around to the beginning
}

func TestHolderGetsFormerAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, small(lbv1.IPPoolStatus{AllocatedHistory: map[string]string{"10.0.0.4": "ns/a", "10.9.9.9": "ns/a", "no address": "ns/a"}}))
	address, _, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(address.IP.String()).To(Equal("10.0.0.4"))
	g.Expect(p.Status().AllocatedHistory).To(Equal(map[string]string{"10.9.9.9": "ns/a", "no address": "ns/a"}))
}

func TestHeldFormerAddressIsNotAllocated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, small(lbv1.IPPoolStatus{
		Allocated: map[string]string{"10.0.0.4": "default/lb"}, AllocatedHistory: map[string]string{"10.0.0.4": "ns/a"},
	}))
	address, _, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(address.IP.String()).To(Equal("10.0.0.2"))
	g.Expect(p.Status().Allocated).To(HaveKeyWithValue("10.0.0.4", "default/lb"))
}

func TestAddressSpellings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, pool(lbv1.IPPoolStatus{Allocated: map[string]string{"fd00:0:0::2": "default/lb", "::ffff:10.0.0.2": "default/other"}},
		lbv1.Range{Subnet: "fd00::/126"}))
	address, _, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(address.IP.String()).To(Equal("fd00::3"))
}

func TestGatewayIsNotAllocatedFromOtherRange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, pool(lbv1.IPPoolStatus{},
		lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.10", RangeEnd: "10.0.0.10"},
		lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.1", RangeEnd: "10.0.0.2", Gateway: "10.0.0.254"}))
	for _, want := range []string{"10.0.0.10", "10.0.0.2"} {
		address, _, err := p.Get(want)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(address.IP.String()).To(Equal(want))
	}
	_, _, err := p.Get("ns/last")
	g.Expect(err).To(MatchError(allocation.ErrExhausted))
}

// Upstream releases the address in each reconcile of a deletion, even if it has another holder by then.
func TestD1RepeatedReleaseKeepsNewHolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, pool(lbv1.IPPoolStatus{}, lbv1.Range{Subnet: "10.0.0.7/32"}))
	_, _, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Release("ns/a")).To(BeTrue())
	_, _, err = p.Get("ns/b")
	g.Expect(err).NotTo(HaveOccurred())
	before := p.Status()
	g.Expect(p.Release("ns/a")).To(BeFalse())
	g.Expect(p.Status()).To(Equal(before))
	g.Expect(p.Status().Allocated).To(Equal(map[string]string{"10.0.0.7": "ns/b"}))
	g.Expect(p.Status().Available).To(BeZero())
}

func TestAvailableIsRecounted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := read(t, small(lbv1.IPPoolStatus{Total: 99, Available: 98, Allocated: map[string]string{"10.0.0.3": "default/lb"}}))
	_, _, err := p.Get("ns/a")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Status().Total).To(BeEquivalentTo(3))
	g.Expect(p.Status().Available).To(BeEquivalentTo(1))
}

// Whatever holders claim and release and other clients write: no address has two holders, no gateway and no address outside of the ranges
// is allocated, holders of other clients are kept, and a pool is exhausted only when every address is held.
func TestAnAddressNeverHasTwoHolders(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ranges := []lbv1.Range{{Subnet: "10.0.0.0/28"}, {Subnet: "10.0.1.0/24", RangeStart: "10.0.1.250", Gateway: "10.0.1.252"}, {Subnet: "10.0.2.9/32"}}
		foreign := map[string]string{}
		for _, last := range rapid.SliceOfNDistinct(rapid.IntRange(2, 14), 0, 5, rapid.ID[int]).Draw(t, "foreign") {
			foreign[fmt.Sprintf("10.0.0.%d", last)] = "default/lb"
		}
		stored := pool(lbv1.IPPoolStatus{Allocated: map[string]string{}}, ranges...)
		for ip, id := range foreign {
			stored.Status.Allocated[ip] = id
		}
		has := map[string]netip.Addr{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			p, err := allocation.NewPool(stored)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("ns/%d", rapid.IntRange(0, 20).Draw(t, "id"))
			if rapid.Bool().Draw(t, "release") {
				release(t, p, id, has)
			} else {
				get(t, p, id, has, len(foreign))
			}
			stored.Status = p.Status()
			check(t, stored, ranges, has, foreign)
		}
	})
}

func release(t *rapid.T, p *allocation.Pool, id string, has map[string]netip.Addr) {
	_, held := has[id]
	if p.Release(id) != held {
		t.Fatalf("%s: released although it had none, or the other way round", id)
	}
	delete(has, id)
}

func get(t *rapid.T, p *allocation.Pool, id string, has map[string]netip.Addr, foreign int) {
	address, _, err := p.Get(id)
	if err != nil {
		if size := p.Status().Total; int64(len(has)+foreign) < size {
			t.Fatalf("exhausted with %d of %d held", len(has)+foreign, size)
		}
		return
	}
	if had, ok := has[id]; ok && had != address.IP {
		t.Fatalf("%s has %s and got %s", id, had, address.IP)
	}
	has[id] = address.IP
}

func check(t *rapid.T, stored *lbv1.IPPool, ranges []lbv1.Range, has map[string]netip.Addr, foreign map[string]string) {
	owners := map[netip.Addr]string{}
	for id, ip := range has {
		if other, taken := owners[ip]; taken {
			t.Fatalf("%s has two holders: %s and %s", ip, id, other)
		}
		owners[ip] = id
		if stored.Status.Allocated[ip.String()] != id {
			t.Fatalf("%s is not recorded as %s's", ip, id)
		}
		given := false
		for _, r := range ranges {
			made, err := ipaddr.MakeRange(r)
			if err != nil {
				t.Fatal(err)
			}
			if ip == made.Gateway {
				t.Fatalf("%s is a gateway", ip)
			}
			given = given || made.Contains(ip)
		}
		if !given {
			t.Fatalf("%s is in no range", ip)
		}
	}
	for ip, id := range foreign {
		if stored.Status.Allocated[ip] != id {
			t.Fatalf("%s was %s's", ip, id)
		}
	}
	if want := stored.Status.Total - int64(len(has)+len(foreign)); stored.Status.Available != want {
		t.Fatalf("%d available, want %d", stored.Status.Available, want)
	}
}

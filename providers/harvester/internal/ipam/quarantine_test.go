// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package ipam_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/shared/integration"
)

// long is longer than any test.
const long = time.Hour

func TestQuarantineSurvivesRestartAndClockChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	made := created(t, "rests-", "", lbv1.Range{Subnet: "10.60.0.0/29"}) // .2 to .6
	first := ipam.NewAllocator(api, api).WithQuarantine(long)
	ids := named("rests", 5)
	has := claimed(t, first, made.Name, ids)
	g.Expect(first.Release(t.Context(), made.Name, ids[0])).To(Succeed())
	g.Expect(first.Release(t.Context(), made.Name, ids[1])).To(Succeed())
	g.Expect(first.Release(t.Context(), made.Name, ids[1])).To(Succeed(), "again, as after a crash")
	denied := func(allocator *ipam.Allocator) {
		t.Helper()
		_, err := allocator.Claim(t.Context(), made.Name, "rests/another")
		g.Expect(err).To(MatchError(allocation.ErrExhausted))
		g.Expect(err).To(MatchError(ContainSubstring("after 1h0m0s")))
	}
	denied(first)
	again, err := first.Claim(t.Context(), made.Name, ids[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.IP).To(Equal(has[ids[0]]), "the same name has it back at once")
	g.Expect(object(t, made.Name).Status.Released).To(HaveLen(1))
	g.Expect(first.Release(t.Context(), made.Name, ids[0])).To(Succeed())

	// Another manager, and clocks that are wrong.
	for _, stamp := range []string{"", "1970-01-01T00:00:00Z", "2500-01-01T00:00:00Z", "nonsense"} {
		pool := object(t, made.Name)
		g.Expect(pool.Status.Released).To(HaveLen(2))
		for ip := range pool.Status.Released {
			pool.Status.Released[ip] = stamp
		}
		g.Expect(api.Update(t.Context(), pool)).To(Succeed())
		denied(first)
		denied(ipam.NewAllocator(api, api).WithQuarantine(long))
	}
	again, err = ipam.NewAllocator(api, api).WithQuarantine(long).Claim(t.Context(), made.Name, ids[1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.IP).To(Equal(has[ids[1]]))

	// A client that is not resident, such as the one for machines, relies on the stored times.
	machine := func(stamp time.Time) error {
		pool := object(t, made.Name)
		pool.Status.Released = map[string]string{has[ids[0]].String(): stamp.UTC().Format(time.RFC3339)}
		g.Expect(api.Update(t.Context(), pool)).To(Succeed())
		_, err := (&ipam.Claimer{}).Claim(t.Context(), &harvester{Client: api}, []string{made.Name}, "machines/m", nil)
		return err
	}
	g.Expect(machine(time.Now())).To(MatchError(ContainSubstring("has no free address")))
	g.Expect(machine(time.Now().Add(-2 * ipam.DefaultQuarantine))).To(Succeed())
	g.Expect(object(t, made.Name).Status.Released).To(BeEmpty())
}

func TestAddressIsAllocatedAfterQuarantine(t *testing.T) {
	t.Parallel()
	g := integration.NewGomega(t)
	made := created(t, "rested-", "", lbv1.Range{Subnet: "10.61.0.0/29"})
	allocator := ipam.NewAllocator(api, api).WithQuarantine(time.Second)
	for _, id := range named("rested", 5) {
		_, err := allocator.Claim(t.Context(), made.Name, id)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(allocator.Release(t.Context(), made.Name, id)).To(Succeed())
	}
	g.Eventually(func() error {
		_, err := allocator.Claim(t.Context(), made.Name, "rested/another")
		return err
	}).Should(Succeed())
	g.Eventually(func() map[string]string {
		_, err := updateStatus(t, allocator, made.Name)
		g.Expect(err).NotTo(HaveOccurred())
		return object(t, made.Name).Status.Released
	}).Should(BeEmpty())
	is, err := updateStatus(t, allocator, made.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is.NextRelease).To(BeZero())
}

func TestQuarantineInBlocks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := largePool("10.62.0.0/21")
	g.Expect(api.Create(t.Context(), pool)).To(Succeed())
	t.Cleanup(func() { _ = api.Delete(t.Context(), pool) })
	first := ipam.NewAllocator(api, api).WithQuarantine(long)
	var ids []string
	for i := 0; ; i++ {
		id := fmt.Sprintf("default/rests-%d", i)
		if _, err := first.Claim(t.Context(), pool.Name, id); err != nil {
			g.Expect(err).To(MatchError(allocation.ErrExhausted))
			break
		}
		ids = append(ids, id)
	}
	g.Expect(len(ids)).To(BeNumerically(">", 40))
	for _, id := range ids {
		g.Expect(first.Release(t.Context(), pool.Name, id)).To(Succeed())
	}
	for _, allocator := range []*ipam.Allocator{first, ipam.NewAllocator(api, api).WithQuarantine(long)} {
		_, err := updateStatus(t, allocator, pool.Name)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = allocator.Claim(t.Context(), pool.Name, "default/another")
		g.Expect(err).To(MatchError(allocation.ErrExhausted))
		_, err = allocator.Claim(t.Context(), pool.Name, ids[7])
		g.Expect(err).NotTo(HaveOccurred())
	}
}

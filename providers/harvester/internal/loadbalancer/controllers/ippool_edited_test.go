// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// balancer creates a load balancer that shows an address of the pool.
func (w *poolFixture) balancer(pool, name string) (id, address string) {
	w.t.Helper()
	id = "default/" + name
	claimed, err := w.addresses.Claim(w.t.Context(), pool, id)
	w.Expect(err).NotTo(HaveOccurred())
	address = claimed.IP.String()
	w.create(&lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IPPool: pool, IP: address}},
	})
	return id, address
}

// exhaust claims addresses until none is free, and returns them.
func (w *poolFixture) exhaust(pool, prefix string) (all []string) {
	w.t.Helper()
	for i := 0; ; i++ {
		claimed, err := w.addresses.Claim(w.t.Context(), pool, fmt.Sprintf("%s-%d", prefix, i))
		if err != nil {
			w.Expect(err).To(MatchError(allocation.ErrExhausted))
			return all
		}
		all = append(all, claimed.IP.String())
	}
}

// waitForHolder waits until the pool records the holder of an address.
func (w *poolFixture) waitForHolder(pool, address, id string) {
	w.t.Helper()
	w.Eventually(func() map[string]string { return w.get(pool).Status.Allocated }).Should(HaveKeyWithValue(address, id))
}

func TestRemovedAllocationIsRestored(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("taken-out", "10.37.0.0/28")
	w.waitForReady("taken-out", "")
	id, address := w.balancer("taken-out", "taken-out")
	w.change("taken-out", func(pool *lbv1.IPPool) { delete(pool.Status.Allocated, address) })
	w.Expect(w.exhaust("taken-out", "default/next")).To(And(HaveLen(12), Not(ContainElement(address))))
	w.waitForHolder("taken-out", address, id)
	w.Eventually(w.events.Events).Should(Receive(And(ContainSubstring("AddressEntered"), ContainSubstring(id), ContainSubstring(address))))
	w.waitForReady("taken-out", "")

	// The address is free once the load balancer has released it, and its entry can be removed once the load balancer is deleted.
	w.Expect(w.addresses.Release(t.Context(), "taken-out", "default/next-0")).To(Succeed())
	w.change("taken-out", func(pool *lbv1.IPPool) {
		for _, gone := range []string{"10.37.0.4", "10.37.0.5"} { // of deleted load balancers
			delete(pool.Status.Allocated, gone)
		}
	})
	w.Expect(w.exhaust("taken-out", "default/later")).To(ConsistOf("10.37.0.3", "10.37.0.4", "10.37.0.5"))
}

func TestChangedHolderDoesNotGetAddress(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("changed", "10.38.0.0/28")
	w.waitForReady("changed", "")
	id, address := w.balancer("changed", "changed")
	w.change("changed", func(pool *lbv1.IPPool) { pool.Status.Allocated[address] = "default/new" })
	w.Expect(w.waitForReady("changed", "AddressHeldByAnother")).To(And(ContainSubstring(id), ContainSubstring(address), ContainSubstring("default/new")))
	claimed, err := w.addresses.Claim(t.Context(), "changed", "default/new")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(claimed.IP.String()).NotTo(Equal(address))
	w.Expect(w.addresses.Give(t.Context(), "changed", "default/new", netip.MustParseAddr(address))).To(MatchError(allocation.ErrHeld))
	w.Expect(w.addresses.Release(t.Context(), "changed", "default/new")).To(Succeed())
	w.waitForHolder("changed", address, id)
	w.waitForReady("changed", "")

	// The other holder keeps its own address and loses the one that it does not show.
	other, own := w.balancer("changed", "other")
	w.change("changed", func(pool *lbv1.IPPool) { pool.Status.Allocated[address] = other })
	w.waitForHolder("changed", address, id)
	w.waitForHolder("changed", own, other)
	w.waitForReady("changed", "")
}

func TestHoldersOfDeletedBlockKeepAddresses(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("blocks", "10.39.0.0/21")
	w.change("blocks", func(pool *lbv1.IPPool) {
		pool.Status.Allocated = map[string]string{}
		for i := range 2045 - 4 { // all but the last four
			addr := netip.AddrFrom4([4]byte{10, 39, byte((i + 2) / 256), byte((i + 2) % 256)})
			pool.Status.Allocated[addr.String()] = fmt.Sprintf("machines/m-%d", i)
		}
	})
	w.waitForReady("blocks", "")
	id, address := w.balancer("blocks", "block")
	list := &lbv1.IPPoolBlockList{}
	held := func() map[string]string {
		w.Expect(user.List(t.Context(), list, allocation.BlocksOf("blocks"))).To(Succeed())
		all := map[string]string{}
		for _, block := range list.Items {
			for ip, id := range block.Allocated {
				all[ip] = id
			}
		}
		return all
	}
	w.Expect(held()).To(HaveKeyWithValue(address, id))
	for i := range list.Items {
		w.Expect(client.IgnoreNotFound(user.Delete(t.Context(), &list.Items[i]))).To(Succeed())
	}
	w.Expect(w.exhaust("blocks", "default/next-block")).To(And(HaveLen(3), Not(ContainElement(address))))
	w.Eventually(held).Should(HaveKeyWithValue(address, id))
}

func TestNewPoolRecordsShownAddresses(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.create(&lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "earlier"},
		Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IP: "10.40.0.5"}},
	})
	w.pool("later", "10.40.0.0/29")
	w.Expect(w.exhaust("later", "default/none")).To(Equal([]string{"10.40.0.2", "10.40.0.3", "10.40.0.4", "10.40.0.6"}))
	w.waitForHolder("later", "10.40.0.5", "default/earlier")
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

func TestAdopt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	h, claimer := &harvester{Client: api}, &ipam.Claimer{}
	made := created(t, "adopted-", "", lbv1.Range{Subnet: "10.9.0.0/24"})
	pools := []string{"not-there", created(t, "other-", "", lbv1.Range{Subnet: "10.10.0.0/24"}).Name, made.Name}
	_, err := claimer.Claim(t.Context(), h, pools[2:], "ns/a", nil)
	g.Expect(err).NotTo(HaveOccurred())
	adopt := func(address, id string) (string, error) {
		claimed, err := claimer.Adopt(t.Context(), h, pools, netip.MustParseAddr(address), allocation.Apart("ns/a", id))
		return claimed.Pool, err
	}
	for range 2 {
		g.Expect(adopt("10.9.0.2", "1")).To(Equal(made.Name))
	}
	_, err = adopt("10.9.0.2", "2")
	g.Expect(err).To(MatchError(allocation.ErrHeld))
	g.Expect(adopt("10.9.0.3", "2")).To(Equal(made.Name), "it is free")
	g.Expect(adopt("10.11.0.2", "3")).To(BeEmpty(), "no pool has it")
	g.Expect(stored(t, made.Name).Allocated).To(Equal(map[string]string{"10.9.0.2": "ns/a@1", "10.9.0.3": "ns/a@2"}))
	g.Expect(stored(t, made.Name).AllocatedHistory).To(BeEmpty())
	g.Expect(stored(t, made.Name).Available).To(BeEquivalentTo(253 - 2))
}

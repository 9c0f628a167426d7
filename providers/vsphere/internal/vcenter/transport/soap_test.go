// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// TestHangingVCenterBlocksFewCallers has a caller for each of a thousand machines, with two accounts.
func TestHangingVCenterBlocksFewCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		all := &Lines{}
		session := func(server string) *SOAPClient {
			return NewSOAPClient(nil, make(Slots, MaxCalls), all.To(server), func(error) {})
		}
		one, two, other := session("hangs"), session("hangs"), session("answers")
		answers := make(chan struct{})
		hang := func(ctx context.Context, _ soap.RoundTripper) error {
			select {
			case <-answers:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var held atomic.Int32
		caller := func(c *SOAPClient) {
			held.Add(1)
			defer held.Add(-1)
			_ = c.Call(t.Context(), "calling", hang)
		}
		for range 500 {
			go caller(one)
			go caller(two)
		}
		synctest.Wait()
		g.Expect(held.Load()).To(BeEquivalentTo(1000), "it may be slow only")
		<-time.After(SlotTimeout + time.Second)
		g.Expect(held.Load()).To(BeEquivalentTo(2 * MaxCalls))
		for range 500 {
			go caller(one)
			go caller(two)
		}
		synctest.Wait()
		g.Expect(held.Load()).To(BeEquivalentTo(2*MaxCalls), "who comes later is turned away at once")
		g.Expect(two.Call(t.Context(), "calling", hang)).To(MatchError(vcerrors.ErrUnavailable))
		quick := func(context.Context, soap.RoundTripper) error { return nil }
		g.Expect(other.Call(t.Context(), "calling", quick)).To(Succeed(), "another vCenter")

		close(answers)
		synctest.Wait()
		g.Expect(one.Call(t.Context(), "calling", quick)).To(Succeed())
	})
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// refusing returns a pool whose vCenters reject every account.
func refusing(attempts *atomic.Int32, gone *[]string) *Pool {
	return NewPool(Options{
		OnServerGone: func(server string) { *gone = append(*gone, server) },
		dial: func(context.Context, Endpoint, *Options, context.CancelCauseFunc) (*Session, error) {
			attempts.Add(1)
			return nil, fmt.Errorf("%w: wrong password", vcerrors.ErrUnauthorized)
		},
	})
}

func TestRejectedAccountIsDroppedWhenUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var attempts atomic.Int32
		var gone []string
		pool := refusing(&attempts, &gone)
		former, other := Endpoint{Server: "vc", Username: "me", Password: "former"}, Endpoint{Server: "vc", Username: "me", Password: "other"}
		wait := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		entries := func() int {
			pool.mu.Lock()
			defer pool.mu.Unlock()
			return len(pool.entries)
		}
		left := func() []string {
			pool.mu.Lock()
			defer pool.mu.Unlock()
			return gone
		}
		_, err := pool.Session(former)
		g.Expect(err).To(HaveOccurred())
		wait(9 * time.Minute)
		g.Expect(attempts.Load()).To(BeEquivalentTo(1))
		g.Expect(entries()).To(Equal(1))

		_, err = pool.Session(other)
		g.Expect(err).To(HaveOccurred())
		wait(2 * time.Minute)
		g.Expect(attempts.Load()).To(BeEquivalentTo(2))
		g.Expect(entries()).To(Equal(1), "the former is forgotten")
		g.Expect(left()).To(BeEmpty(), "the server is used with another account")
		wait(time.Hour)
		g.Expect(entries()).To(BeZero())
		g.Expect(left()).To(Equal([]string{"vc"}))
	})
}

func TestRejectedAccountRetryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var attempts atomic.Int32
		var gone []string
		pool := refusing(&attempts, &gone)
		for range 10 * 60 {
			_, err := pool.Session(Endpoint{Server: "vc", Username: "me", Password: "wrong"})
			g.Expect(err).To(HaveOccurred())
			<-time.After(time.Second)
		}
		synctest.Wait()
		g.Expect(attempts.Load()).To(BeNumerically("~", 10, 1))
		g.Expect(pool.Close(t.Context())).To(Succeed())
		synctest.Wait()
		g.Expect(gone).To(BeEmpty(), "the pool is closed, and its owner knows")
	})
}

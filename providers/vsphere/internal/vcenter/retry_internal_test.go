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
)

// refusing is a pool whose vCenters refuse every account.
func refusing(attempts *atomic.Int32, gone *[]string) *Pool {
	return NewPool(Options{
		OnServerGone: func(server string) { *gone = append(*gone, server) },
		dial: func(context.Context, Endpoint, *Options, context.CancelCauseFunc) (*Session, error) {
			attempts.Add(1)
			return nil, fmt.Errorf("%w: wrong password", ErrUnauthorized)
		},
	})
}

func TestOldPasswordThatNobodyAsksForIsNotTriedAgainAndForgotten(t *testing.T) {
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
		_, err := pool.Session(former)
		g.Expect(err).To(MatchError(ErrConnecting))
		wait(9 * time.Minute)
		g.Expect(attempts.Load()).To(BeEquivalentTo(1))
		g.Expect(pool.entries).To(HaveLen(1))

		_, err = pool.Session(other)
		g.Expect(err).To(MatchError(ErrConnecting))
		wait(2 * time.Minute)
		g.Expect(attempts.Load()).To(BeEquivalentTo(2))
		g.Expect(pool.entries).To(HaveLen(1), "the former is forgotten")
		g.Expect(gone).To(BeEmpty(), "the server is used with another account")
		wait(time.Hour)
		g.Expect(pool.entries).To(BeEmpty())
		g.Expect(gone).To(Equal([]string{"vc"}))
		g.Expect(pool.opts.lines.to).To(BeEmpty())
	})
}

func TestRefusedAccountThatIsAskedForIsTriedAgainOnceAMinuteAtMost(t *testing.T) {
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

func TestTenantSessionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var attempts atomic.Int32
		var gone []string
		pool := refusing(&attempts, &gone)
		ask := func(tenant string, i int) error {
			_, err := pool.Session(Endpoint{Server: "vc", Username: "me", Password: fmt.Sprint(i), Tenant: tenant})
			return err
		}
		for i := range MaxSessions {
			g.Expect(ask("one", i)).NotTo(MatchError(vcerrors.ErrTooMany))
		}
		g.Expect(ask("one", MaxSessions)).To(MatchError(vcerrors.ErrTooMany))
		g.Expect(ask("one", MaxSessions)).To(MatchError(And(ContainSubstring("namespace one has 64"), ContainSubstring("use the same account in several clusters"))))
		g.Expect(ask("one", 0)).NotTo(MatchError(vcerrors.ErrTooMany), "it is there already")
		g.Expect(ask("other", MaxSessions)).NotTo(MatchError(vcerrors.ErrTooMany), "another has sessions of its own")
		g.Expect(ask("", MaxSessions+1)).NotTo(MatchError(vcerrors.ErrTooMany))
		g.Expect(ask("one", MaxSessions)).NotTo(MatchError(vcerrors.ErrTooMany), "it exists, and costs no memory")

		<-time.After(2 * rejectedIdle)
		synctest.Wait()
		g.Expect(ask("one", MaxSessions+2)).NotTo(MatchError(vcerrors.ErrTooMany), "unused sessions have ended")
		g.Expect(pool.Close(t.Context())).To(Succeed())
		synctest.Wait()
	})
}

func TestSessionIsSharedAcrossTenants(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one := Endpoint{Server: "vc", Username: "me", Password: "mine", Thumbprint: "AB:CD", Tenant: "one"}
	same := one
	same.Thumbprint, same.Tenant = "ab cd", "other"
	g.Expect(same.session()).To(Equal(one.session()))
	for _, change := range []func(*Endpoint){
		func(ep *Endpoint) { ep.Server = "vd" },
		func(ep *Endpoint) { ep.Username = "you" },
		func(ep *Endpoint) { ep.Password = "yours" },
		func(ep *Endpoint) { ep.Thumbprint = "" },
		func(ep *Endpoint) { ep.Username, ep.Password = "mem", "ine" },
	} {
		other := one
		change(&other)
		g.Expect(other.session()).NotTo(Equal(one.session()), "%v", other)
	}
}

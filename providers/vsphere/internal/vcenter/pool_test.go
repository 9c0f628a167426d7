// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// recorder records the events and calls of a pool.
type recorder struct {
	mu     sync.Mutex
	events []vcenter.Event
	calls  map[string]int
}

func (r *recorder) event(e vcenter.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) call(_, method string, _ time.Duration, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string]int{}
	}
	r.calls[method]++
}

// seen counts events of a kind.
func (r *recorder) seen(kind vcenter.EventKind) int {
	return len(r.matching(func(e vcenter.Event) bool { return e.Kind == kind }))
}

func (r *recorder) matching(is func(vcenter.Event) bool) []vcenter.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []vcenter.Event
	for _, e := range r.events {
		if is(e) {
			found = append(found, e)
		}
	}
	return found
}

func (r *recorder) called(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

func (r *recorder) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.calls = nil, nil
}

// rig holds a pool and a simulated vCenter.
type rig struct {
	*recorder
	t      *testing.T
	server *simulator.Server
	pool   *vcenter.Pool
}

func newRig(t *testing.T, layout simulator.Layout, opts ...simulator.Option) *rig {
	t.Helper()
	r := &rig{recorder: &recorder{}, t: t, server: vcenter.StartVCenter(t, layout, opts...)}
	r.pool = newPool(t, r.recorder, time.Hour)
	return r
}

func newPool(t *testing.T, r *recorder, idle time.Duration) *vcenter.Pool {
	t.Helper()
	pool := vcenter.NewPool(vcenter.Options{OnEvent: r.event, OnCall: r.call, Idle: idle})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := pool.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return pool
}

func endpoint(s *simulator.Server) vcenter.Endpoint {
	return vcenter.Endpoint{Server: s.Host(), Username: s.Username(), Password: s.Password(), Thumbprint: s.Thumbprint()}
}

// session waits for the session of the rig's server.
func (r *rig) session() *vcenter.Session {
	r.t.Helper()
	return r.sessionOf(endpoint(r.server))
}

func (r *rig) sessionOf(ep vcenter.Endpoint) *vcenter.Session {
	r.t.Helper()
	var s *vcenter.Session
	eventually(r.t, func() error {
		var err error
		s, err = r.pool.Session(ep)
		return err
	})
	return s
}

// timeout is long enough for a busy machine; only failing tests wait that long.
const timeout = time.Minute

func eventually(t *testing.T, f func() error) {
	t.Helper()
	NewWithT(t).Eventually(f).WithTimeout(timeout).WithPolling(10 * time.Millisecond).Should(Succeed())
}

// errorOf waits until the session's error matches.
func (r *rig) errorOf(ep vcenter.Endpoint, want error) error {
	r.t.Helper()
	var last error
	eventually(r.t, func() error {
		_, last = r.pool.Session(ep)
		if !errors.Is(last, want) {
			return fmt.Errorf("have %w, not what is wanted", last)
		}
		return nil
	})
	return last
}

func TestSessionIsNonBlocking(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.server.SetDelay(timeout)

	began := time.Now()
	_, err := r.pool.Session(endpoint(r.server))
	g.Expect(err).To(MatchError(vcenter.ErrConnecting))
	g.Expect(time.Since(began)).To(BeNumerically("<", timeout/2))

	r.server.SetDelay(0)
	s := r.session()
	g.Expect(s.Version()).NotTo(BeEmpty())
	g.Eventually(func() int { return r.seen(vcenter.SessionUp) }).WithTimeout(timeout).Should(Equal(1))
	again, err := r.pool.Session(endpoint(r.server))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(s), "one session per account")
	g.Expect(r.called("Login")).To(Equal(1))
	g.Expect(slices.Sorted(maps.Keys(r.server.Calls()))).NotTo(ContainElement(HavePrefix("REST")), "REST is for tags only")
}

func TestCertificateAuthority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := simulator.Start(t, simulator.ThreeZones())
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	for name, tc := range map[string]struct {
		options vcenter.Options
		trusted bool
	}{
		"of the system":            {vcenter.Options{}, false},
		"that vouches for it":      {vcenter.Options{Authorities: authorities}, true},
		"that need not be trusted": {vcenter.Options{SkipVerify: true}, true},
	} {
		tc.options.Idle = time.Hour
		r := &rig{recorder: &recorder{}, t: t, server: server, pool: vcenter.NewPool(tc.options)}
		ep := endpoint(server)
		ep.Thumbprint = ""
		if tc.trusted {
			g.Expect(r.sessionOf(ep)).NotTo(BeNil(), name)
		} else {
			before := server.Calls()["Login"]
			err := r.errorOf(ep, vcenter.ErrUntrusted)
			g.Expect(err).To(MatchError(And(ContainSubstring("thumbprint"), ContainSubstring(soap.ThumbprintSHA256(server.Certificate())))), name)
			g.Expect(server.Calls()["Login"]).To(Equal(before), "the account was not sent")
		}
		g.Expect(r.pool.Close(t.Context())).To(Succeed())
	}
}

func TestOutdatedThumbprintWithTrustedAuthority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := simulator.Start(t, simulator.ThreeZones())
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	r := &rig{recorder: &recorder{}, t: t, server: server, pool: vcenter.NewPool(vcenter.Options{Authorities: authorities, Idle: time.Hour})}
	ep := endpoint(server)
	ep.Thumbprint = strings.Repeat("AB:", 19) + "AB"
	g.Expect(r.sessionOf(ep)).NotTo(BeNil())
	g.Expect(r.pool.Close(t.Context())).To(Succeed())
}

func TestServerURL(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.ThreeZones())
	for _, url := range []string{"https://" + r.server.Host(), "https://" + r.server.Host() + "/sdk"} {
		ep := endpoint(r.server)
		ep.Server = url
		NewWithT(t).Expect(r.sessionOf(ep)).NotTo(BeNil(), url)
	}
}

// TestThumbprintSpellingsShareSession matters because each session reads and keeps the whole inventory.
func TestThumbprintSpellingsShareSession(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	for name, spelling := range map[string]string{
		"lower case": strings.ToLower(r.server.Thumbprint()),
		"no colons":  strings.ReplaceAll(r.server.Thumbprint(), ":", ""),
		"spaces":     strings.ReplaceAll(r.server.Thumbprint(), ":", " "),
	} {
		ep := endpoint(r.server)
		ep.Thumbprint = spelling
		g.Expect(r.sessionOf(ep)).To(BeIdenticalTo(s), name)
	}
	g.Expect(r.called("Login")).To(Equal(1))
}

func TestSessionEventsHaveAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.session()
	wrong := endpoint(r.server)
	wrong.Password = "wrong"
	g.Expect(r.errorOf(wrong, vcenter.ErrUnauthorized)).To(HaveOccurred())
	r.reports(vcenter.Event{Kind: vcenter.SessionUp, Account: endpoint(r.server).Account()})
	r.reports(vcenter.Event{Kind: vcenter.SessionDown, Account: wrong.Account()})
	g.Expect(wrong.Account()).NotTo(Equal(endpoint(r.server).Account()))
	unverified := endpoint(r.server)
	unverified.Thumbprint = ""
	g.Expect(unverified.Account()).To(Equal(endpoint(r.server).Account()), "an account is the same however the certificate is verified")
}

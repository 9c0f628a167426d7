// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	vcsim "github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestWrongPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	ep := endpoint(r.server)
	ep.Password = "s3cret-and-wrong"

	err := r.errorOf(ep, vcenter.ErrUnauthorized)
	g.Expect(err.Error()).To(ContainSubstring(r.server.Host()))
	g.Expect(err.Error()).NotTo(ContainSubstring(ep.Password))
	g.Eventually(func() int { return r.seen(vcenter.SessionDown) }).WithTimeout(timeout).Should(Equal(1))
	g.Consistently(func() int { return r.called("Login") }).WithTimeout(2*time.Second).Should(Equal(1),
		"an account must not be locked by trying a wrong password again and again")

	ep.Password = r.server.Password()
	r.sessionOf(ep) // another password is another session, which need not wait
}

func TestThumbprint(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.ThreeZones())
	sha256 := soap.ThumbprintSHA256(r.server.Certificate())
	for name, pin := range map[string]string{
		"SHA-1":                 r.server.Thumbprint(),
		"SHA-256":               sha256,
		"lower case, no colons": strings.ToLower(strings.ReplaceAll(sha256, ":", "")),
	} {
		t.Run(name, func(t *testing.T) {
			ep := endpoint(r.server)
			ep.Thumbprint = pin
			(&rig{recorder: r.recorder, t: t, server: r.server, pool: r.pool}).sessionOf(ep)
		})
	}
	for name, test := range map[string]struct{ pin, got string }{
		"another SHA-1":   {strings.Repeat("AB:", 19) + "AB", r.server.Thumbprint()},
		"another SHA-256": {strings.Repeat("AB:", 31) + "AB", sha256},
		"neither":         {"AB:CD", "must be a SHA-1 or SHA-256 thumbprint"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ep := endpoint(r.server)
			ep.Thumbprint = test.pin
			err := (&rig{recorder: r.recorder, t: t, server: r.server, pool: r.pool}).errorOf(ep, vcenter.ErrThumbprint)
			g.Expect(err.Error()).To(And(ContainSubstring(test.pin), ContainSubstring(test.got)))
		})
	}
}

func TestUnreachableUntilAvailable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.server.SetDown(true)
	g.Expect(r.errorOf(endpoint(r.server), vcenter.ErrUnreachable)).To(MatchError(ContainSubstring(r.server.Host())))
	g.Expect(r.seen(vcenter.SessionUp)).To(BeZero())

	r.server.SetDown(false)
	r.session()
	g.Eventually(func() int { return r.seen(vcenter.SessionUp) }).WithTimeout(timeout).Should(Equal(1))
}

func TestStreamResumesWithoutRereadAfterOutage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	before := r.session()
	clone(t, before, cloneSpec(t, before, 1))
	clone(t, before, cloneSpec(t, before, 2))
	ups, filters := r.seen(vcenter.SessionUp), r.called("CreateFilter")

	r.server.SetDown(true)
	g.Expect(r.errorOf(endpoint(r.server), vcenter.ErrUnreachable)).To(MatchError(ContainSubstring(r.server.Host())))
	g.Eventually(func() int { return r.seen(vcenter.SessionDown) }).WithTimeout(timeout).Should(BeNumerically(">=", 1))
	g.Expect(r.server.DestroyVM("vm-1")).To(Succeed())
	_, err := before.PowerOn(t.Context(), "VirtualMachine:vm-1")
	g.Expect(err).To(MatchError(vcenter.ErrUnreachable))

	r.server.SetDown(false)
	after := r.session()
	_, still := byInstanceUUID(after, uuid(1))
	g.Expect(still).To(BeFalse(), "what was deleted meanwhile is gone")
	_, still = byInstanceUUID(after, uuid(2))
	g.Expect(still).To(BeTrue())
	g.Eventually(func() int { return r.seen(vcenter.SessionUp) }).WithTimeout(timeout).Should(BeNumerically(">", ups))
	g.Expect(r.called("Login")).To(Equal(1))
	g.Expect(r.called("CreateFilter")).To(Equal(filters))
	g.Expect(r.server.Sessions()).To(Equal(1))
	clone(t, after, cloneSpec(t, after, 3))
}

// TestLostStreamResponsesAreRetried covers connection resets and an overloaded proxy in front of vCenter.
func TestLostStreamResponsesAreRetried(t *testing.T) {
	vcenter.SkipWithStock(t, "does not keep what it has sent")
	for name, disturb := range map[string]func(*simulator.Server, int){
		"reset":      func(s *simulator.Server, n int) { s.LoseAnswers("WaitForUpdatesEx", n) },
		"overloaded": func(s *simulator.Server, n int) { s.OverloadCalls("WaitForUpdatesEx", n) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := newRig(t, simulator.ThreeZones())
			s := r.session()
			filters := r.called("CreateFilter")
			disturb(r.server, 1)
			clone(t, s, cloneSpec(t, s, 1))
			disturb(r.server, 2)
			g.Expect(r.server.DestroyVM("vm-1")).To(Succeed())
			eventually(t, func() error {
				if _, there := byInstanceUUID(s, uuid(1)); there {
					return errors.New("still there")
				}
				return nil
			})
			g.Expect(r.session()).To(BeIdenticalTo(s))
			g.Expect(r.called("Login")).To(Equal(1))
			g.Expect(r.called("CreateFilter")).To(Equal(filters))
		})
	}
}

func TestLostResponseKeepsSession(t *testing.T) {
	vcenter.SkipWithStock(t, "does not complete a virtual machine whose clone is not followed")
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	ups := r.seen(vcenter.SessionUp)
	r.server.LoseAnswers("CloneVM_Task", 1)
	_, err := s.CloneVM(t.Context(), cloneSpec(t, s, 1))
	g.Expect(err).To(MatchError(vcenter.ErrUnreachable))
	g.Eventually(func() int { return r.seen(vcenter.SessionUp) }).WithTimeout(timeout).Should(BeNumerically(">", ups))
	present(t, r.session(), uuid(1))
	g.Expect(r.called("Login")).To(Equal(1))
}

// TestNoSessionLeakOnStreamFailure matters because vCenter limits the number of sessions and keeps idle
// ones for half an hour.
func TestNoSessionLeakOnStreamFailure(t *testing.T) {
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.server.RefuseCalls("CreatePropertyCollector", 2, &types.SystemError{Reason: "no more collectors"})
	r.session()
	g.Expect(r.called("Login")).To(Equal(3))
	g.Expect(r.server.Sessions()).To(Equal(1))
	g.Expect(r.pool.Close(t.Context())).To(Succeed())
	g.Expect(r.server.Sessions()).To(BeZero())
}

func TestExpiredSessionLogsInAgain(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(*testing.T, *vcenter.Session){
		"noticed by the stream": func(*testing.T, *vcenter.Session) {},
		"noticed by a call": func(t *testing.T, s *vcenter.Session) {
			t.Helper()
			_, err := s.LookupTask(t.Context(), "task-1")
			NewWithT(t).Expect(err).To(Or(MatchError(vcenter.ErrConnecting), MatchError(context.Canceled)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, simulator.ThreeZones())
			before := r.session()
			r.server.ExpireSessions()
			notice(t, before)
			eventually(t, func() error {
				if r.seen(vcenter.SessionDown) != 1 || r.seen(vcenter.SessionUp) != 2 {
					return errors.New("not repaired yet")
				}
				return nil
			})
			after := r.session()
			g.Expect(after).NotTo(BeIdenticalTo(before))
			clone(t, after, cloneSpec(t, after, 1))
		})
	}
}

func TestIdleSessionLogsOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.pool = newPool(t, r.recorder, 10*time.Second) // the steps before must not take longer
	s := r.session()
	id, err := r.server.TagID("zone-a")
	g.Expect(err).NotTo(HaveOccurred())
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.AttachTags(t.Context(), template.Ref, []string{id})).To(Succeed())

	eventually(t, func() error {
		calls := r.server.Calls()
		if calls["Logout"] != 1 || calls["REST DELETE /rest/com/vmware/cis/session"] != 1 {
			return fmt.Errorf("not logged out: %v", calls)
		}
		return nil
	})
	r.session()
	g.Expect(r.called("Login")).To(Equal(2), "a session that is asked for again comes back")
}

func TestCloseLogsOutEverywhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.session()
	other := endpoint(r.server)
	other.Thumbprint = soap.ThumbprintSHA256(r.server.Certificate())
	r.sessionOf(other)

	g.Expect(r.pool.Close(t.Context())).To(Succeed())
	g.Expect(r.server.Calls()).To(HaveKeyWithValue("Logout", 2))
	_, err := r.pool.Session(other)
	g.Expect(err).To(MatchError(vcenter.ErrUnreachable))
}

func TestSlowVCenterDelaysNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	slow := vcenter.StartVCenter(t, simulator.ThreeZones())
	fast := r.session()
	late := r.sessionOf(endpoint(slow))
	slow.SetDelay(25 * time.Second) // a call may take 30
	spec := cloneSpec(t, late, 1)

	waiting := make(chan error, 60)
	for range cap(waiting) {
		go func() {
			_, err := late.NICs(context.WithoutCancel(t.Context()), spec.Template.Ref)
			waiting <- err
		}()
	}
	bring(t, fast, 1)
	g.Expect(<-waiting).To(MatchError(vcenter.ErrUnavailable), "callers of a slow vCenter are not all kept waiting")
	g.Expect(slow.Calls()["RetrievePropertiesEx"]).To(BeNumerically(">", 0), "while it has not answered any of them")
	slow.SetDelay(0)
	answered := 0
	for range cap(waiting) - 1 {
		if err := <-waiting; err != nil {
			g.Expect(err).To(MatchError(vcenter.ErrUnavailable))
		} else {
			answered++
		}
	}
	g.Expect(answered).To(BeNumerically(">", 0))
	_, err := r.pool.Session(endpoint(slow))
	g.Expect(err).NotTo(HaveOccurred(), "slow is not lost")
}

func TestServerMustBeNamed(t *testing.T) {
	t.Parallel()
	_, err := newRig(t, simulator.ThreeZones()).pool.Session(vcenter.Endpoint{Username: "a", Password: "b"})
	NewWithT(t).Expect(err).To(MatchError(vcenter.ErrInvalid))
}

// TestServerIsNotVCenter is not parallel: two of vcsim's inventories cannot be created concurrently, and this test does not
// use the lock for that.
func TestServerIsNotVCenter(t *testing.T) {
	g := NewWithT(t)
	host := vcsim.ESX()
	g.Expect(host.Create()).To(Succeed())
	t.Cleanup(host.Remove)
	host.Service.TLS = new(tls.Config)
	server := host.Service.NewServer()
	t.Cleanup(server.Close)
	r := &rig{recorder: &recorder{}, t: t}
	r.pool = newPool(t, r.recorder, time.Hour)
	err := r.errorOf(vcenter.Endpoint{
		Server: server.URL.Host, Username: "user", Password: "pass", Thumbprint: soap.ThumbprintSHA256(server.Certificate()),
	}, vcenter.ErrUnreachable)
	g.Expect(err).To(MatchError(ContainSubstring("it is not a vCenter")))
}

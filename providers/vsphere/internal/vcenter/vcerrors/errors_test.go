// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcerrors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

func TestPasswordIsKeptOutOfErrors(t *testing.T) {
	g := NewWithT(t)
	err := fmt.Errorf("%w: proxy said: bad user:hunter2@host", ErrUnauthorized)
	g.Expect(Redact(err, "hunter2")).To(MatchError("vCenter rejected the account: proxy said: bad user:***@host"))
	g.Expect(Redact(err, "hunter2")).To(MatchError(ErrUnauthorized))
	g.Expect(errors.Is(Redact(fmt.Errorf("%w: hunter2", ErrUnreachable), "hunter2"), ErrUnreachable)).To(BeTrue())
	g.Expect(Redact(err, "")).To(BeIdenticalTo(err))
}

func TestClassify(t *testing.T) {
	fault := func(f types.BaseMethodFault) error { return soap.WrapVimFault(f) }
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"wrong password":     {fault(&types.InvalidLogin{}), ErrUnauthorized},
		"expired":            {fault(&types.NotAuthenticated{}), ErrConnecting},
		"no privilege":       {fault(&types.NoPermission{PrivilegeId: "VirtualMachine.Inventory.Delete"}), ErrForbidden},
		"gone":               {fault(&types.ManagedObjectNotFound{}), ErrNotFound},
		"name taken":         {fault(&types.DuplicateName{Name: "vm"}), ErrDuplicateName},
		"another task":       {fault(&types.TaskInProgress{}), ErrUnavailable},
		"on":                 {fault(&types.InvalidPowerState{ExistingState: types.VirtualMachinePowerStatePoweredOn}), ErrPoweredOn},
		"off":                {fault(&types.InvalidPowerState{ExistingState: types.VirtualMachinePowerStatePoweredOff}), ErrPoweredOff},
		"on, and not to be":  {fault(&types.InvalidPowerState{ExistingState: types.VirtualMachinePowerStatePoweredOn}), ErrInvalid},
		"suspended":          {fault(&types.InvalidPowerState{ExistingState: types.VirtualMachinePowerStateSuspended}), ErrInvalid},
		"new enough":         {fault(&types.AlreadyUpgraded{}), ErrUpgraded},
		"anything else":      {fault(&types.InvalidArgument{}), ErrInvalid},
		"late":               {context.DeadlineExceeded, ErrUnavailable},
		"given up by caller": {context.Canceled, context.Canceled},
		"no connection":      {&url.Error{Op: "Post", URL: "https://host/sdk", Err: errors.New("connection refused")}, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Classify(test.err)).To(MatchError(test.want))
			task := OfTask(types.LocalizedMethodFault{LocalizedMessage: "words"})
			g.Expect(task).To(MatchError("the task failed: words"))
		})
	}
	g := NewWithT(t)
	g.Expect(Classify(fault(&types.NoPermission{PrivilegeId: "A.B"}))).To(MatchError(ContainSubstring("privilege A.B is required")))
	g.Expect(Classify(&url.Error{Op: "Post", URL: "https://host/sdk", Err: errors.New("refused")})).To(
		MatchError("vCenter cannot be reached: refused"))
	g.Expect(OfSession(context.DeadlineExceeded)).To(MatchError(ErrUnreachable))
	g.Expect(OfSession(fault(&types.NoPermission{}))).To(MatchError(ErrUnauthorized), "an account without any role")
}

func TestOutageErrorIsStable(t *testing.T) {
	attempt := func(local, remote string, cause error) error {
		own, _ := net.ResolveTCPAddr("tcp", local)
		peer, _ := net.ResolveTCPAddr("tcp", remote)
		return &url.Error{Op: "Post", URL: "https://host/sdk", Err: &net.OpError{Op: "read", Net: "tcp", Source: own, Addr: peer, Err: cause}}
	}
	dial := func(remote string) error {
		peer, _ := net.ResolveTCPAddr("tcp", remote)
		return &url.Error{Op: "Post", URL: "https://host/sdk", Err: &net.OpError{Op: "dial", Net: "tcp", Addr: peer, Err: syscall.ECONNREFUSED}}
	}
	lookup := func(local string) error {
		return &url.Error{Op: "Post", URL: "https://host/sdk", Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
			Err: "read udp " + local + "->10.0.0.2:53: i/o timeout", Name: "vcenter", Server: "10.0.0.2:53", IsTimeout: true,
		}}}
	}
	for name, test := range map[string]struct {
		first, second error
		text          string
	}{
		"reset": {
			attempt("10.0.0.5:43210", "10.0.0.9:443", syscall.ECONNRESET), attempt("10.0.0.5:51234", "10.0.0.9:443", syscall.ECONNRESET),
			"vCenter cannot be reached: read tcp: connection reset by peer",
		},
		"reset over IPv6": {
			attempt("[fd00::5]:43210", "[fd00::9]:443", syscall.ECONNRESET), attempt("[fd00::5]:51234", "[fd00::9]:443", syscall.ECONNRESET),
			"vCenter cannot be reached: read tcp: connection reset by peer",
		},
		"refused by one of several addresses": {
			dial("10.0.0.9:443"), dial("10.0.0.10:443"), "vCenter cannot be reached: dial tcp: connection refused",
		},
		"resolver": {
			lookup("10.0.0.5:51234"), lookup("10.0.0.5:43210"),
			"vCenter cannot be reached: dial tcp: lookup vcenter on 10.0.0.2:53: read udp: i/o timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Classify(test.first)).To(MatchError(test.text))
			g.Expect(Classify(test.second)).To(MatchError(test.text))
			g.Expect(Classify(test.first)).To(MatchError(ErrUnreachable))
		})
	}
	g := NewWithT(t)
	g.Expect(errors.Is(Classify(dial("10.0.0.9:443")), syscall.ECONNREFUSED)).To(BeTrue(), "the cause can still be asked for")
}

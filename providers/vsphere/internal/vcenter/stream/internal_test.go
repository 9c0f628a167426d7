// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"log/slog"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// timeout is long enough for a busy machine; only failing tests wait that long.
const timeout = time.Minute

// opened returns a stream that is not read.
func opened(t *testing.T, server *simulator.Server, report func(inventory.Changes)) *Stream {
	t.Helper()
	u, err := soap.ParseURL(server.Host())
	if err != nil {
		t.Fatal(err)
	}
	client, err := vim25.NewClient(t.Context(), soap.NewClient(u, true))
	if err != nil {
		t.Fatal(err)
	}
	if err := session.NewManager(client).Login(t.Context(), url.UserPassword(server.Username(), server.Password())); err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		API:       transport.NewSOAPClient(client, make(transport.Slots, transport.MaxCalls), &transport.Line{}, func(error) {}),
		Index:     inventory.NewIndex(inventory.NewRecords(nil)),
		Staleness: NewStalenessCheck(func(error) {}), Log: slog.New(slog.DiscardHandler), Report: report, Background: func(func(context.Context)) {},
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMissedTaskIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := simulator.Start(t, simulator.ThreeZones(), simulator.WithSilentRecentTasks())
	reported := make(chan inventory.Task, 10)
	s := opened(t, server, func(c inventory.Changes) {
		for _, task := range c.Tasks {
			reported <- task
		}
	})
	template := inventory.Ref{Type: "VirtualMachine", Value: server.Templates()[0].Ref}
	server.FailTasks("Destroy_Task", 1, "no")
	started, err := s.Start(t.Context(), "deleting it", func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.Destroy_Task(ctx, rt, &types.Destroy_Task{This: template})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	task := inventory.ParseRef("Task", started)
	known, followed := s.index.Task(task)
	g.Expect(followed).To(BeTrue())
	g.Expect(known.Done()).To(BeFalse())
	g.Eventually(func() bool { return s.pollTasks(t.Context()) }).WithTimeout(timeout).Should(BeTrue())
	g.Expect(reported).To(Receive(And(HaveField("Ref", started), HaveField("State", inventory.TaskError), HaveField("EntityRef", template))))
	known, _ = s.index.Task(task)
	g.Expect(known.State).To(Equal(inventory.TaskError))
	g.Expect(s.pollTasks(t.Context())).To(BeFalse(), "it has been reported")
	g.Expect(reported).NotTo(Receive())
}

func TestTaskStartedDuringPollIsPolledNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		f := newFollower()
		f.put(inventory.ParseRef("Task", "task-1"))
		<-time.After(pollInterval)
		began := time.Now()
		f.put(inventory.ParseRef("Task", "task-2"))
		f.polled(began, false)
		g.Expect(f.untilPoll()).To(Equal(pollInterval))

		<-time.After(pollInterval)
		f.polled(time.Now(), false)
		g.Expect(f.untilPoll()).To(Equal(maxWait), "nothing is under way")
	})
}

func TestReappearingVMStaysInView(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	f, vm := newFollower(), inventory.Ref{Type: "VirtualMachine", Value: "vm-1"}
	f.want(vm, true)
	change := f.take()
	g.Expect(change.add).To(Equal([]inventory.Ref{vm}))
	f.unwant(vm)
	f.want(vm, true)
	change = f.take()
	g.Expect(change.add).To(BeEmpty())
	g.Expect(f.list.remove).To(BeEmpty(), "vCenter would remove what the same call adds")
	f.want(vm, true)
	f.unwant(vm)
	g.Expect(f.list.remove).To(Equal([]inventory.Ref{vm}))
}

func TestUnresponsiveSessionIsStale(t *testing.T) {
	g := NewWithT(t)
	var lost error
	d := NewStalenessCheck(func(err error) { lost = err })
	d.Observe(context.DeadlineExceeded)
	d.Observe(context.DeadlineExceeded)
	d.Observe(nil)
	d.Observe(context.DeadlineExceeded)
	d.Observe(context.DeadlineExceeded)
	g.Expect(d.clear()).NotTo(HaveOccurred(), "any answer shows that it is alive")
	d.Observe(context.DeadlineExceeded)
	g.Expect(d.clear()).To(MatchError(vcerrors.ErrUnreachable))
	d.Observe(&url.Error{Op: "Post", URL: "https://host/sdk", Err: syscall.ECONNRESET})
	g.Expect(d.clear()).To(MatchError(vcerrors.ErrUnreachable))
	d.Observe(soap.WrapVimFault(&types.InvalidPowerState{}))
	g.Expect(d.clear()).NotTo(HaveOccurred())
	g.Expect(lost).NotTo(HaveOccurred(), "only vCenter can say that it is over")
	d.Observe(soap.WrapVimFault(&types.NotAuthenticated{}))
	g.Expect(lost).To(MatchError(vcerrors.ErrConnecting))
}

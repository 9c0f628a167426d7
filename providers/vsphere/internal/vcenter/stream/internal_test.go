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

// patience is long enough for a busy machine; only failing tests wait that long.
const patience = time.Minute

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
		API:    transport.NewSOAPClient(client, make(transport.Slots, transport.Most), &transport.Line{}, func(error) {}),
		Index:  inventory.NewIndex(inventory.NewRecords(nil)),
		Doubts: NewDoubts(func(error) {}), Log: slog.New(slog.DiscardHandler), Report: report, Background: func(func(context.Context)) {},
	})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTaskThatTheStreamMissesIsReported(t *testing.T) {
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
	g.Eventually(func() bool { return s.lookAtTasks(t.Context()) }).WithTimeout(patience).Should(BeTrue())
	g.Expect(reported).To(Receive(And(HaveField("Ref", started), HaveField("State", inventory.TaskError), HaveField("EntityRef", template))))
	known, _ = s.index.Task(task)
	g.Expect(known.State).To(Equal(inventory.TaskError))
	g.Expect(s.lookAtTasks(t.Context())).To(BeFalse(), "it has been reported")
	g.Expect(reported).NotTo(Receive())
}

func TestTaskThatStartsDuringALookIsLookedAtInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		f := newFollower()
		f.put(inventory.ParseRef("Task", "task-1"))
		<-time.After(lookAgain)
		began := time.Now()
		f.put(inventory.ParseRef("Task", "task-2"))
		f.looked(began, false)
		g.Expect(f.untilLook()).To(Equal(lookAgain))

		<-time.After(lookAgain)
		f.looked(time.Now(), false)
		g.Expect(f.untilLook()).To(Equal(maxWait), "nothing is under way")
	})
}

func TestMachineThatComesBackIntoSightStaysInTheView(t *testing.T) {
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

func TestSessionThatDoesNotAnswerIsInDoubt(t *testing.T) {
	g := NewWithT(t)
	var lost error
	d := NewDoubts(func(err error) { lost = err })
	d.Judge(context.DeadlineExceeded)
	d.Judge(context.DeadlineExceeded)
	d.Judge(nil)
	d.Judge(context.DeadlineExceeded)
	d.Judge(context.DeadlineExceeded)
	g.Expect(d.settle()).NotTo(HaveOccurred(), "any answer shows that it is alive")
	d.Judge(context.DeadlineExceeded)
	g.Expect(d.settle()).To(MatchError(vcerrors.ErrUnreachable))
	d.Judge(&url.Error{Op: "Post", URL: "https://host/sdk", Err: syscall.ECONNRESET})
	g.Expect(d.settle()).To(MatchError(vcerrors.ErrUnreachable))
	d.Judge(soap.WrapVimFault(&types.InvalidPowerState{}))
	g.Expect(d.settle()).NotTo(HaveOccurred())
	g.Expect(lost).NotTo(HaveOccurred(), "only vCenter can say that it is over")
	d.Judge(soap.WrapVimFault(&types.NotAuthenticated{}))
	g.Expect(lost).To(MatchError(vcerrors.ErrConnecting))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// patience is for a machine that does other things too; it is only waited out by a test that fails.
const patience = time.Minute

func TestPasswordIsKeptOutOfErrors(t *testing.T) {
	g := NewWithT(t)
	err := fmt.Errorf("%w: proxy said: bad user:hunter2@host", ErrUnauthorized)
	g.Expect(redact(err, "hunter2")).To(MatchError("vCenter refuses the account: proxy said: bad user:***@host"))
	g.Expect(redact(err, "hunter2")).To(MatchError(ErrUnauthorized))
	g.Expect(errors.Is(redact(fmt.Errorf("%w: hunter2", ErrUnreachable), "hunter2"), ErrUnreachable)).To(BeTrue())
	g.Expect(redact(err, "")).To(BeIdenticalTo(err))
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
		"anything else":      {fault(&types.InvalidArgument{}), ErrInvalid},
		"late":               {context.DeadlineExceeded, ErrUnavailable},
		"given up by caller": {context.Canceled, context.Canceled},
		"no connection":      {&url.Error{Op: "Post", URL: "https://host/sdk", Err: errors.New("connection refused")}, ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(classify(test.err)).To(MatchError(test.want))
			task := taskError(types.LocalizedMethodFault{LocalizedMessage: "words"})
			g.Expect(task).To(MatchError("the task failed: words"))
		})
	}
	g := NewWithT(t)
	g.Expect(classify(fault(&types.NoPermission{PrivilegeId: "A.B"}))).To(MatchError(ContainSubstring("privilege A.B is needed")))
	g.Expect(classify(&url.Error{Op: "Post", URL: "https://host/sdk", Err: errors.New("refused")})).To(
		MatchError("vCenter cannot be reached: refused"))
	g.Expect(sessionError(context.DeadlineExceeded)).To(MatchError(ErrUnreachable))
	g.Expect(sessionError(fault(&types.NoPermission{}))).To(MatchError(ErrUnauthorized), "an account without any role")
}

func TestAnOutageHasOneTextHoweverOftenItIsTried(t *testing.T) {
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
			g.Expect(classify(test.first)).To(MatchError(test.text))
			g.Expect(classify(test.second)).To(MatchError(test.text))
			g.Expect(classify(test.first)).To(MatchError(ErrUnreachable))
		})
	}
	g := NewWithT(t)
	g.Expect(errors.Is(classify(dial("10.0.0.9:443")), syscall.ECONNREFUSED)).To(BeTrue(), "the cause can still be asked for")
}

// TestAttemptThatFailsLikeTheOneBeforeWakesNobody stands for an outage of hours.
func TestAttemptThatFailsLikeTheOneBeforeWakesNobody(t *testing.T) {
	g := NewWithT(t)
	var events []Event
	ep := Endpoint{Server: "vc", Username: "me"}
	e := newEntry(ep, &Options{OnEvent: func(e Event) { events = append(events, e) }})
	down, up := Event{Server: "vc", Account: ep.Account(), Kind: SessionDown}, Event{Server: "vc", Account: ep.Account(), Kind: SessionUp}
	for range 3 {
		e.down(ErrUnreachable)
	}
	g.Expect(events).To(Equal([]Event{down}))
	e.down(ErrUnauthorized)
	g.Expect(events).To(Equal([]Event{down, down}), "there is another reason to show")
	e.down(ErrUnreachable)
	g.Expect(events).To(Equal([]Event{down, down}), "that has been shown")
	e.up()
	e.down(ErrUnauthorized)
	g.Expect(events).To(Equal([]Event{down, down, up, down}))
}

// TestChangesOfAShortTimeAreOne stands for two hosts that go: one event of the inventory.
func TestChangesOfAShortTimeAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var events atomic.Int32
		d := newDebouncer(func() { events.Add(1) })
		after := func(d time.Duration) int {
			<-time.After(d)
			synctest.Wait()
			return int(events.Load())
		}
		for range 10 {
			d.trigger()
			g.Expect(after(debounce / 20)).To(BeZero())
		}
		g.Expect(after(debounce)).To(Equal(1))
		d.trigger()
		g.Expect(after(2*debounce)).To(Equal(2), "what comes later is reported too")
		d.trigger()
		d.stop()
		g.Expect(after(2*debounce)).To(Equal(2), "a session that is over reports nothing")
	})
}

func TestBackoff(t *testing.T) {
	g := NewWithT(t)
	var b backoff
	lost := fmt.Errorf("%w", ErrUnreachable)
	g.Expect(b.next(lost)).To(BeNumerically("<", time.Millisecond), "the first attempt is at once")
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		g.Expect(b.next(lost)).To(And(BeNumerically(">=", want*time.Second), BeNumerically("<=", want*time.Second*6/5)))
	}
	g.Expect(new(backoff).next(fmt.Errorf("%w", ErrUnauthorized))).To(Equal(time.Minute))
}

func TestSessionThatDoesNotAnswerIsInDoubt(t *testing.T) {
	g := NewWithT(t)
	var lost error
	s := &Session{lose: func(err error) { lost = err }}
	s.judge(context.DeadlineExceeded)
	s.judge(context.DeadlineExceeded)
	s.judge(nil)
	s.judge(context.DeadlineExceeded)
	s.judge(context.DeadlineExceeded)
	g.Expect(s.doubts.settle()).NotTo(HaveOccurred(), "any answer shows that it is alive")
	s.judge(context.DeadlineExceeded)
	g.Expect(s.doubts.settle()).To(MatchError(ErrUnreachable))
	s.judge(&url.Error{Op: "Post", URL: "https://host/sdk", Err: syscall.ECONNRESET})
	g.Expect(s.doubts.settle()).To(MatchError(ErrUnreachable))
	s.judge(soap.WrapVimFault(&types.InvalidPowerState{}))
	g.Expect(s.doubts.settle()).NotTo(HaveOccurred())
	g.Expect(lost).NotTo(HaveOccurred(), "only vCenter can say that it is over")
	s.judge(soap.WrapVimFault(&types.NotAuthenticated{}))
	g.Expect(lost).To(MatchError(ErrConnecting))
}

// dialled opens a session that no entry looks after: nobody reads its stream.
func dialled(t *testing.T, server *simulator.Server, onEvent func(Event)) *Session {
	t.Helper()
	opts := NewPool(Options{OnEvent: onEvent}).opts
	ctx, lose := context.WithCancelCause(t.Context())
	s, err := dial(ctx, Endpoint{
		Server: server.Host(), Username: server.Username(), Password: server.Password(), Thumbprint: server.Thumbprint(),
	}, &opts, lose)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(ctx, errClosed) })
	return s
}

func TestTaskThatTheStreamMissesIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := StartVCenter(t, simulator.ThreeZones())
	events := make(chan Event, 10)
	s := dialled(t, server, func(e Event) { events <- e })
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	server.FailTasks("Destroy_Task", 1, "no")
	task, err := s.Destroy(t.Context(), template.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	known, followed := s.Task(task)
	g.Expect(followed).To(BeTrue())
	g.Expect(known.Done()).To(BeFalse())
	g.Eventually(func() bool { return s.lookAtTasks(t.Context()) }).WithTimeout(patience).Should(BeTrue())
	g.Expect(events).To(Receive(Equal(Event{
		Server: server.Host(), Kind: TaskDone, Task: task,
		VM: template.Ref, InstanceUUID: template.InstanceUUID, BiosUUID: template.BiosUUID, Name: template.Name,
	})))
	known, _ = s.Task(task)
	g.Expect(known.State).To(Equal(TaskError))
	g.Expect(s.lookAtTasks(t.Context())).To(BeFalse(), "its event has been")
	g.Expect(events).NotTo(Receive())
}

func TestExpiredRESTSessionLogsInAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := StartVCenter(t, simulator.ThreeZones())
	s := dialled(t, server, nil)
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	id, err := server.TagID("zone-a")
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(s.AttachTags(t.Context(), template.Ref, []string{id})).To(Succeed())
	g.Expect(s.tags.client.Logout(t.Context())).To(Succeed()) // as if it had expired
	g.Expect(s.AttachTags(t.Context(), template.Ref, []string{id})).To(Succeed())
	g.Expect(server.Calls()).To(HaveKeyWithValue("REST POST /rest/com/vmware/cis/session", 2))
}

func TestPathTemplate(t *testing.T) {
	g := NewWithT(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://host/rest/com/vmware/cis/tagging/tag/id:urn:vmomi:x:GLOBAL", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pathTemplate(req.URL.Path)).To(Equal("/rest/com/vmware/cis/tagging/tag/id:{id}"))
}

func TestIndexForgetsWhatLeaves(t *testing.T) {
	g := NewWithT(t)
	ix := newIndex(newRecords(nil))
	folder, vm := ref{Type: "Folder", Value: "group-v1"}, ref{Type: "VirtualMachine", Value: "vm-1"}
	update := func(kind types.ObjectUpdateKind, obj ref, changes ...types.PropertyChange) changes {
		return ix.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
			{Kind: kind, Obj: obj, ChangeSet: changes},
		}}}})
	}
	name := func(s string) types.PropertyChange { return types.PropertyChange{Name: "name", Val: s} }
	config := types.PropertyChange{Name: "summary.config", Val: types.VirtualMachineConfigSummary{InstanceUuid: "AA-BB", Uuid: "cc"}}

	g.Expect(update(types.ObjectUpdateKindEnter, folder, name("a%2fb")).structural).To(BeTrue())
	g.Expect(update(types.ObjectUpdateKindModify, folder, name("a%2fb")).structural).To(BeFalse(), "nothing has changed")
	g.Expect(ix.names).To(And(HaveKey("folder/a%2fb"), HaveKey("folder/a/b")))
	g.Expect(update(types.ObjectUpdateKindEnter, vm, name("one"), config).vms).To(HaveLen(1))
	g.Expect(ix.candidates("aa-bb", "", ref{})).To(HaveLen(1), "UUIDs are compared without case")
	g.Expect(update(types.ObjectUpdateKindModify, vm, name("one")).vms).To(BeEmpty(), "nothing has changed")
	g.Expect(update(types.ObjectUpdateKindModify, vm, name("two")).vms).To(HaveLen(1))

	g.Expect(update(types.ObjectUpdateKindLeave, vm).vms[0].name).To(Equal("two"))
	update(types.ObjectUpdateKindLeave, folder)
	g.Expect(ix.names).To(BeEmpty())
	g.Expect(ix.instances).To(BeEmpty())
	g.Expect(ix.bios).To(BeEmpty())
	g.Expect(ix.entities).To(BeEmpty())
	g.Expect(ix.vms).To(BeEmpty())
}

func TestMachineThatVCenterCannotReadKeepsItsUUIDs(t *testing.T) {
	for name, config := range map[string]types.AnyType{
		"no configuration":            nil,
		"a configuration without any": types.VirtualMachineConfigSummary{Name: "one"},
	} {
		for _, kind := range []types.ObjectUpdateKind{types.ObjectUpdateKindModify, types.ObjectUpdateKindEnter} {
			t.Run(name+", "+string(kind), func(t *testing.T) {
				g := NewWithT(t)
				ix := newIndex(newRecords(nil))
				vm := ref{Type: "VirtualMachine", Value: "vm-1"}
				apply := func(kind types.ObjectUpdateKind, changes ...types.PropertyChange) {
					ix.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
						{Kind: kind, Obj: vm, ChangeSet: changes},
					}}}})
				}
				known := types.VirtualMachineConfigSummary{InstanceUuid: "aa", Uuid: "bb"}
				named := types.PropertyChange{Name: "name", Val: "one"}
				apply(types.ObjectUpdateKindEnter, named, types.PropertyChange{Name: "summary.config", Val: known})
				apply(kind, named, types.PropertyChange{Name: "summary.config", Val: config},
					types.PropertyChange{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionStateInaccessible})

				found := ix.candidates("aa", "", ref{})
				g.Expect(found).To(HaveLen(1))
				g.Expect(found[0].BiosUUID).To(Equal("bb"))
				g.Expect(found[0].Connected()).To(BeFalse())
				apply(types.ObjectUpdateKindLeave)
				g.Expect(ix.instances).To(BeEmpty())
				g.Expect(ix.bios).To(BeEmpty())
			})
		}
	}
}

func TestReadingEverythingAgainDropsWhatIsGone(t *testing.T) {
	g := NewWithT(t)
	ix := newIndex(newRecords(nil))
	folder, one, two := ref{Type: "Folder", Value: "group-v1"}, ref{Type: "VirtualMachine", Value: "vm-1"}, ref{Type: "VirtualMachine", Value: "vm-2"}
	enter := func(obj ref, changes ...types.PropertyChange) *types.UpdateSet {
		return &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindEnter, Obj: obj, ChangeSet: changes},
		}}}}
	}
	pool := ref{Type: "ResourcePool", Value: "resgroup-1"}
	for _, set := range []*types.UpdateSet{
		enter(folder, types.PropertyChange{Name: "name", Val: "f"}),
		enter(one, types.PropertyChange{Name: "name", Val: "one"}, types.PropertyChange{Name: "resourcePool", Val: pool}),
		enter(two, types.PropertyChange{Name: "name", Val: "two"}),
	} {
		ix.apply(set)
	}
	again := enter(one, types.PropertyChange{Name: "name", Val: "one"})
	g.Expect(ix.apply(again).vms).To(HaveLen(1), "its pool has gone")
	g.Expect(ix.vms[one].pool).To(BeZero())
	seen := map[ref]struct{}{}
	ix.note(seen, again)
	gone := ix.sweep(seen)
	g.Expect(gone.structural).To(BeTrue())
	g.Expect(ix.vms).To(And(HaveLen(1), HaveKey(one)))
	g.Expect(ix.entities).To(BeEmpty())
}

func TestHalfFinishedMachineIsUnfinished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil)
	vm := ref{Type: "VirtualMachine", Value: "vm-4711"}
	s.index.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
		{Kind: types.ObjectUpdateKindEnter, Obj: vm, ChangeSet: []types.PropertyChange{{Name: "name", Val: "lost"}}},
	}}}})
	g.Expect(s.Unfinished("lost")).To(HaveLen(1))
	g.Expect(s.Unfinished("other")).To(BeEmpty())
}

// crowd is the index of a vCenter with so many virtual machines, all of them in one group, and two templates.
func crowd(n int) (*index, *types.UpdateSet) {
	ix := newIndex(newRecords(nil))
	folder, cluster := ref{Type: "Folder", Value: "group-v1"}, ref{Type: "ClusterComputeResource", Value: "domain-c1"}
	updates := []types.ObjectUpdate{{Kind: types.ObjectUpdateKindEnter, Obj: folder, ChangeSet: []types.PropertyChange{{Name: "name", Val: "vm"}}}}
	group := &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "all"}}
	for i := range n {
		vm := ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", i)}
		group.Vm = append(group.Vm, vm)
		updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: vm, ChangeSet: []types.PropertyChange{
			{Name: "name", Val: vm.Value}, {Name: "parent", Val: folder},
			{Name: "summary.config", Val: types.VirtualMachineConfigSummary{InstanceUuid: vm.Value, Template: i < 2}},
		}})
	}
	updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: cluster, ChangeSet: []types.PropertyChange{
		{Name: "configurationEx", Val: types.ClusterConfigInfoEx{Group: []types.BaseClusterGroupInfo{group}}},
	}})
	return ix, &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: updates}}}
}

func TestWrongTemplateNamesTheTemplatesThereAre(t *testing.T) {
	g := NewWithT(t)
	ix, all := crowd(50)
	ix.apply(all)
	_, err := (&resolver{ix: ix}).find(kindVM, "missing", nil)
	g.Expect(err).To(MatchError(HaveSuffix("vCenter has /vm-0, /vm-1")))
}

func TestGroupWithoutAMemberReportsThatMemberOnly(t *testing.T) {
	g := NewWithT(t)
	ix, all := crowd(50)
	g.Expect(ix.apply(all).vms).To(HaveLen(50))
	cluster := all.FilterSet[0].ObjectSet[51]
	cluster.Kind = types.ObjectUpdateKindModify
	config := cluster.ChangeSet[0].Val.(types.ClusterConfigInfoEx)
	whole := config.Group[0].(*types.ClusterVmGroup)
	less := &types.ClusterVmGroup{ClusterGroupInfo: whole.ClusterGroupInfo, Vm: whole.Vm[1:]}
	for _, test := range []struct {
		group *types.ClusterVmGroup
		want  []string
	}{{less, []string{"vm-0"}}, {less, nil}, {whole, []string{"vm-0"}}} {
		cluster.ChangeSet[0].Val = types.ClusterConfigInfoEx{Group: []types.BaseClusterGroupInfo{test.group}}
		changed := ix.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{cluster}}}})
		var names []string
		for _, m := range changed.vms {
			names = append(names, m.name)
		}
		g.Expect(names).To(Equal(test.want))
		g.Expect(changed.structural).To(BeFalse(), "who is in a group changes with every machine")
	}
	g.Expect(ix.inGroup(cluster.Obj, "all", whole.Vm[0])).To(BeTrue())
}

func BenchmarkInventoryWithALargeGroup(b *testing.B) {
	ix, all := crowd(20000)
	for b.Loop() {
		ix.apply(all)
	}
}

func BenchmarkWrongTemplate(b *testing.B) {
	ix, all := crowd(20000)
	ix.apply(all)
	for b.Loop() {
		if _, err := (&resolver{ix: ix}).find(kindVM, "missing", nil); err == nil {
			b.Fatal("it was found")
		}
	}
}

// TestHangingVCenterHoldsFewOfItsCallers has a caller for each of a thousand machines, of two accounts.
func TestHangingVCenterHoldsFewOfItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		all := &lines{}
		session := func(server string) *Session {
			return &Session{line: all.line(server), slots: make(chan struct{}, maxCalls), lose: func(error) {}}
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
		caller := func(s *Session) {
			held.Add(1)
			defer held.Add(-1)
			_ = s.call(t.Context(), "calling", hang)
		}
		for range 500 {
			go caller(one)
			go caller(two)
		}
		synctest.Wait()
		g.Expect(held.Load()).To(BeEquivalentTo(1000), "it may be slow only")
		<-time.After(slotTimeout + time.Second)
		g.Expect(held.Load()).To(BeEquivalentTo(2 * maxCalls))
		for range 500 {
			go caller(one)
			go caller(two)
		}
		synctest.Wait()
		g.Expect(held.Load()).To(BeEquivalentTo(2*maxCalls), "who comes later is turned away at once")
		g.Expect(two.call(t.Context(), "calling", hang)).To(MatchError(ErrUnavailable))
		quick := func(context.Context, soap.RoundTripper) error { return nil }
		g.Expect(other.call(t.Context(), "calling", quick)).To(Succeed(), "another vCenter")

		close(answers)
		synctest.Wait()
		g.Expect(one.call(t.Context(), "calling", quick)).To(Succeed())
	})
}

func TestLostCloneThatTheStreamDoesNotShowYetCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil) // nobody reads its stream
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	placement, err := s.Resolve(Placement{
		Datacenter: "dc-1", ComputeCluster: "zone-a", Folder: "workload", Datastore: "datastore-a", Networks: []string{simulator.NetworkName},
	})
	g.Expect(err).NotTo(HaveOccurred())
	lost := LostClone{TemplateRef: template.Ref, InstanceUUID: "11111111-2222-4333-8444-000000000000", Before: time.Now()}
	g.Expect(s.Cloning(t.Context(), lost)).To(BeFalse())
	task, err := s.CloneVM(t.Context(), CloneSpec{Name: "lost", InstanceUUID: lost.InstanceUUID, Template: template, Placement: placement})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (TaskState, error) {
		now, err := s.LookupTask(t.Context(), task)
		return now.State, err
	}).WithTimeout(patience).Should(Equal(TaskSuccess))
	g.Expect(s.index.candidates(lost.InstanceUUID, "", ref{})).To(BeEmpty(), "the stream has not been read")
	g.Expect(s.Cloning(t.Context(), lost)).To(BeTrue())
}

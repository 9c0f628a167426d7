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
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// timeout is long enough for a busy machine; only failing tests wait that long.
const timeout = time.Minute

// TestRepeatedFailureEmitsNoEvent simulates an outage of hours.
func TestRepeatedFailureEmitsNoEvent(t *testing.T) {
	g := NewWithT(t)
	var events []Event
	ep := Endpoint{Server: "vc", Username: "me"}
	e := newEntry(ep, &Options{OnEvent: func(e Event) { events = append(events, e) }})
	down, up := Event{Server: "vc", Account: ep.Account(), Kind: SessionDown}, Event{Server: "vc", Account: ep.Account(), Kind: SessionUp}
	for range 3 {
		e.down(vcerrors.ErrUnreachable)
	}
	g.Expect(events).To(Equal([]Event{down}))
	e.down(vcerrors.ErrUnauthorized)
	g.Expect(events).To(Equal([]Event{down, down}), "there is another reason to show")
	e.down(vcerrors.ErrUnreachable)
	g.Expect(events).To(Equal([]Event{down, down}), "that has been shown")
	e.up()
	e.down(vcerrors.ErrUnauthorized)
	g.Expect(events).To(Equal([]Event{down, down, up, down}))
}

// TestChangesAreDebounced simulates the failure of two hosts, which must emit a single InventoryChanged event.
func TestChangesAreDebounced(t *testing.T) {
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
	lost := fmt.Errorf("%w", vcerrors.ErrUnreachable)
	g.Expect(b.next(lost)).To(BeNumerically("<", time.Millisecond), "the first attempt is at once")
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		g.Expect(b.next(lost)).To(And(BeNumerically(">=", want*time.Second), BeNumerically("<=", want*time.Second*6/5)))
	}
	g.Expect(new(backoff).next(fmt.Errorf("%w", vcerrors.ErrUnauthorized))).To(Equal(time.Minute))
}

// dialled opens a session without an entry, so that its stream is not read.
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
	g.Expect(s.rest.Client.Logout(t.Context())).To(Succeed()) // simulates expiry
	g.Expect(s.AttachTags(t.Context(), template.Ref, []string{id})).To(Succeed())
	g.Expect(server.Calls()).To(HaveKeyWithValue("REST POST /rest/com/vmware/cis/session", 2))
}

func TestZoneRecoversAfterTagIsRecreated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	server := StartVCenter(t, simulator.ThreeZones())
	s := dialled(t, server, nil)
	zone := inventory.ZoneSpec{
		Placement: inventory.Placement{Datacenter: "dc-1", ComputeCluster: "zone-a"},
		Zone:      inventory.ZoneTag{Name: "zone-a", Category: simulator.ZoneCategory, Type: "ComputeCluster"},
	}
	problems := func() []inventory.ZoneProblem {
		s.tags.Forget() // simulates a minute passing
		report, err := s.CheckZone(t.Context(), zone)
		g.Expect(err).NotTo(HaveOccurred())
		return report.Problems
	}
	g.Expect(problems()).To(BeEmpty())
	g.Expect(server.DeleteTag("zone-a")).To(Succeed())
	g.Expect(server.MakeTag(simulator.Tag{Category: simulator.ZoneCategory, Name: "zone-a", On: []string{"/dc-1/host/zone-a"}})).To(Succeed())
	g.Expect(problems()).To(BeEmpty(), "what it was called is known for minutes yet")
	g.Expect(server.DeleteTag("zone-a")).To(Succeed())
	g.Expect(problems()).To(HaveLen(1))
}

func TestVMWithoutUUIDsIsUnfinished(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil)
	vm := inventory.Ref{Type: "VirtualMachine", Value: "vm-4711"}
	s.index.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
		{Kind: types.ObjectUpdateKindEnter, Obj: vm, ChangeSet: []types.PropertyChange{{Name: "name", Val: "lost"}}},
	}}}})
	g.Expect(s.Unfinished("lost")).To(HaveLen(1))
	g.Expect(s.Unfinished("other")).To(BeEmpty())
}

func TestLostCloneNotYetInStream(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil) // its stream is not read
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	placement, err := s.Resolve(inventory.Placement{
		Datacenter: "dc-1", ComputeCluster: "zone-a", Folder: "workload", Datastore: "datastore-a", Networks: []string{simulator.NetworkName},
	})
	g.Expect(err).NotTo(HaveOccurred())
	lost := LostClone{TemplateRef: template.Ref, InstanceUUID: "11111111-2222-4333-8444-000000000000", Before: time.Now()}
	g.Expect(s.Cloning(t.Context(), lost)).To(BeFalse())
	task, err := s.CloneVM(t.Context(), CloneSpec{Name: "lost", InstanceUUID: lost.InstanceUUID, Template: template, Placement: placement})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (inventory.TaskState, error) {
		now, err := s.LookupTask(t.Context(), task)
		return now.State, err
	}).WithTimeout(timeout).Should(Equal(inventory.TaskSuccess))
	g.Expect(s.index.Candidates(lost.InstanceUUID, "", inventory.Ref{})).To(BeEmpty(), "the stream has not been read")
	g.Expect(s.Cloning(t.Context(), lost)).To(BeTrue())
}

func TestIPv6ServerBrackets(t *testing.T) {
	t.Parallel()
	for server, address := range map[string]string{
		"2001:db8::1":                   "[2001:db8::1]",
		"[2001:db8::1]":                 "[2001:db8::1]",
		"[2001:db8::1]:8443":            "[2001:db8::1]:8443",
		"https://2001:db8::1/sdk":       "[2001:db8::1]",
		"https://[2001:db8::1]:8443":    "[2001:db8::1]:8443",
		"10.0.0.1:8443":                 "10.0.0.1:8443",
		"https://vcenter_1.example.com": "vcenter_1.example.com",
	} {
		client, err := newClient(Endpoint{Server: server}, &Options{})
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), server)
		g.Expect(client.URL().Host).To(Equal(address), server)
		g.Expect(client.URL().Path).To(Equal("/sdk"), server)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/patch"
)

func machine(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func wants(name, domain string) hosts.Requirements {
	return hosts.Requirements{Machine: machine(name), Domain: domain}
}

func version(v int) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Version = strconv.Itoa(v) }
}

func takenBy(name string) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Unavailability, host.Consumer = hosts.InUse, machine(name) }
}

// inventory is an inventory with the machines that it has enqueued.
type inventory struct {
	*WithT
	*hosts.Inventory
	enqueued []string
}

func newInventory(t *testing.T, all ...hosts.Host) *inventory {
	t.Helper()
	d := &inventory{WithT: NewWithT(t)}
	d.Inventory = hosts.NewInventory(func(key types.NamespacedName) { d.enqueued = append(d.enqueued, key.Name) })
	for _, host := range all {
		d.Upsert(host)
	}
	return d
}

// reserve returns the host that a machine gets, or "".
func (d *inventory) reserve(w hosts.Requirements) string {
	host, _, ok := d.Reserve(w)
	d.Expect(ok).To(Equal(host.Name != ""))
	return host.Name
}

func TestInventoryReservesHostForOneMachine(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1"), in("a", "2"))
	d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.reserve(wants("second", "a"))).To(Equal("2"))
	d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"), "it is the same when asked again")
	_, why, ok := d.Reserve(wants("third", "a"))
	d.Expect(ok).To(BeFalse())
	d.Expect(why.String()).To(Equal("failure domain a: 2 hosts, 2 reserved for another machine"))
}

func TestInventoryTracksConsumer(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1", takenBy("first")))
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
	d.Upsert(in("a", "1", version(2)))
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
	d.Upsert(in("a", "1", takenBy("first"), version(3)))
	d.Delete(types.NamespacedName{Namespace: "ns", Name: "1"})
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
}

func TestInventoryIgnoresOlderVersions(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1", version(9)))
	d.Upsert(in("a", "1", takenBy("first"), version(11)))
	d.Upsert(in("a", "1", version(10)))
	d.Expect(d.reserve(wants("second", "a"))).To(BeEmpty())
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
}

func TestInventoryAcceptsOlderVersionAfterEtcdRestore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newInventory(t, in("a", "1", takenBy("first"), version(11)))
		<-time.After(patch.CacheLag + time.Second)
		d.Upsert(in("a", "1", version(10)))
		d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
		d.Expect(d.reserve(wants("second", "a"))).To(Equal("1"))
	})
}

func TestInventoryEnqueuesOneMachinePerHost(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "0", takenBy("x")))
	for i, name := range []string{"c", "b", "a"} {
		w := wants(name, "a")
		w.Since = time.Unix(int64(i), 0)
		d.Expect(d.reserve(w)).To(BeEmpty())
	}
	d.Expect(d.reserve(wants("elsewhere", "b"))).To(BeEmpty())
	d.Upsert(in("a", "1"))
	d.Expect(d.enqueued).To(Equal([]string{"c"}), "the one that came first, and no other")
	d.Upsert(in("a", "1", version(2)))
	d.Expect(d.enqueued).To(HaveLen(1), "what is reserved is not offered again")
	d.Upsert(in("a", "2"))
	d.Expect(d.enqueued).To(Equal([]string{"c", "b"}))
	d.Expect(d.reserve(wants("late", "a"))).To(BeEmpty(), "both are reserved")
	d.Expect(d.reserve(wants("c", "a"))).To(Equal("1"))
}

func TestInventoryOffersUnclaimedHostToNext(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1"))
	d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.reserve(wants("second", "a"))).To(BeEmpty())
	d.Forget(machine("first"))
	d.Expect(d.enqueued).To(Equal([]string{"second"}))
	d.Expect(d.reserve(wants("second", "b"))).To(BeEmpty(), "it wants something else now")
	d.Expect(d.reserve(wants("third", "a"))).To(Equal("1"))
}

func TestInventoryReplacesDeletedHost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*inventory){
		"taken by another": func(d *inventory) { d.Upsert(in("a", "1", takenBy("other"), version(2))) },
		"in error":         func(d *inventory) { d.Upsert(in("a", "1", with(hosts.InError), version(2))) },
		"in another domain": func(d *inventory) {
			d.Upsert(in("b", "1", version(2)))
		},
		"deleted": func(d *inventory) { d.Delete(types.NamespacedName{Namespace: "ns", Name: "1"}) },
		"refused": func(d *inventory) { d.Invalidate(in("a", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newInventory(t, in("a", "1"), in("a", "2"))
			d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"))
			lose(d)
			d.Expect(d.enqueued).To(Equal([]string{"first"}))
			d.Expect(d.reserve(wants("second", "a"))).To(BeEmpty())
			d.Expect(d.reserve(wants("first", "a"))).To(Equal("2"))
		})
	}
}

func TestInventoryInvalidatesOnlySameVersion(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1", version(2)))
	d.Invalidate(in("a", "1", version(1)))
	d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"), "it has been seen again since")
	d.Invalidate(in("a", "1", version(2)))
	d.Expect(d.reserve(wants("first", "a"))).To(BeEmpty())
	d.Upsert(in("a", "1", version(2)))
	d.Expect(d.reserve(wants("first", "a"))).To(Equal("1"))
}

func TestInventoryKeepsReusedHostsForTheirOwner(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1"), in("a", "2", kept("cp-x"), with(hosts.NotReady)))
	ours := hosts.Requirements{Machine: machine("ours"), Domain: "a", Reuse: "cp-x"}
	d.Expect(d.reserve(ours)).To(BeEmpty(), "it waits for the one that comes back")
	d.Expect(d.reserve(wants("other", "a"))).To(Equal("1"))
	d.Upsert(in("a", "3"))
	d.Expect(d.enqueued).To(BeEmpty())
	d.Upsert(in("a", "2", kept("cp-x"), version(2)))
	d.Expect(d.enqueued).To(Equal([]string{"ours"}))
	d.Expect(d.reserve(ours)).To(Equal("2"))
}

func TestInventoryListsAllHostsOfMachine(t *testing.T) {
	t.Parallel()
	d := newInventory(t, in("a", "1"), in("a", "2", takenBy("first")))
	d.Expect(d.enqueued).To(BeEmpty())
	d.Upsert(in("a", "1", takenBy("first"), version(2)))
	d.Expect(d.enqueued).To(Equal([]string{"first"}), "it must report the other host")
	d.Expect(d.HeldBy(machine("first"))).To(Equal([]string{"1", "2"}))
	d.Upsert(in("a", "2", version(2)))
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
	d.Expect(d.enqueued).To(Equal([]string{"first", "first"}), "and must stop reporting it")
}

func TestEventsOfKeptHostAreCheap(t *testing.T) {
	const machines, others = 300, 2000
	d := newInventory(t, in("a", "kept", kept("cp-x"), with(hosts.NotReady)))
	for i := range others {
		d.Upsert(in("a", fmt.Sprintf("host-%04d", i), takenBy(fmt.Sprintf("m-%04d", i))))
	}
	for i := range machines {
		d.Expect(d.reserve(hosts.Requirements{Machine: machine(fmt.Sprintf("w-%03d", i)), Domain: "a", Reuse: "cp-x"})).To(BeEmpty())
	}
	v := 1
	allocations := testing.AllocsPerRun(10, func() {
		v++
		unavailability := hosts.NotReady
		if v%2 == 0 {
			unavailability = hosts.InError
		}
		d.Upsert(in("a", "kept", kept("cp-x"), with(unavailability), version(v)))
	})
	d.Expect(allocations).To(BeNumerically("<", machines), "not even one for each machine")
}

// history is an inventory with the view of its callers: hosts as last put, reservations as last returned.
type history struct {
	inventory *hosts.Inventory
	enqueued  []types.NamespacedName
	known     map[string]hosts.Host
	reserved  map[types.NamespacedName]string
	waiting   map[types.NamespacedName]hosts.Requirements
	clock     int
}

func newHistory() *history {
	h := &history{known: map[string]hosts.Host{}, reserved: map[types.NamespacedName]string{}, waiting: map[types.NamespacedName]hosts.Requirements{}}
	h.inventory = hosts.NewInventory(func(key types.NamespacedName) { h.enqueued = append(h.enqueued, key) })
	return h
}

func (h *history) put(host hosts.Host) {
	h.clock++
	host.Version = strconv.Itoa(h.clock)
	h.known[host.Name] = host
	h.inventory.Upsert(host)
	delete(h.waiting, host.Consumer)
	delete(h.reserved, host.Consumer)
	for key, name := range h.reserved {
		if order, _ := hosts.Choose([]hosts.Host{host}, h.waiting[key]); name == host.Name && len(order) == 0 {
			delete(h.reserved, key) // the API server would reject the claim
		}
	}
}

func (h *history) ask(t *rapid.T, w hosts.Requirements) {
	host, _, ok := h.inventory.Reserve(w)
	h.waiting[w.Machine] = w
	delete(h.reserved, w.Machine)
	if !ok {
		return
	}
	for other, name := range h.reserved {
		if name == host.Name {
			t.Fatalf("%s is reserved for both %s and %s", host.Name, other, w.Machine)
		}
	}
	if order, _ := hosts.Choose([]hosts.Host{h.known[host.Name]}, w); len(order) == 0 {
		t.Fatalf("%s does not suit %+v", host.Name, w)
	}
	h.reserved[w.Machine] = host.Name
}

// claim makes one of the machines claim its reserved host.
func (h *history) claim(*rapid.T) {
	for key, name := range h.reserved {
		if host := h.known[name]; host.Unavailability == "" {
			takenBy(key.Name)(&host)
			host.Reuse = ""
			h.put(host)
			return
		}
	}
}

func (h *history) change(t *rapid.T) {
	h.put(in(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "host")),
		with(rapid.SampledFrom([]hosts.Unavailability{"", "", hosts.InError, hosts.NotReady}).Draw(t, "unavailability")),
		kept(rapid.SampledFrom([]string{"", "", "", "cp-x"}).Draw(t, "reuse"))))
}

func (h *history) forget(t *rapid.T) {
	key := anyRequirements().Draw(t, "machine").Machine
	h.inventory.Forget(key)
	delete(h.waiting, key)
	delete(h.reserved, key)
}

// check makes machines that were enqueued ask again; asking must not help any other machine.
func (h *history) check(t *rapid.T) {
	for len(h.enqueued) > 0 {
		key := h.enqueued[0]
		h.enqueued = h.enqueued[1:]
		if w, ok := h.waiting[key]; ok {
			h.ask(t, w)
		}
	}
	checkNothingLeft(t, h.known, h.reserved, h.waiting)
}

// Whatever happens, in whatever order: no host is reserved twice, and no host stays free that a waiting machine could use.
func TestInventoryProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		t.Repeat(map[string]func(*rapid.T){
			"host": h.change, "claim": h.claim, "forget": h.forget, "": h.check,
			"ask": func(t *rapid.T) { h.ask(t, anyRequirements().Draw(t, "wants")) },
		})
	})
}

func checkNothingLeft(t *rapid.T, known map[string]hosts.Host, reserved map[types.NamespacedName]string, waiting map[types.NamespacedName]hosts.Requirements) {
	taken := map[string]bool{}
	for key, name := range reserved {
		if known[name].Unavailability == "" && waiting[key].Machine == key {
			taken[name] = true
		}
	}
	var left []hosts.Host
	for _, host := range known {
		if taken[host.Name] && host.Unavailability == "" {
			host.Unavailability = hosts.Promised
		}
		left = append(left, host)
	}
	for key, w := range waiting {
		if _, has := reserved[key]; has {
			continue
		}
		if order, _ := hosts.Choose(left, w); len(order) > 0 {
			t.Fatalf("%s waits for %+v and is not called, though %s is free", key, w, order[0].Name)
		}
	}
}

func TestInventoryEnqueuesWhenWaitReasonChanges(t *testing.T) {
	t.Parallel()
	broken := func(host *hosts.Host) { host.Unavailability = hosts.InError }
	d := newInventory(t, in("a", "1", takenBy("x")))
	d.reserve(wants("in a", "a"))
	d.reserve(wants("in b", "b"))
	d.reserve(wants("anywhere", ""))
	preferred := wants("rather in a", "a")
	preferred.Preferred = true
	d.reserve(preferred)
	enqueued := func() []string {
		last := d.enqueued
		d.enqueued = nil
		return last
	}

	d.Upsert(in("a", "2", takenBy("y")))
	d.Upsert(in("a", "2", takenBy("z"), version(2)))
	d.Upsert(in("a", "2", broken, version(3)))
	d.Expect(enqueued()).To(BeEmpty(), "it waits for a host to be free, as before")
	d.Upsert(in("a", "1", broken, version(2)))
	d.Expect(enqueued()).To(Equal([]string{"in a"}), "now it waits for one to be repaired")
	d.Upsert(in("a", "1", takenBy("x"), version(3)))
	d.Expect(enqueued()).To(Equal([]string{"in a"}))
	d.Delete(machine("1"))
	d.Expect(enqueued()).To(Equal([]string{"in a"}), "only a broken one is left")
	d.Delete(machine("2"))
	d.Expect(enqueued()).To(Equal([]string{"in a"}), "no host is left")
	d.Upsert(in("b", "3", takenBy("x")))
	d.Expect(enqueued()).To(Equal([]string{"in b"}))
	d.Upsert(in("a", "3", takenBy("x"), version(2)))
	d.Expect(enqueued()).To(ConsistOf("in a", "in b"), "it was relabelled")
}

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

func wants(name, domain string) hosts.Wants {
	return hosts.Wants{Machine: machine(name), Domain: domain}
}

func version(v int) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Version = strconv.Itoa(v) }
}

func takenBy(name string) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Obstacle, host.Consumer = hosts.InUse, machine(name) }
}

// desk is an inventory with the machines that it has called wake for.
type desk struct {
	*WithT
	*hosts.Inventory
	woken []string
}

func newDesk(t *testing.T, all ...hosts.Host) *desk {
	t.Helper()
	d := &desk{WithT: NewWithT(t)}
	d.Inventory = hosts.NewInventory(func(key types.NamespacedName) { d.woken = append(d.woken, key.Name) })
	for _, host := range all {
		d.Put(host)
	}
	return d
}

// gets returns the host that a machine gets, or "".
func (d *desk) gets(w hosts.Wants) string {
	host, _, ok := d.Ask(w)
	d.Expect(ok).To(Equal(host.Name != ""))
	return host.Name
}

func TestInventoryPromisesAHostToOneMachine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"), in("a", "2"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.gets(wants("second", "a"))).To(Equal("2"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"), "it is the same when asked again")
	_, why, ok := d.Ask(wants("third", "a"))
	d.Expect(ok).To(BeFalse())
	d.Expect(why.String()).To(Equal("failure domain a: 2 hosts, 2 about to be taken by another machine"))
}

func TestInventoryKnowsWhoHasAHost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", takenBy("first")))
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
	d.Put(in("a", "1", version(2)))
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
	d.Put(in("a", "1", takenBy("first"), version(3)))
	d.Drop(types.NamespacedName{Namespace: "ns", Name: "1"})
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
}

func TestInventoryIgnoresTheCacheOfYesterday(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", version(9)))
	d.Put(in("a", "1", takenBy("first"), version(11)))
	d.Put(in("a", "1", version(10)))
	d.Expect(d.gets(wants("second", "a"))).To(BeEmpty())
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
}

func TestInventoryBelievesTheCacheAfterEtcdWasRestored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, in("a", "1", takenBy("first"), version(11)))
		<-time.After(patch.Lag + time.Second)
		d.Put(in("a", "1", version(10)))
		d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
		d.Expect(d.gets(wants("second", "a"))).To(Equal("1"))
	})
}

func TestInventoryWakesOneMachineForOneHost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "0", takenBy("x")))
	for i, name := range []string{"c", "b", "a"} {
		w := wants(name, "a")
		w.Since = time.Unix(int64(i), 0)
		d.Expect(d.gets(w)).To(BeEmpty())
	}
	d.Expect(d.gets(wants("elsewhere", "b"))).To(BeEmpty())
	d.Put(in("a", "1"))
	d.Expect(d.woken).To(Equal([]string{"c"}), "the one that came first, and no other")
	d.Put(in("a", "1", version(2)))
	d.Expect(d.woken).To(HaveLen(1), "what is reserved is not offered again")
	d.Put(in("a", "2"))
	d.Expect(d.woken).To(Equal([]string{"c", "b"}))
	d.Expect(d.gets(wants("late", "a"))).To(BeEmpty(), "both are reserved")
	d.Expect(d.gets(wants("c", "a"))).To(Equal("1"))
}

func TestInventoryOffersOnWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.gets(wants("second", "a"))).To(BeEmpty())
	d.Forget(machine("first"))
	d.Expect(d.woken).To(Equal([]string{"second"}))
	d.Expect(d.gets(wants("second", "b"))).To(BeEmpty(), "it wants something else now")
	d.Expect(d.gets(wants("third", "a"))).To(Equal("1"))
}

func TestInventoryFindsAnotherForAMachineWhoseHostIsGone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*desk){
		"taken by another": func(d *desk) { d.Put(in("a", "1", takenBy("other"), version(2))) },
		"in error":         func(d *desk) { d.Put(in("a", "1", with(hosts.InError), version(2))) },
		"in another domain": func(d *desk) {
			d.Put(in("b", "1", version(2)))
		},
		"deleted": func(d *desk) { d.Drop(types.NamespacedName{Namespace: "ns", Name: "1"}) },
		"refused": func(d *desk) { d.Invalidate(in("a", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, in("a", "1"), in("a", "2"))
			d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
			lose(d)
			d.Expect(d.woken).To(Equal([]string{"first"}))
			d.Expect(d.gets(wants("second", "a"))).To(BeEmpty())
			d.Expect(d.gets(wants("first", "a"))).To(Equal("2"))
		})
	}
}

func TestInventoryDoubtsOnlyWhatIsAsItWas(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", version(2)))
	d.Invalidate(in("a", "1", version(1)))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"), "it has been seen again since")
	d.Invalidate(in("a", "1", version(2)))
	d.Expect(d.gets(wants("first", "a"))).To(BeEmpty())
	d.Put(in("a", "1", version(2)))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
}

func TestInventoryKeepsReusedHostsForTheirOwner(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"), in("a", "2", kept("cp-x"), with(hosts.NotReady)))
	ours := hosts.Wants{Machine: machine("ours"), Domain: "a", Reuse: "cp-x"}
	d.Expect(d.gets(ours)).To(BeEmpty(), "it waits for the one that comes back")
	d.Expect(d.gets(wants("other", "a"))).To(Equal("1"))
	d.Put(in("a", "3"))
	d.Expect(d.woken).To(BeEmpty())
	d.Put(in("a", "2", kept("cp-x"), version(2)))
	d.Expect(d.woken).To(Equal([]string{"ours"}))
	d.Expect(d.gets(ours)).To(Equal("2"))
}

func TestInventoryKnowsAllHostsThatNameAMachine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"), in("a", "2", takenBy("first")))
	d.Expect(d.woken).To(BeEmpty())
	d.Put(in("a", "1", takenBy("first"), version(2)))
	d.Expect(d.woken).To(Equal([]string{"first"}), "it is to say so")
	d.Expect(d.HeldBy(machine("first"))).To(Equal([]string{"1", "2"}))
	d.Put(in("a", "2", version(2)))
	d.Expect(d.HeldBy(machine("first"))).To(ConsistOf("1"))
	d.Expect(d.woken).To(Equal([]string{"first", "first"}), "and to say it no longer")
}

func TestEventsOfAKeptHostDoNotListAllHostsForEachMachineThatWaits(t *testing.T) {
	const machines, others = 300, 2000
	d := newDesk(t, in("a", "kept", kept("cp-x"), with(hosts.NotReady)))
	for i := range others {
		d.Put(in("a", fmt.Sprintf("host-%04d", i), takenBy(fmt.Sprintf("m-%04d", i))))
	}
	for i := range machines {
		d.Expect(d.gets(hosts.Wants{Machine: machine(fmt.Sprintf("w-%03d", i)), Domain: "a", Reuse: "cp-x"})).To(BeEmpty())
	}
	v := 1
	allocations := testing.AllocsPerRun(10, func() {
		v++
		obstacle := hosts.NotReady
		if v%2 == 0 {
			obstacle = hosts.InError
		}
		d.Put(in("a", "kept", kept("cp-x"), with(obstacle), version(v)))
	})
	d.Expect(allocations).To(BeNumerically("<", machines), "not even one for each machine")
}

// history is an inventory with the view of its callers: hosts as last put, reservations as last returned.
type history struct {
	inventory *hosts.Inventory
	woken     []types.NamespacedName
	known     map[string]hosts.Host
	reserved  map[types.NamespacedName]string
	waiting   map[types.NamespacedName]hosts.Wants
	clock     int
}

func newHistory() *history {
	h := &history{known: map[string]hosts.Host{}, reserved: map[types.NamespacedName]string{}, waiting: map[types.NamespacedName]hosts.Wants{}}
	h.inventory = hosts.NewInventory(func(key types.NamespacedName) { h.woken = append(h.woken, key) })
	return h
}

func (h *history) put(host hosts.Host) {
	h.clock++
	host.Version = strconv.Itoa(h.clock)
	h.known[host.Name] = host
	h.inventory.Put(host)
	delete(h.waiting, host.Consumer)
	delete(h.reserved, host.Consumer)
	for key, name := range h.reserved {
		if order, _ := hosts.Choose([]hosts.Host{host}, h.waiting[key]); name == host.Name && len(order) == 0 {
			delete(h.reserved, key) // the API server would reject the claim
		}
	}
}

func (h *history) ask(t *rapid.T, w hosts.Wants) {
	host, _, ok := h.inventory.Ask(w)
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
		if host := h.known[name]; host.Obstacle == "" {
			takenBy(key.Name)(&host)
			host.Reuse = ""
			h.put(host)
			return
		}
	}
}

func (h *history) change(t *rapid.T) {
	h.put(in(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "host")),
		with(rapid.SampledFrom([]hosts.Obstacle{"", "", hosts.InError, hosts.NotReady}).Draw(t, "obstacle")),
		kept(rapid.SampledFrom([]string{"", "", "", "cp-x"}).Draw(t, "reuse"))))
}

func (h *history) forget(t *rapid.T) {
	key := anyWants().Draw(t, "who").Machine
	h.inventory.Forget(key)
	delete(h.waiting, key)
	delete(h.reserved, key)
}

// check makes machines that were enqueued ask again; asking must not help any other machine.
func (h *history) check(t *rapid.T) {
	for len(h.woken) > 0 {
		key := h.woken[0]
		h.woken = h.woken[1:]
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
			"ask": func(t *rapid.T) { h.ask(t, anyWants().Draw(t, "wants")) },
		})
	})
}

func checkNothingLeft(t *rapid.T, known map[string]hosts.Host, reserved map[types.NamespacedName]string, waiting map[types.NamespacedName]hosts.Wants) {
	taken := map[string]bool{}
	for key, name := range reserved {
		if known[name].Obstacle == "" && waiting[key].Machine == key {
			taken[name] = true
		}
	}
	var left []hosts.Host
	for _, host := range known {
		if taken[host.Name] && host.Obstacle == "" {
			host.Obstacle = hosts.Promised
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

func TestInventoryTellsMachinesThatWaitForAnotherReason(t *testing.T) {
	t.Parallel()
	broken := func(host *hosts.Host) { host.Obstacle = hosts.InError }
	d := newDesk(t, in("a", "1", takenBy("x")))
	d.gets(wants("in a", "a"))
	d.gets(wants("in b", "b"))
	d.gets(wants("anywhere", ""))
	preferred := wants("rather in a", "a")
	preferred.Preferred = true
	d.gets(preferred)
	woken := func() []string {
		last := d.woken
		d.woken = nil
		return last
	}

	d.Put(in("a", "2", takenBy("y")))
	d.Put(in("a", "2", takenBy("z"), version(2)))
	d.Put(in("a", "2", broken, version(3)))
	d.Expect(woken()).To(BeEmpty(), "it waits for a host to be free, as before")
	d.Put(in("a", "1", broken, version(2)))
	d.Expect(woken()).To(Equal([]string{"in a"}), "now it waits for one to be repaired")
	d.Put(in("a", "1", takenBy("x"), version(3)))
	d.Expect(woken()).To(Equal([]string{"in a"}))
	d.Drop(machine("1"))
	d.Expect(woken()).To(Equal([]string{"in a"}), "only a broken one is left")
	d.Drop(machine("2"))
	d.Expect(woken()).To(Equal([]string{"in a"}), "no host is left")
	d.Put(in("b", "3", takenBy("x")))
	d.Expect(woken()).To(Equal([]string{"in b"}))
	d.Put(in("a", "3", takenBy("x"), version(2)))
	d.Expect(woken()).To(ConsistOf("in a", "in b"), "it was relabelled")
}

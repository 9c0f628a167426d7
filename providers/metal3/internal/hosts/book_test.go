// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
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

// desk is a book, and what it called.
type desk struct {
	*WithT
	*hosts.Book
	woken []string
}

func newDesk(t *testing.T, all ...hosts.Host) *desk {
	t.Helper()
	d := &desk{WithT: NewWithT(t)}
	d.Book = hosts.NewBook(func(key types.NamespacedName) { d.woken = append(d.woken, key.Name) })
	for _, host := range all {
		d.Put(host)
	}
	return d
}

// gets is the host that a machine gets, "" for none.
func (d *desk) gets(w hosts.Wants) string {
	host, _, ok := d.Ask(w)
	d.Expect(ok).To(Equal(host.Name != ""))
	return host.Name
}

func TestBookPromisesAHostToOneMachine(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"), in("a", "2"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.gets(wants("second", "a"))).To(Equal("2"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"), "it is the same when asked again")
	_, why, ok := d.Ask(wants("third", "a"))
	d.Expect(ok).To(BeFalse())
	d.Expect(why.String()).To(Equal("failure domain a: 2 hosts, 2 about to be taken by another machine"))
}

func TestBookKnowsWhoHasAHost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", takenBy("first")))
	d.Expect(d.HeldBy(machine("first"))).To(Equal("1"))
	d.Put(in("a", "1", version(2)))
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
	d.Put(in("a", "1", takenBy("first"), version(3)))
	d.Drop(types.NamespacedName{Namespace: "ns", Name: "1"})
	d.Expect(d.HeldBy(machine("first"))).To(BeEmpty())
}

func TestBookIgnoresTheCacheOfYesterday(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", version(9)))
	d.Put(in("a", "1", takenBy("first"), version(11)))
	d.Put(in("a", "1", version(10)))
	d.Expect(d.gets(wants("second", "a"))).To(BeEmpty())
	d.Expect(d.HeldBy(machine("first"))).To(Equal("1"))
}

func TestBookWakesOneMachineForOneHost(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i, name := range []string{"c", "b", "a"} {
		w := wants(name, "a")
		w.Since = time.Unix(int64(i), 0)
		d.Expect(d.gets(w)).To(BeEmpty())
	}
	d.Expect(d.gets(wants("elsewhere", "b"))).To(BeEmpty())
	d.Put(in("a", "1"))
	d.Expect(d.woken).To(Equal([]string{"c"}), "the one that came first, and no other")
	d.Put(in("a", "1", version(2)))
	d.Expect(d.woken).To(HaveLen(1), "what is promised is not offered again")
	d.Put(in("a", "2"))
	d.Expect(d.woken).To(Equal([]string{"c", "b"}))
	d.Expect(d.gets(wants("late", "a"))).To(BeEmpty(), "both are promised")
	d.Expect(d.gets(wants("c", "a"))).To(Equal("1"))
}

func TestBookOffersOnWhatIsNotTaken(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1"))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
	d.Expect(d.gets(wants("second", "a"))).To(BeEmpty())
	d.Forget(machine("first"))
	d.Expect(d.woken).To(Equal([]string{"second"}))
	d.Expect(d.gets(wants("second", "b"))).To(BeEmpty(), "it wants something else now")
	d.Expect(d.gets(wants("third", "a"))).To(Equal("1"))
}

func TestBookFindsAnotherForAMachineWhoseHostIsGone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*desk){
		"taken by another": func(d *desk) { d.Put(in("a", "1", takenBy("other"), version(2))) },
		"in error":         func(d *desk) { d.Put(in("a", "1", with(hosts.InError), version(2))) },
		"in another domain": func(d *desk) {
			d.Put(in("b", "1", version(2)))
		},
		"deleted": func(d *desk) { d.Drop(types.NamespacedName{Namespace: "ns", Name: "1"}) },
		"refused": func(d *desk) { d.Doubt(in("a", "1")) },
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

func TestBookDoubtsOnlyWhatIsAsItWas(t *testing.T) {
	t.Parallel()
	d := newDesk(t, in("a", "1", version(2)))
	d.Doubt(in("a", "1", version(1)))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"), "it has been seen again since")
	d.Doubt(in("a", "1", version(2)))
	d.Expect(d.gets(wants("first", "a"))).To(BeEmpty())
	d.Put(in("a", "1", version(2)))
	d.Expect(d.gets(wants("first", "a"))).To(Equal("1"))
}

func TestBookKeepsReusedHostsForTheirOwner(t *testing.T) {
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

// Whatever happens, in whatever order: no host is promised twice, and no host is free for a machine that waits.
func TestBookProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var woken []types.NamespacedName
		book := hosts.NewBook(func(key types.NamespacedName) { woken = append(woken, key) })
		known := map[string]hosts.Host{}
		promised := map[types.NamespacedName]string{} // by the last answer
		waiting := map[types.NamespacedName]hosts.Wants{}
		clock := 0
		put := func(host hosts.Host) {
			clock++
			host.Version = strconv.Itoa(clock)
			known[host.Name] = host
			book.Put(host)
			delete(waiting, host.Consumer)
			delete(promised, host.Consumer)
			for key, name := range promised {
				if order, _ := hosts.Choose([]hosts.Host{host}, waiting[key]); name == host.Name && len(order) == 0 {
					delete(promised, key) // the API server would refuse the claim
				}
			}
		}
		ask := func(w hosts.Wants) {
			host, _, ok := book.Ask(w)
			waiting[w.Machine] = w
			delete(promised, w.Machine)
			if !ok {
				return
			}
			for other, name := range promised {
				if name == host.Name {
					t.Fatalf("%s is promised to both %s and %s", host.Name, other, w.Machine)
				}
			}
			if order, _ := hosts.Choose([]hosts.Host{known[host.Name]}, w); len(order) == 0 {
				t.Fatalf("%s does not suit %+v", host.Name, w)
			}
			promised[w.Machine] = host.Name
		}
		t.Repeat(map[string]func(*rapid.T){
			"host": func(t *rapid.T) {
				host := in(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "domain"), fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "host")),
					with(rapid.SampledFrom([]hosts.Obstacle{"", "", hosts.InError, hosts.NotReady}).Draw(t, "obstacle")),
					kept(rapid.SampledFrom([]string{"", "", "", "cp-x"}).Draw(t, "reuse")))
				put(host)
			},
			"claim": func(t *rapid.T) {
				for key, name := range promised {
					if host := known[name]; host.Obstacle == "" {
						takenBy(key.Name)(&host)
						host.Reuse = ""
						put(host)
						return
					}
				}
			},
			"ask": func(t *rapid.T) { ask(anyWants().Draw(t, "wants")) },
			"forget": func(t *rapid.T) {
				key := anyWants().Draw(t, "who").Machine
				book.Forget(key)
				delete(waiting, key)
				delete(promised, key)
			},
			"": func(t *rapid.T) {
				// A machine that is called asks again; one that is not called must have nothing to gain.
				for len(woken) > 0 {
					key := woken[0]
					woken = woken[1:]
					if w, ok := waiting[key]; ok {
						ask(w)
					}
				}
				checkNothingLeft(t, known, promised, waiting)
			},
		})
	})
}

func checkNothingLeft(t *rapid.T, known map[string]hosts.Host, promised map[types.NamespacedName]string, waiting map[types.NamespacedName]hosts.Wants) {
	taken := map[string]bool{}
	for key, name := range promised {
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
		if _, has := promised[key]; has {
			continue
		}
		if order, _ := hosts.Choose(left, w); len(order) > 0 {
			t.Fatalf("%s waits for %+v and is not called, though %s is free", key, w, order[0].Name)
		}
	}
}

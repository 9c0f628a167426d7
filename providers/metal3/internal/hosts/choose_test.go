// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

func in(domain, name string, changes ...func(*hosts.Host)) hosts.Host {
	host := hosts.Host{Namespace: "ns", Name: name, Domain: domain, Version: "1", Labels: labels.Set{"rack": domain}}
	for _, change := range changes {
		change(&host)
	}
	return host
}

func with(unavailability hosts.Unavailability) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Unavailability = unavailability }
}

func kept(owner string) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Reuse = owner }
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func failedAgo(ago time.Duration) func(*hosts.Host) {
	return func(host *hosts.Host) { host.Failed = now.Add(-ago) }
}

func names(list []hosts.Host) []string {
	all := []string{}
	for _, host := range list {
		all = append(all, host.Name)
	}
	return all
}

type choice struct {
	hosts        []hosts.Host
	requirements hosts.Requirements
	order        []string
	why          string
}

func check(t *testing.T, choices map[string]choice) {
	t.Helper()
	for name, tc := range choices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			order, why := hosts.Choose(tc.hosts, tc.requirements)
			g.Expect(names(order)).To(Equal(tc.order))
			g.Expect(why.String()).To(Equal(tc.why))
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	labelled := func(host *hosts.Host) { host.Labels = labels.Set{"size": "large"} }
	check(t, map[string]choice{
		"none": {nil, hosts.Requirements{}, []string{}, "namespace: no hosts"},
		"by name, in any domain": {
			[]hosts.Host{in("b", "2"), in("a", "3"), in("", "1")}, hosts.Requirements{}, []string{"1", "2", "3"}, "namespace: 3 hosts",
		},
		"only in the domain": {
			[]hosts.Host{in("b", "1"), in("a", "3"), in("a", "2"), in("", "0")}, hosts.Requirements{Domain: "a"}, []string{"2", "3"}, "failure domain a: 2 hosts",
		},
		"nowhere else when the domain is full": {
			[]hosts.Host{in("b", "1"), in("a", "2", with(hosts.InUse))}, hosts.Requirements{Domain: "a"}, []string{}, "failure domain a: 1 host, 1 in use",
		},
		"those that have failed a machine lately last, the last one to do so behind the others": {
			[]hosts.Host{in("a", "1", failedAgo(time.Hour)), in("a", "2", failedAgo(2*time.Hour)), in("a", "3", failedAgo(48*time.Hour)), in("a", "4")},
			hosts.Requirements{Now: now}, []string{"3", "4", "2", "1"}, "namespace: 4 hosts",
		},
		"in the domain, though it has failed a machine": {
			[]hosts.Host{in("b", "1"), in("a", "2", failedAgo(time.Hour))}, hosts.Requirements{Domain: "a", Preferred: true, Now: now}, []string{"2", "1"}, "namespace: 2 hosts",
		},
		"in a preferred domain first": {
			[]hosts.Host{in("b", "1"), in("a", "2")}, hosts.Requirements{Domain: "a", Preferred: true}, []string{"2", "1"}, "namespace: 2 hosts",
		},
		"not in a closed domain": {
			[]hosts.Host{in("a", "1"), in("b", "2")}, hosts.Requirements{Closed: map[string]bool{"a": true}}, []string{"2"},
			"namespace: 2 hosts, 1 in a failure domain that receives no machines",
		},
		"as selected": {
			[]hosts.Host{in("a", "1"), in("a", "2", labelled)}, hosts.Requirements{Selector: labels.SelectorFromSet(labels.Set{"size": "large"})}, []string{"2"},
			"namespace: 2 hosts, 1 not matching spec.hostSelector",
		},
		"every unavailability counted": {
			[]hosts.Host{
				in("a", "1", with(hosts.InUse)), in("a", "2", with(hosts.InUse)), in("a", "3", with(hosts.InError)), in("a", "4", with(hosts.Detached)),
				in("a", "5", with(hosts.Paused)), in("a", "6", with(hosts.Unhealthy)), in("a", "7", with(hosts.NotReady)), in("b", "8"),
			}, hosts.Requirements{Domain: "a"}, []string{},
			"failure domain a: 7 hosts, 2 in use, 1 in error, 1 marked unhealthy, 1 detached, 1 paused, 1 not available yet",
		},
	})
}

func TestChooseToReuse(t *testing.T) {
	t.Parallel()
	check(t, map[string]choice{
		"one to be reused first": {
			[]hosts.Host{in("a", "1"), in("a", "2", kept("cp-kcp"))}, hosts.Requirements{Reuse: "cp-kcp"}, []string{"2", "1"}, "namespace: 2 hosts",
		},
		"none that is kept for machines of another cluster": {
			[]hosts.Host{in("a", "1", kept("cp-kcp"), func(host *hosts.Host) { host.KeptFor = "other" })}, hosts.Requirements{Cluster: "one", Reuse: "cp-kcp"}, []string{},
			"namespace: 1 host, 1 kept for reuse by other machines",
		},
		"one that is kept for its cluster": {
			[]hosts.Host{in("a", "1", kept("cp-kcp"), func(host *hosts.Host) { host.KeptFor = "one" })}, hosts.Requirements{Cluster: "one", Reuse: "cp-kcp"}, []string{"1"},
			"namespace: 1 host",
		},
		"none that is kept for others": {
			[]hosts.Host{in("a", "1", kept("md-workers"))}, hosts.Requirements{Reuse: "cp-kcp"}, []string{}, "namespace: 1 host, 1 kept for reuse by other machines",
		},
		"none that is kept, without an owner": {
			[]hosts.Host{in("a", "1", kept("md-workers"))}, hosts.Requirements{}, []string{}, "namespace: 1 host, 1 kept for reuse by other machines",
		},
		"none while one to be reused is on its way": {
			[]hosts.Host{in("a", "1"), in("a", "2", kept("cp-kcp"), with(hosts.NotReady))}, hosts.Requirements{Reuse: "cp-kcp"}, []string{},
			"namespace: 2 hosts, 1 not available yet",
		},
		"another when the one to be reused is in error": {
			[]hosts.Host{in("a", "1"), in("a", "2", kept("cp-kcp"), with(hosts.InError))}, hosts.Requirements{Reuse: "cp-kcp"}, []string{"1"},
			"namespace: 2 hosts, 1 in error",
		},
		"one to be reused in the domain only": {
			[]hosts.Host{in("a", "1"), in("b", "2", kept("cp-kcp"))}, hosts.Requirements{Domain: "a", Reuse: "cp-kcp"}, []string{"1"}, "failure domain a: 1 host",
		},
		"the preferred domain before one to be reused elsewhere": {
			[]hosts.Host{in("a", "1"), in("b", "2", kept("cp-kcp"))}, hosts.Requirements{Domain: "a", Preferred: true, Reuse: "cp-kcp"}, []string{"1", "2"},
			"namespace: 2 hosts",
		},
	})
}

func TestChooseAtRandom(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var all []hosts.Host
	for i := range 10 {
		all = append(all, in("a", fmt.Sprintf("host-%d", i)))
	}
	firsts := map[string]int{}
	for i := range 1000 {
		requirements := hosts.Requirements{Machine: types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)}, Random: true}
		order, _ := hosts.Choose(all, requirements)
		again, _ := hosts.Choose(all, requirements)
		g.Expect(names(again)).To(Equal(names(order)))
		firsts[order[0].Name]++
	}
	g.Expect(firsts).To(HaveLen(10))
	for name, n := range firsts {
		g.Expect(n).To(BeNumerically("~", 100, 60), name)
	}
}

func anyHosts() *rapid.Generator[[]hosts.Host] {
	unavailability := rapid.SampledFrom([]hosts.Unavailability{"", "", "", hosts.InUse, hosts.InError, hosts.NotReady})
	return rapid.Custom(func(t *rapid.T) []hosts.Host {
		var list []hosts.Host
		for i := range rapid.IntRange(0, 12).Draw(t, "hosts") {
			list = append(list, in(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "domain"), fmt.Sprintf("host-%02d", i),
				with(unavailability.Draw(t, "unavailability")), kept(rapid.SampledFrom([]string{"", "", "cp-x", "md-y"}).Draw(t, "reuse")),
				failedAgo(time.Duration(rapid.SampledFrom([]int{1, 2, 48}).Draw(t, "failed"))*time.Hour)))
		}
		return list
	})
}

func anyRequirements() *rapid.Generator[hosts.Requirements] {
	return rapid.Custom(func(t *rapid.T) hosts.Requirements {
		return hosts.Requirements{
			Machine: types.NamespacedName{Namespace: "ns", Name: rapid.SampledFrom([]string{"m1", "m2", "m3", "m4", "m5"}).Draw(t, "machine")},
			Since:   time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "since")), 0), Domain: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "domain"),
			Preferred: rapid.Bool().Draw(t, "preferred"), Random: rapid.Bool().Draw(t, "random"), Now: now,
			Reuse: rapid.SampledFrom([]string{"", "cp-x"}).Draw(t, "owner"),
		}
	})
}

// The inventory does not visit every host, and still reserves the one that Choose returns first.
func TestInventoryReservesSameHostAsChoose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, requirements := anyHosts().Draw(t, "all"), anyRequirements().Draw(t, "wants")
		inventory := hosts.NewInventory(func(types.NamespacedName) {})
		for _, host := range all {
			inventory.Upsert(host)
		}
		order, _ := hosts.Choose(all, requirements)
		if reserved, _, ok := inventory.Reserve(requirements); ok != (len(order) > 0) || ok && reserved.Name != order[0].Name {
			t.Fatalf("%s is reserved, and the order is %v", reserved.Name, names(order))
		}
	})
}

func TestChooseProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, requirements := anyHosts().Draw(t, "all"), anyRequirements().Draw(t, "wants")
		order, why := hosts.Choose(all, requirements)
		shuffled := slices.Clone(all)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		again, _ := hosts.Choose(shuffled, requirements)
		if !slices.Equal(names(order), names(again)) {
			t.Fatalf("order depends on the input's: %v, %v", names(order), names(again))
		}
		for _, host := range order {
			if host.Unavailability != "" || host.Reuse != "" && host.Reuse != requirements.Reuse {
				t.Fatalf("%s cannot be had: %+v", host.Name, host)
			}
			if requirements.Domain != "" && !requirements.Preferred && host.Domain != requirements.Domain {
				t.Fatalf("%s is in %q, not in %q", host.Name, host.Domain, requirements.Domain)
			}
		}
		if why.Total+why.Elsewhere != len(all) {
			t.Fatalf("%d hosts are not accounted for: %+v", len(all), why)
		}
	})
}

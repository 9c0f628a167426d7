// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/spread"
)

// anyCluster draws up to four domains of any state and capacity, and machines of two MachineDeployments, some of them in any
// domain.
func anyCluster(t *rapid.T) spread.Cluster {
	c := spread.Cluster{Logical: rapid.IntRange(0, 4).Draw(t, "logical"), Required: rapid.Bool().Draw(t, "required")}
	names := []string{""}
	for i := range rapid.IntRange(0, 4).Draw(t, "domains") {
		domain := failuredomain.Domain{
			Name:  string(rune('a' + i)),
			State: rapid.SampledFrom([]failuredomain.State{"", "", "", failuredomain.Cordoned, failuredomain.Evicting}).Draw(t, "state"),
		}
		if rapid.Bool().Draw(t, "limited") {
			room := rapid.IntRange(0, 5).Draw(t, "room")
			domain.Capacity = &room
		}
		c.Domains = append(c.Domains, domain)
		names = append(names, domain.Name)
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "machines") {
		m := spread.Machine{
			Name: fmt.Sprintf("m-%02d", i), Deployment: rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "deployment"),
			Domain: rapid.SampledFrom(append(names, "", "gone")).Draw(t, "domain"),
			Exists: rapid.Bool().Draw(t, "exists"), Deleting: rapid.IntRange(0, 5).Draw(t, "deleting") == 0,
			Named: rapid.IntRange(0, 5).Draw(t, "named") == 0, Created: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0),
		}
		m.Class = m.Deployment
		if c.Logical > 0 && m.Deployment != "" && m.Domain != "" && rapid.Bool().Draw(t, "keyed") {
			m.Key = fmt.Sprintf("%s-%d", m.Class, rapid.IntRange(0, 4).Draw(t, "key"))
		}
		c.Machines = append(c.Machines, m)
	}
	return c
}

func assign(t *rapid.T, c spread.Cluster) (map[string]spread.Assignment, []spread.Refusal) {
	given, refused, err := spread.Assign(c)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]spread.Assignment{}
	for _, a := range given {
		if _, twice := byName[a.Machine]; twice {
			t.Fatalf("%s is assigned twice", a.Machine)
		}
		byName[a.Machine] = a
	}
	return byName, refused
}

func TestAssignAnswersEveryMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t)
		given, refused := assign(t, c)
		for _, m := range c.Machines {
			a, assigned := given[m.Name]
			denied := slices.ContainsFunc(refused, func(r spread.Refusal) bool { return r.Machine == m.Name })
			waits := m.Deployment != "" && m.Domain == "" && !m.Exists && !m.Deleting
			switch {
			case waits && assigned == denied:
				t.Fatalf("%s waits and is not answered once: %v", m.Name, a)
			case !waits && denied:
				t.Fatalf("%s is refused what it does not ask for", m.Name)
			case assigned && a.Domain != m.Domain && m.Domain != "" && (m.Exists || m.Named || m.Deployment == ""):
				t.Fatalf("%s is moved to %v", m.Name, a)
			case assigned && m.Key != "" && a.Key != m.Key:
				t.Fatalf("%s is bound to another key: %v", m.Name, a)
			case assigned && c.Logical > 0 && !strings.HasPrefix(a.Key, m.Class+"-"):
				t.Fatalf("%s has no key: %v", m.Name, a)
			}
		}
	})
}

func TestAssignRespectsCapacity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t)
		given, _ := assign(t, c)
		for _, domain := range c.Domains {
			arrive, pending := 0, 0
			for _, m := range c.Machines {
				a, moved := given[m.Name]
				switch {
				case moved && a.Domain == domain.Name && m.Domain != domain.Name:
					arrive++
				case m.Domain == domain.Name && !m.Exists && !m.Deleting && (!moved || a.Domain == m.Domain):
					pending++
				}
			}
			if arrive > 0 && (domain.State != "" || domain.Capacity != nil && arrive+pending > *domain.Capacity) {
				t.Fatalf("%v is given %d machines, and %d are on their way", domain, arrive, pending)
			}
		}
	})
}

func TestAssignRequired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t)
		c.Required, c.Logical = true, max(1, c.Logical)
		given, _ := assign(t, c)
		for _, m := range c.Machines {
			a, moved := given[m.Name]
			if !moved || a.Domain == m.Domain {
				continue
			}
			for _, other := range c.Machines {
				at, key := other.Domain, other.Key
				if b, ok := given[other.Name]; ok {
					at, key = b.Domain, b.Key
				}
				if at == a.Domain && other.Class == m.Class && key != "" && key != a.Key {
					t.Fatalf("%s of %s and %s of %s share %s", m.Name, a.Key, other.Name, key, at)
				}
			}
		}
	})
}

func TestAssignIsDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t)
		given, refused := assign(t, c)
		c.Machines = rapid.Permutation(c.Machines).Draw(t, "order of machines")
		c.Domains = rapid.Permutation(c.Domains).Draw(t, "order of domains")
		again, refusedAgain := assign(t, c)
		NewWithT(t).Expect(again).To(Equal(given))
		NewWithT(t).Expect(refusedAgain).To(HaveLen(len(refused)))
	})
}

func TestAssignIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := anyCluster(t)
		given, refused := assign(t, c)
		for i := range c.Machines {
			if a, ok := given[c.Machines[i].Name]; ok {
				c.Machines[i].Domain, c.Machines[i].Key = a.Domain, a.Key
			}
		}
		again, refusedAgain := assign(t, c)
		NewWithT(t).Expect(again).To(BeEmpty())
		NewWithT(t).Expect(refusedAgain).To(HaveLen(len(refused)))
	})
}

func TestAssignOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(0, 60).Draw(t, "n"), rapid.IntRange(1, 7).Draw(t, "d")
		logical := rapid.IntRange(0, 5).Draw(t, "logical")
		c := spread.Cluster{Domains: domains(strings.Join(strings.Split("abcdefg"[:d], ""), " ")), Logical: logical}
		waiting := machines("md:" + strings.Repeat(" -", n))
		c.Machines = waiting
		atOnce := carryOut(NewWithT(t), c)
		c.Machines = nil
		for _, m := range waiting {
			c.Machines = append(c.Machines, m)
			c = carryOut(NewWithT(t), c)
		}
		NewWithT(t).Expect(c.Machines).To(Equal(atOnce.Machines))
		plan, err := spread.Plan(c, "md", n)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(plan.Moves).To(BeEmpty())
	})
}

// By the proposal's rule, the fewest replacements are the surplus over the maximum or, if greater, the deficit to the minimum.
func TestFewestReplacements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		replicas := rapid.IntRange(2, 20).Draw(t, "replicas")
		c := spread.Cluster{Domains: domains("a b c d e"), Machines: machines("md:" + strings.Repeat(" -", replicas))}
		c.Logical = rapid.IntRange(1, 6).Draw(t, "from")
		c = carryOut(g, c)
		for range 3 {
			c.Logical = rapid.IntRange(1, 6).Draw(t, "to")
			counts := perKey(c)
			low, high := replicas/c.Logical, (replicas+c.Logical-1)/c.Logical
			exceeding, lacking := 0, 0
			for i := range 6 {
				count := counts[fmt.Sprintf("md-%d", i)]
				if i >= c.Logical {
					exceeding += count
					continue
				}
				exceeding += max(0, count-high)
				lacking += max(0, low-count)
			}
			var replaced int
			c, replaced = replaceAll(g, c, replicas)
			g.Expect(replaced).To(Equal(max(exceeding, lacking)))
			for key, count := range perKey(c) {
				g.Expect(count).To(And(BeNumerically(">=", low), BeNumerically("<=", high)), key)
			}
		}
	})
}

// machineSet removes machines as Cluster API's MachineSet does: marked ones first, then those that are updated in place, then
// those that have not joined or are unhealthy, then the others; by name within a rank.
func machineSet(machines []spread.Machine, marked []string, n int) []spread.Machine {
	rank := func(m spread.Machine) int {
		if slices.Contains(marked, m.Name) {
			return int(spread.RankUpdating) + 1
		}
		return int(m.Rank)
	}
	order := slices.Clone(machines)
	slices.SortFunc(order, func(a, b spread.Machine) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), strings.Compare(a.Name, b.Name))
	})
	return order[n:]
}

// anyDeployment draws machines of one MachineDeployment that are spread evenly and named in any order.
func anyDeployment(t *rapid.T, rank *rapid.Generator[spread.Rank]) spread.Cluster {
	d := rapid.IntRange(1, 4).Draw(t, "d")
	c := spread.Cluster{Domains: domains(strings.Join(strings.Split("abcd"[:d], ""), " "))}
	for i, at := range rapid.Permutation(slices.Collect(func(yield func(int) bool) {
		for i := range rapid.IntRange(2, 16).Draw(t, "n") {
			if !yield(i) {
				return
			}
		}
	})).Draw(t, "names") {
		c.Machines = append(c.Machines, spread.Machine{
			Name: fmt.Sprintf("m-%02d", at), Deployment: "md", Class: "md", Domain: string(rune('a' + i%d)), Exists: true, Rank: rank.Draw(t, "rank"),
			Created: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0),
		})
	}
	return c
}

// anyMarks draws some of the machines.
func anyMarks(t *rapid.T, c spread.Cluster) []string {
	var marked []string
	for _, m := range rapid.SliceOf(rapid.SampledFrom(c.Machines)).Draw(t, "marked") {
		marked = append(marked, m.Name)
	}
	return marked
}

func TestMarksKeepSpreadEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		c := anyDeployment(t, rapid.Just(spread.RankHealthy))
		d, marked := len(c.Domains), anyMarks(t, c)
		gone := rapid.IntRange(0, len(c.Machines)-1).Draw(t, "gone")
		names, err := spread.Marks(c, "md", marked, 10, gone)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(names)).To(And(BeNumerically(">=", gone), BeNumerically("<", len(c.Machines))))
		ahead, err := spread.Marks(c, "md", marked, 10, 0)
		g.Expect(err).NotTo(HaveOccurred())
		if d == 1 {
			g.Expect(ahead).To(BeEmpty(), "any may go")
		} else {
			g.Expect(len(ahead)).To(BeNumerically(">=", max(1, min(d, len(c.Machines)-1)/2)))
		}
		g.Expect(slices.IsSorted(ahead)).To(BeTrue())
		for n := range len(ahead) + 1 {
			evenly(g, machineSet(c.Machines, ahead, n), d)
		}
		evenly(g, machineSet(c.Machines, names, max(gone, len(ahead))), d)
		again, err := spread.Marks(c, "md", ahead, 10, 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(ahead), "what is marked stays so")
	})
}

func TestMarksUnhealthyFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		c := anyDeployment(t, rapid.SampledFrom([]spread.Rank{spread.RankHealthy, spread.RankHealthy, spread.RankUnhealthy, spread.RankUpdating}))
		gone := rapid.IntRange(0, len(c.Machines)-1).Draw(t, "gone")
		for _, known := range []int{0, gone} {
			names, err := spread.Marks(c, "md", anyMarks(t, c), 10, known)
			g.Expect(err).NotTo(HaveOccurred())
			left := machineSet(c.Machines, names, gone)
			for _, m := range c.Machines {
				stays := slices.ContainsFunc(left, func(other spread.Machine) bool { return other.Name == m.Name })
				for _, other := range left {
					if !stays && other.Rank > m.Rank {
						t.Fatalf("%d go, %d known: %s of rank %d goes and %s of rank %d stays, marked are %v", gone, known, m.Name, m.Rank, other.Name, other.Rank, names)
					}
				}
			}
		}
	})
}

func evenly(g Gomega, machines []spread.Machine, domains int) {
	counts := make([]int, domains)
	for _, m := range machines {
		counts[m.Domain[0]-'a']++
	}
	g.Expect(slices.Max(counts)-slices.Min(counts)).To(BeNumerically("<=", 1), "%v", counts)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/spread"
)

// domains parses "a b=2 c!Cordoned": b has capacity for two more machines.
func domains(text string) []failuredomain.Domain {
	var all []failuredomain.Domain
	for word := range strings.FieldsSeq(text) {
		word, state, _ := strings.Cut(word, "!")
		name, room, limited := strings.Cut(word, "=")
		domain := failuredomain.Domain{Name: name, State: failuredomain.State(state)}
		if limited {
			capacity := 0
			_, _ = fmt.Sscan(room, &capacity)
			domain.Capacity = &capacity
		}
		all = append(all, domain)
	}
	return all
}

// machines parses "md: a a - -": in this order, machines of md that exist in a, and machines that wait. "(a)" is assigned to a
// and does not exist, "[a]" is named by its Machine, "a/md-0" has a key.
func machines(text string) []spread.Machine {
	var all []spread.Machine
	for part := range strings.SplitSeq(text, ";") {
		deployment, places, _ := strings.Cut(strings.TrimSpace(part), ":")
		for word := range strings.FieldsSeq(places) {
			m := spread.Machine{
				Name: fmt.Sprintf("%s-%c", deployment, 'a'+len(all)), Deployment: deployment, Class: deployment, Exists: true,
				Created: time.Unix(int64(len(all)), 0),
			}
			word, m.Key, _ = strings.Cut(word, "/")
			if bare := strings.Trim(word, "()[]-"); bare != word {
				m.Exists, m.Named, word = false, strings.HasPrefix(word, "["), bare
			}
			m.Domain = word
			all = append(all, m)
		}
	}
	return all
}

// answer formats assignments as "name>domain/key", and refusals as "name!key".
func answer(given []spread.Assignment, refused []spread.Refusal) string {
	words := make([]string, 0, len(given)+len(refused))
	for _, a := range given {
		word := a.Machine + ">" + a.Domain
		if a.Key != "" {
			word += "/" + a.Key
		}
		words = append(words, word)
	}
	for _, r := range refused {
		words = append(words, strings.TrimSuffix(r.Machine+"!"+r.Key, "!"))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestAssign(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		domains, machines string
		logical           int
		required          bool
		want              string
	}{
		"evenly":                                         {domains: "a b c", machines: "md: - - - - - -", want: "md-a>a md-b>b md-c>c md-d>a md-e>b md-f>c"},
		"to where there are the least":                   {domains: "a b c", machines: "md: a a b - -", want: "md-d>c md-e>b"},
		"each MachineDeployment apart":                   {domains: "a b", machines: "x: a a; y: - -", want: "y-c>a y-d>b"},
		"not to a cordoned domain":                       {domains: "a!Cordoned b c!Evicting", machines: "md: - -", want: "md-a>b md-b>b"},
		"all domains cordoned":                           {domains: "a!Cordoned", machines: "md: -", want: "md-a"},
		"no domains":                                     {machines: "md: -", want: "md-a"},
		"as far as there is room":                        {domains: "a=1 b=1", machines: "md: - - -", want: "md-a>a md-b>b md-c"},
		"room is shared":                                 {domains: "a=1 b=2", machines: "x: (a); y: - -", want: "y-b>b y-c>b"},
		"a control plane takes room":                     {domains: "a=1 b=1", machines: ": [a]; md: -", want: "md-b>b"},
		"what exists stays":                              {domains: "a!Evicting b", machines: "md: a", want: ""},
		"what is assigned stays":                         {domains: "a b", machines: "md: (a) (a)", want: ""},
		"one that is named stays":                        {domains: "a!Cordoned b", machines: "md: [a]", want: ""},
		"taken back from a domain that cannot take it":   {domains: "a!Cordoned b", machines: "md: (a)", want: "md-a>b"},
		"not taken back when there is no other":          {domains: "a!Cordoned b=0", machines: "md: (a)", want: ""},
		"the youngest is taken back from a full domain":  {domains: "a=1 b", machines: "md: (a) (a)", want: "md-b>b"},
		"keys, each in a domain of its own":              {domains: "a b c", machines: "md: - - - -", logical: 2, want: "md-a>a/md-0 md-b>b/md-1 md-c>a/md-0 md-d>b/md-1"},
		"more keys than domains":                         {domains: "a b", machines: "md: - - -", logical: 3, want: "md-a>a/md-0 md-b>b/md-1 md-c>a/md-2"},
		"more keys than domains, kept apart":             {domains: "a b", machines: "md: - - - - - -", logical: 3, required: true, want: "md-a>a/md-0 md-b>b/md-1 md-c!md-2 md-d>a/md-0 md-e>b/md-1 md-f!md-2"},
		"more keys than machines":                        {domains: "a b c", machines: "md: -", logical: 50, want: "md-a>a/md-0"},
		"a key spills over when its domain is full":      {domains: "a=1 b c", machines: "md: a/md-0 b/md-1 - -", logical: 2, want: "md-c>a/md-0 md-d>b/md-1"},
		"a key spills over into an empty domain":         {domains: "a=0 b c", machines: "md: a/md-0 b/md-1 - -", logical: 2, want: "md-c>c/md-0 md-d>b/md-1"},
		"machines without a key get one where they are":  {domains: "a b c", machines: "md: a a b b c c", logical: 3, want: "md-a>a/md-0 md-b>a/md-0 md-c>b/md-1 md-d>b/md-1 md-e>c/md-2 md-f>c/md-2"},
		"one that is taken back keeps its key":           {domains: "a!Cordoned b", machines: "md: (a)/md-1", logical: 2, want: "md-a>b/md-1"},
		"a machine without key is taken back with one":   {domains: "a!Cordoned b", machines: "md: (a)", logical: 2, want: "md-a>b/md-0"},
		"a key that is not wanted any more is not given": {domains: "a b", machines: "md: a/md-0 b/md-2 -", logical: 2, want: "md-c>a/md-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			given, refused, err := spread.Assign(spread.Cluster{
				Domains: domains(tc.domains), Machines: machines(tc.machines), Logical: tc.logical, Required: tc.required,
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer(given, refused)).To(Equal(tc.want))
		})
	}
}

// Logical domains are separated by the regions of failure domains: a1 and a2 are in north, b1 in south, and x has no region.
func TestAssignByTopologyKey(t *testing.T) {
	t.Parallel()
	larger := map[string]string{"a1": "north", "a2": "north", "b1": "south"}
	for name, tc := range map[string]struct {
		domains, machines string
		logical           int
		required          bool
		want              string
	}{
		"each in a region of its own":                   {domains: "a1 a2 b1", machines: "md: - - - - - -", logical: 2, required: true, want: "md-a>a1/md-0 md-b>b1/md-1 md-c>a2/md-0 md-d>b1/md-1 md-e>a1/md-0 md-f>b1/md-1"},
		"more than regions":                             {domains: "a1 a2 b1", machines: "md: - - -", logical: 3, required: true, want: "md-a>a1/md-0 md-b>b1/md-1 md-c!md-2"},
		"more than regions, which share one":            {domains: "a1 a2 b1", machines: "md: - - -", logical: 3, want: "md-a>a1/md-0 md-b>b1/md-1 md-c>a2/md-2"},
		"in a region while one domain has capacity":     {domains: "a1=0 a2=1 b1", machines: "md: a1/md-0 b1/md-1 - -", logical: 2, required: true, want: "md-c>a2/md-0 md-d>b1/md-1"},
		"a region that is full":                         {domains: "a1=0 a2=0 b1", machines: "md: a1/md-0 b1/md-1 -", logical: 2, required: true, want: "md-c!md-0"},
		"a domain of a region that is cordoned":         {domains: "a1!Cordoned a2 b1", machines: "md: -", logical: 1, want: "md-a>a2/md-0"},
		"one without a region receives none":            {domains: "x a1", machines: "md: - -", logical: 2, required: true, want: "md-a>a1/md-0 md-b!md-1"},
		"one without a region counts as a region":       {domains: "x a1", machines: "md: - -", logical: 2, want: "md-a>x/md-0 md-b>a1/md-1"},
		"machines without a key get that of the region": {domains: "a1 a2 b1", machines: "md: a1/md-1 a2", logical: 2, want: "md-b>a2/md-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := spread.Cluster{Domains: domains(tc.domains), Machines: machines(tc.machines), Logical: tc.logical, Required: tc.required, Parent: larger}
			given, refused, err := spread.Assign(c)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(answer(given, refused)).To(Equal(tc.want))
		})
	}
	g := NewWithT(t)
	c := spread.Cluster{Domains: domains("a1 a2 b1"), Machines: machines("md: a1/md-0 b1/md-1"), Logical: 3, Required: true, Parent: larger}
	g.Expect(spread.Fits(c, "md-2", "")).To(MatchError(failuredomain.ErrNoDomain), "a2 is in the region of a1")
	g.Expect(spread.Fits(c, "md-2", "md-a")).To(Succeed())
}

func TestAssignClass(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := machines("x: - -; y: - -")
	for i := range all {
		all[i].Class = "storage"
	}
	given, refused, err := spread.Assign(spread.Cluster{Domains: domains("a b c d"), Machines: all, Logical: 4})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer(given, refused)).To(Equal("x-a>a/storage-0 x-b>b/storage-1 y-c>c/storage-2 y-d>d/storage-3"))
}

func TestRefusalError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"a!Cordoned": failuredomain.ErrNoDomain, "a=0": failuredomain.ErrNoCapacity} {
		_, refused, err := spread.Assign(spread.Cluster{Domains: domains(text), Machines: machines("md: -")})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(refused).To(HaveLen(1))
		NewWithT(t).Expect(refused[0].Err).To(MatchError(want))
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	labels := map[string]string{clusterv1.MachineDeploymentNameLabel: "one-md-0-x7k2p"}
	g.Expect(spread.Class(labels)).To(Equal("one-md-0-x7k2p"))
	labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] = "md-0"
	g.Expect(spread.Class(labels)).To(Equal("md-0"))
	labels[faultlinev1.DistributionClassLabel] = "storage"
	g.Expect(spread.Class(labels)).To(Equal("storage"))
	labels[faultlinev1.DistributionClassLabel] = strings.Repeat("s", 63)
	long := spread.Class(labels)
	labels[faultlinev1.DistributionClassLabel] = strings.Repeat("s", 62) + "t"
	g.Expect(len(long)).To(BeNumerically("<=", 60))
	g.Expect(spread.Class(labels)).NotTo(Equal(long))
	g.Expect(spread.Class(nil)).To(BeEmpty())
}

func TestAssignSuitableCapacity(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		domains, machines string
		logical           int
		room              map[string]int
		want              []string // the domain of each machine
	}{
		"hosts that suit in one domain":        {domains: "a=9 b=9 c=9", machines: "md: - -", room: map[string]int{"b": 2}, want: []string{"b", "b"}},
		"fewer than there are machines":        {domains: "a=9 b=9", machines: "md: - - -", room: map[string]int{"a": 1, "b": 1}, want: []string{"a", "b", ""}},
		"more hosts that suit than there is":   {domains: "a=1 b=9", machines: "md: - - -", room: map[string]int{"a": 5, "b": 1}, want: []string{"a", "b", ""}},
		"none":                                 {domains: "a b", machines: "md: -", room: map[string]int{}, want: []string{""}},
		"spread over those that suit":          {domains: "a=9 b=9 c=9", machines: "md: - - - -", room: map[string]int{"a": 3, "c": 3}, want: []string{"a", "c", "a", "c"}},
		"a domain of a key in which none suit": {domains: "a=9 b=9", machines: "md: - -", logical: 1, room: map[string]int{"b": 2}, want: []string{"b", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := spread.Cluster{Domains: domains(tc.domains), Machines: machines(tc.machines), Logical: tc.logical, Capacity: map[string]map[string]int{"gpu": tc.room}}
			for i := range c.Machines {
				c.Machines[i].Suits = "gpu"
			}
			before := maps.Clone(tc.room)
			given, refused, err := spread.Assign(c)
			g.Expect(err).NotTo(HaveOccurred())
			got := make([]string, len(c.Machines))
			for _, a := range given {
				got[slices.IndexFunc(c.Machines, func(m spread.Machine) bool { return m.Name == a.Machine })] = a.Domain
			}
			g.Expect(got).To(Equal(tc.want))
			g.Expect(len(given) + len(refused)).To(Equal(len(c.Machines)))
			g.Expect(tc.room).To(Equal(before), "nothing is changed")
		})
	}
}

func TestReassignWithoutSuitableCapacity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := spread.Cluster{Domains: domains("a=9 b=9"), Machines: machines("md: a a"), Capacity: map[string]map[string]int{"gpu": {"a": 1, "b": 1}}}
	for i := range c.Machines {
		c.Machines[i].Suits, c.Machines[i].Exists = "gpu", false
	}
	given, refused, err := spread.Assign(c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(refused).To(BeEmpty())
	g.Expect(given).To(ConsistOf(And(HaveField("Domain", "b"), HaveField("From", "a"))))
}

func TestVictims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		domains, machines string
		logical           int
		want              string
	}{
		"the fullest domain":            {domains: "a b", machines: "md: a b b; other: a a a", want: "md-b"},
		"an evicted domain":             {domains: "a b!Evicting", machines: "md: a a b", want: "md-c"},
		"a waiting machine is excluded": {domains: "a", machines: "md: -", want: ""},
		"the fullest key":               {domains: "a b c", machines: "md: a/md-0 b/md-1 c/md-1", logical: 2, want: "md-b"},
		"a key that is too many":        {domains: "a b c", machines: "md: a/md-0 a/md-0 c/md-2", logical: 2, want: "md-c"},
		"an evicting domain of a key":   {domains: "a!Evicting b", machines: "md: b/md-0 b/md-0 a/md-1", logical: 2, want: "md-c"},
		"the fullest key of the class":  {domains: "a b c", machines: "md: a/x-0 b/x-1 b/x-1; other: a/x-0 a/x-0 c/x-0", logical: 2, want: "md-a"},
		"a key of the class only":       {domains: "a b c", machines: "md: a/x-0 a/x-0; other: b/x-1 b/x-1 b/x-1", logical: 2, want: "md-a"},
		"no machines":                   {domains: "a", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := machines(tc.machines)
			for i := range all {
				if strings.HasPrefix(all[i].Key, "x-") {
					all[i].Class = "x"
				}
			}
			victims, err := spread.ToDelete(spread.Cluster{Domains: domains(tc.domains), Machines: all, Logical: tc.logical}, "md", 1)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(strings.Join(victims, " ")).To(Equal(tc.want))
		})
	}
}

func TestSeveralVictims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		domains, machines string
		n                 int
		want              []string
	}{
		"one of each domain":            {domains: "a b c", machines: "md: a a b b c c", n: 3, want: []string{"md-a", "md-c", "md-e"}},
		"the fullest first":             {domains: "a b", machines: "md: a a a a b b", n: 3, want: []string{"md-a", "md-b", "md-c"}},
		"an evicted domain first":       {domains: "a b!Evicting c", machines: "md: a a b c", n: 2, want: []string{"md-c", "md-a"}},
		"no more than there are":        {domains: "a", machines: "md: a a", n: 5, want: []string{"md-a", "md-b"}},
		"not those that wait, nor none": {domains: "a", machines: "md: a -", n: 2, want: []string{"md-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := spread.Cluster{Domains: domains(tc.domains), Machines: machines(tc.machines)}
			g.Expect(spread.ToDelete(c, "md", tc.n)).To(Equal(tc.want))
			g.Expect(c.Machines).To(Equal(machines(tc.machines)), "nothing is changed")
		})
	}
}

// replaceAll performs one planned move at a time, as a MachineSet and Assign do, until none is left. It returns the number of
// moves.
func replaceAll(g Gomega, c spread.Cluster, replicas int) (spread.Cluster, int) {
	for moves := 0; ; moves++ {
		g.Expect(moves).To(BeNumerically("<=", 2*len(c.Machines)), "the plan comes to an end")
		plan, err := spread.Plan(c, "md", replicas)
		g.Expect(err).NotTo(HaveOccurred())
		if len(plan.Moves) == 0 {
			return c, moves
		}
		for i := range c.Machines {
			if c.Machines[i].Name == plan.Moves[0].Machine {
				c.Machines[i] = spread.Machine{
					Name: c.Machines[i].Name + "'", Deployment: "md", Class: "md", Created: time.Unix(int64(1000+moves), 0),
				}
			}
		}
		c = carryOut(g, c)
	}
}

// carryOut applies assignments and sets the assigned machines to exist.
func carryOut(g Gomega, c spread.Cluster) spread.Cluster {
	given, _, err := spread.Assign(c)
	g.Expect(err).NotTo(HaveOccurred())
	c.Machines = slices.Clone(c.Machines)
	for _, a := range given {
		for i := range c.Machines {
			if m := &c.Machines[i]; m.Name == a.Machine {
				m.Domain, m.Key = a.Domain, a.Key
			}
		}
	}
	for i := range c.Machines {
		c.Machines[i].Exists = c.Machines[i].Domain != ""
	}
	return c
}

func perKey(c spread.Cluster) map[string]int {
	counts := map[string]int{}
	for _, m := range c.Machines {
		counts[m.Key]++
	}
	return counts
}

// The examples of the proposal: six machines over three logical domains, then two, then four.
func TestChangedLogicalDomains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := carryOut(g, spread.Cluster{Domains: domains("p q r s"), Machines: machines("md: - - - - - -"), Logical: 3})
	g.Expect(perKey(c)).To(Equal(map[string]int{"md-0": 2, "md-1": 2, "md-2": 2}))

	c.Logical = 2
	c, replaced := replaceAll(g, c, 6)
	g.Expect(replaced).To(Equal(2))
	g.Expect(perKey(c)).To(Equal(map[string]int{"md-0": 3, "md-1": 3}))

	c.Logical = 4
	c, replaced = replaceAll(g, c, 6)
	g.Expect(replaced).To(Equal(2))
	g.Expect(slices.Sorted(maps.Values(perKey(c)))).To(Equal([]int{1, 1, 2, 2}))

	c.Logical = 3
	c, _ = replaceAll(g, c, 6)
	c.Logical = 4
	_, replaced = replaceAll(g, c, 6)
	g.Expect(replaced).To(Equal(1), "one victim is enough for the fourth")
}

func TestFits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := spread.Cluster{Domains: domains("a b"), Machines: machines("md: a/md-0 b/md-1"), Logical: 3, Required: true}
	g.Expect(spread.Fits(c, "md-2", "")).To(MatchError(failuredomain.ErrNoDomain))
	g.Expect(spread.Fits(c, "md-2", "md-b")).To(Succeed(), "the one that goes makes room")
	c.Required = false
	g.Expect(spread.Fits(c, "md-2", "")).To(Succeed())
	c.Domains[0].Capacity, c.Domains[1].Capacity = ptr.To(0), ptr.To(0)
	g.Expect(spread.Fits(c, "md-2", "")).To(MatchError(failuredomain.ErrNoCapacity))
}

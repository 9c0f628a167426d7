// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A short storm with each provider.
func TestManagerKilledAtRandomLosesNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"vsphere", "metal3"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out := &bytes.Buffer{}
			err := Run(t.Context(), Options{
				Provider: provider, Mode: "obedient", Kills: 8, Machines: 6, Seed: 1, Out: out, Progress: os.Stderr,
			})
			g.Expect(err).NotTo(HaveOccurred(), "%s", out)
			g.Expect(out.String()).To(And(ContainSubstring("seed 1: 8 kills"), MatchRegexp("obedient: 8 kills, [0-9]+ while machines were on their way, [1-9][0-9]* machines made, .* 0 faults")))
			t.Log(out)
		})
	}
}

func TestWhatCannotBeRunIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"provider":           {Options{Provider: "other"}, `there is no simulated infrastructure for provider "other"; there are metal3, vsphere`},
		"mode":               {Options{Provider: "vsphere", Mode: "other"}, `(?s)there is no mode "other" for provider vsphere; there are:.*obedient +vCenter does.*\n  lost-answers `},
		"another's mode":     {Options{Provider: "metal3", Mode: "lost-answers"}, `(?s)there is no mode "lost-answers" for provider metal3.*obedient +hosts do`},
		"number of kills":    {Options{Provider: "vsphere", Kills: -1}, "1 or more, not -1 and 12"},
		"number of machines": {Options{Provider: "vsphere", Machines: -1}, "1 or more, not 200 and -1"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Out, test.options.Progress = io.Discard, io.Discard
			NewWithT(t).Expect(Run(t.Context(), test.options)).To(MatchError(MatchRegexp(test.want)))
		})
	}
}

func TestEveryModeHasANameOfItsOwnAndASentence(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, p := range providers() {
		g := NewWithT(t)
		g.Expect(p.modes[0].Name).To(Equal("obedient"), name)
		var names []string
		for _, mode := range p.modes {
			g.Expect(names).NotTo(ContainElement(mode.Name), name)
			g.Expect(mode.Is).NotTo(BeEmpty(), "%s: %s", name, mode.Name)
			g.Expect(string(readme)).To(ContainSubstring("| `%s` | %s |\n", mode.Name, mode.Is), "README.md")
			names = append(names, mode.Name)
		}
	}
}

func TestJudge(t *testing.T) {
	const name = "m-1"
	owned := holding{name: "VM x", owner: name, domain: "a", running: true}
	for scenario, test := range map[string]struct {
		change func(*member, *sight)
		want   []string
	}{
		"ready and running where it is to be": {change: func(*member, *sight) {}},
		"not ready, with nothing": {change: func(_ *member, s *sight) {
			s.holdings, s.machines[name] = nil, seen{}
		}},
		"not ready, in a place that does not show yet": {change: func(_ *member, s *sight) {
			s.holdings[0].domain, s.machines[name] = "", seen{}
		}},
		"gone with all it had": {change: func(m *member, s *sight) {
			m.deleting, s.holdings = true, nil
			delete(s.machines, name)
		}},
		"lost":             {func(_ *member, s *sight) { s.holdings = nil; delete(s.machines, name) }, []string{"machine m-1: is lost"}},
		"left behind":      {func(m *member, s *sight) { m.deleting = true; delete(s.machines, name) }, []string{"VM x: was left behind by machine m-1"}},
		"left behind long": {func(m *member, s *sight) { m.deleting, m.gone = true, true; delete(s.machines, name) }, []string{"VM x: was left behind by machine m-1"}},
		"doubled": {func(_ *member, s *sight) {
			s.holdings = append(s.holdings, holding{name: "VM y", owner: name, domain: "a"})
		}, []string{`machine m-1: is doubled: it has VM x in "a", VM y in "a"`}},
		"misplaced": {func(_ *member, s *sight) {
			s.holdings[0].domain, s.machines[name] = "b", seen{}
		}, []string{"VM x: is in failure domain b, machine m-1 asked for a"}},
		"ready with nothing":     {func(_ *member, s *sight) { s.holdings = nil }, []string{"machine m-1: is ready without running in a: it has nothing"}},
		"ready without running":  {func(_ *member, s *sight) { s.holdings[0].running = false }, []string{"machine m-1: is ready without running in a"}},
		"nobody's":               {func(_ *member, s *sight) { s.holdings = append(s.holdings, holding{name: "VM y", owner: "other"}) }, []string{`VM y: belongs to nobody \(owner "other"\)`}},
		"in disorder":            {func(_ *member, s *sight) { s.holdings[0].disorder = "is not in order" }, []string{"VM x: is not in order"}},
		"saying what is not so":  {func(_ *member, s *sight) { s.machines[name] = seen{faults: []string{"has another ID"}} }, []string{"machine m-1: has another ID"}},
		"with a fault elsewhere": {func(_ *member, s *sight) { s.faults = []Fault{{"host z", "booted for no machine"}} }, []string{"host z: booted for no machine"}},
	} {
		t.Run(scenario, func(t *testing.T) {
			g := NewWithT(t)
			m := &member{name: name, domain: "a"}
			s := sight{machines: map[string]seen{name: {ready: true}}, holdings: []holding{owned}}
			test.change(m, &s)
			faults := judge(map[string]*member{name: m}, s)
			g.Expect(faults).To(HaveLen(len(test.want)), "%v", faults)
			for i, want := range test.want {
				g.Expect(faults[i].String()).To(MatchRegexp(want))
			}
		})
	}
}

func TestUnsettled(t *testing.T) {
	g := NewWithT(t)
	members := map[string]*member{"going": {deleting: true}, "gone": {deleting: true, gone: true}, "coming": {}, "ready": {}}
	s := sight{machines: map[string]seen{"ready": {ready: true}, "going": {ready: true}, "coming": {conditions: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Because", Message: "of this"},
	}}}}
	faults := unsettled(members, s)
	g.Expect(faults).To(HaveLen(2))
	g.Expect(faults[0].String()).To(MatchRegexp(`(?s)machine coming: does not become ready.*Ready Because: of this`))
	g.Expect(faults[1].String()).To(Equal("machine going: does not go"))
}

// What is random is the same for a seed, so that a fault can be looked for again.
func TestMomentsComeFromTheSeed(t *testing.T) {
	g := NewWithT(t)
	moments := func(seed uint64, mode string) []int64 {
		r := &run{random: newRandom(seed, mode)}
		var all []int64
		for range 200 {
			all = append(all, int64(r.moment()))
		}
		return all
	}
	g.Expect(moments(1, "a")).To(Equal(moments(1, "a")))
	g.Expect(moments(1, "a")).NotTo(Equal(moments(2, "a")))
	g.Expect(moments(1, "a")).NotTo(Equal(moments(1, "b")))
	all := moments(1, "a")
	slices.Sort(all)
	g.Expect(all[len(all)-1]).To(And(BeNumerically("<=", int64(longest)), BeNumerically(">", int64(longest)/2)))
	g.Expect(all[len(all)/2]).To(BeNumerically("<", int64(2*shortly)), "half of the kills come soon")
}

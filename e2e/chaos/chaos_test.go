// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package chaos

import (
	"cmp"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
	"github.com/faultline-io/faultline/shared/simulation"
)

func TestLeakOfDeletedClustersIsReported(t *testing.T) {
	g := NewWithT(t)
	start := footprint{goroutines: 500, heap: 20 << 20, watches: 20, outside: 5}
	g.Expect(start.above(start)).To(Succeed())
	g.Expect(footprint{goroutines: 540, heap: 24 << 20, watches: 20, outside: 5}.above(start)).To(Succeed())
	g.Expect(footprint{}.above(start)).To(Succeed())
	g.Expect(footprint{goroutines: 541, heap: 24<<20 + 1024, watches: 21, outside: 7}.above(start)).To(MatchError(And(
		ContainSubstring("41 goroutines are left, more than 40"), ContainSubstring("4097 KiB of heap are left, more than 4096"),
		ContainSubstring("1 watches of the API server are left"), ContainSubstring("2 watches or sessions of the infrastructure are left"))))
}

func TestHeapIsThatAfterGarbageCollection(t *testing.T) {
	g := NewWithT(t)
	heap, err := heapAfterCollection(strings.NewReader("heap profile: 1: 2 [3: 4] @ heap/8192\n\n# runtime.MemStats\n# Alloc = 7\n# HeapAlloc = 12345\n# HeapSys = 9\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(heap).To(Equal(int64(12345)))
	_, err = heapAfterCollection(strings.NewReader("heap profile: 1: 2 [3: 4] @ heap/8192\n"))
	g.Expect(err).To(MatchError(ContainSubstring("HeapAlloc")))
}

func TestRunRejectsInvalidOptions(t *testing.T) {
	vSphere, err := all.Named[provider.ChaosProvider]("vsphere")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	metal3, err := all.Named[provider.ChaosProvider]("metal3")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"mode":               {Options{Provider: vSphere, Mode: "other"}, `(?s)unknown mode "other" for provider vsphere: must be one of:.*obedient +vCenter obeys.*\n  lost-answers `},
		"another's mode":     {Options{Provider: metal3, Mode: "lost-answers"}, `(?s)unknown mode "lost-answers" for provider metal3.*obedient +hosts obey`},
		"API server":         {Options{Provider: vSphere, APIServer: "lagging,other"}, `parsing the faults of the API server: .*"other".*lagging, busy`},
		"number of kills":    {Options{Provider: vSphere, Kills: -1}, "1 or more, not -1 and 1"},
		"number of machines": {Options{Provider: vSphere, Machines: -1}, "1 or more, not 1 and -1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.options
			o.Kills, o.Machines, o.Out, o.Progress = cmp.Or(o.Kills, 1), cmp.Or(o.Machines, 1), io.Discard, io.Discard
			NewWithT(t).Expect(Run(t.Context(), o)).To(MatchError(MatchRegexp(test.want)))
		})
	}
}

func TestModesAreUniqueAndDocumented(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, p := range all.Providers[provider.ChaosProvider]() {
		name := p.Describe().Name
		g := NewWithT(t)
		g.Expect(p.Modes()[0].Name).To(Equal("obedient"), name)
		var names []string
		for _, mode := range p.Modes() {
			g.Expect(names).NotTo(ContainElement(mode.Name), name)
			g.Expect(mode.Is).NotTo(BeEmpty(), "%s: %s", name, mode.Name)
			g.Expect(string(readme)).To(ContainSubstring("`%s`", mode.Name), "README.md")
			names = append(names, mode.Name)
		}
	}
	for _, fault := range simulation.ProxyFaults() {
		NewWithT(t).Expect(string(readme)).To(ContainSubstring("| `%s` | %s |\n", fault.Name, fault.Is), "README.md")
	}
}

func TestCheckMachines(t *testing.T) {
	const name = "m-1"
	owned := provider.Resource{Name: "VM x", Owner: name, Domain: "a", Running: true}
	for scenario, test := range map[string]struct {
		change func(*member, *provider.Snapshot)
		want   []string
	}{
		"ready and running in its failure domain": {change: func(*member, *provider.Snapshot) {}},
		"not ready, with nothing": {change: func(_ *member, s *provider.Snapshot) {
			s.Resources, s.Machines[name] = nil, provider.MachineState{}
		}},
		"not ready, failure domain not known yet": {change: func(_ *member, s *provider.Snapshot) {
			s.Resources[0].Domain, s.Machines[name] = "", provider.MachineState{}
		}},
		"deleted with its resources": {change: func(m *member, s *provider.Snapshot) {
			m.deleting, s.Resources = true, nil
			delete(s.Machines, name)
		}},
		"lost":             {func(_ *member, s *provider.Snapshot) { s.Resources = nil; delete(s.Machines, name) }, []string{"machine m-1: is lost"}},
		"left behind":      {func(m *member, s *provider.Snapshot) { m.deleting = true; delete(s.Machines, name) }, []string{"VM x: was left behind by machine m-1"}},
		"left behind long": {func(m *member, s *provider.Snapshot) { m.deleting, m.gone = true, true; delete(s.Machines, name) }, []string{"VM x: was left behind by machine m-1"}},
		"doubled": {func(_ *member, s *provider.Snapshot) {
			s.Resources = append(s.Resources, provider.Resource{Name: "VM y", Owner: name, Domain: "a"})
		}, []string{`machine m-1: has more than one: VM x in "a", VM y in "a"`}},
		"misplaced": {func(_ *member, s *provider.Snapshot) {
			s.Resources[0].Domain, s.Machines[name] = "b", provider.MachineState{}
		}, []string{"VM x: is in failure domain b, but machine m-1 requests a"}},
		"ready with nothing":    {func(_ *member, s *provider.Snapshot) { s.Resources = nil }, []string{"machine m-1: is ready but does not run in a: it has nothing"}},
		"ready without running": {func(_ *member, s *provider.Snapshot) { s.Resources[0].Running = false }, []string{"machine m-1: is ready but does not run in a"}},
		"without a machine": {func(_ *member, s *provider.Snapshot) {
			s.Resources = append(s.Resources, provider.Resource{Name: "VM y", Owner: "other"})
		}, []string{`VM y: has no existing machine as owner \(owner "other"\)`}},
		"inconsistent": {func(_ *member, s *provider.Snapshot) { s.Resources[0].Inconsistency = "is not in order" }, []string{"VM x: is not in order"}},
		"wrong status": {func(_ *member, s *provider.Snapshot) {
			s.Machines[name] = provider.MachineState{Faults: []string{"has another ID"}}
		}, []string{"machine m-1: has another ID"}},
		"with a fault elsewhere": {func(_ *member, s *provider.Snapshot) {
			s.Faults = []provider.Fault{{Object: "host z", What: "booted without a machine"}}
		}, []string{"host z: booted without a machine"}},
	} {
		t.Run(scenario, func(t *testing.T) {
			g := NewWithT(t)
			m := &member{name: name, domain: "a"}
			s := provider.Snapshot{Machines: map[string]provider.MachineState{name: {Ready: true}}, Resources: []provider.Resource{owned}}
			test.change(m, &s)
			faults := checkMachines(map[string]*member{name: m}, s)
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
	s := provider.Snapshot{Machines: map[string]provider.MachineState{"ready": {Ready: true}, "going": {Ready: true}, "coming": {Conditions: []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Because", Message: "of this"},
	}}}}
	faults := unsettled(members, s)
	g.Expect(faults).To(HaveLen(2))
	g.Expect(faults[0].String()).To(MatchRegexp(`(?s)machine coming: does not become ready.*Ready Because: of this`))
	g.Expect(faults[1].String()).To(Equal("machine going: is not deleted"))
}

// Random decisions must be the same for a seed, so that a fault can be reproduced.
func TestKillTimesDependOnSeed(t *testing.T) {
	g := NewWithT(t)
	moments := func(seed uint64, mode string) []int64 {
		r := &run{random: provider.Random(seed, mode)}
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

func TestRepeatNamesEveryVariable(t *testing.T) {
	g := NewWithT(t)
	p, err := all.Named[provider.ChaosProvider]("metal3")
	g.Expect(err).NotTo(HaveOccurred())
	o := &Options{Provider: p, Mode: RebalanceMode, ControlPlane: "rke2", APIServer: "busy"}
	g.Expect(o.repeat("SEEDS=1 SEED=7")).To(Equal("repeat it with make storm PROVIDER=metal3 MODE=rebalance CONTROL_PLANE=rke2 API_SERVER=busy SEEDS=1 SEED=7"))
}

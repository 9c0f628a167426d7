// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/kubectl-fd/internal/render"
	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/spread"
)

// cluster has Active domains a, b and c with these control-plane machines, one letter each: r runs, u is unhealthy, j joins, d is
// being drained, t is Terminable.
func cluster(name string, domains ...string) report.Cluster {
	c := report.Cluster{Namespace: "default", Name: name, Infrastructure: report.Reference{Kind: "Metal3Cluster"}}
	for i, letters := range domains {
		domain := report.Domain{Name: string(rune('a' + i)), Listed: true, State: faultlinev1.DomainActive, ControlPlane: true}
		for j, letter := range letters {
			machine := report.Machine{Name: fmt.Sprintf("%s-%s%d", name, domain.Name, j), ControlPlane: true, Joined: true, Healthy: true, State: report.Running}
			switch letter {
			case 'u':
				machine.Healthy, machine.State = false, report.Unhealthy
			case 'j':
				machine.Joined, machine.Healthy, machine.State = false, false, report.Joining
			case 'd':
				machine.Deleting, machine.State = true, report.MachineState(faultlinev1.MoveDrainable)
			case 't':
				machine.Deleting, machine.State = true, report.MachineState(faultlinev1.MoveTerminable)
			}
			domain.Machines = append(domain.Machines, machine)
		}
		c.Domains = append(c.Domains, domain)
	}
	return c
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		domains             []string
		members, lost, left int
		kept                bool
	}{
		"one of three":                               {[]string{"r", "r", "r"}, 3, 1, 2, true},
		"two of three":                               {[]string{"rr", "r", ""}, 3, 2, 1, false},
		"the only one":                               {[]string{"r", "", ""}, 1, 1, 0, false},
		"none":                                       {[]string{"", "rrr", ""}, 3, 0, 3, true},
		"another is unhealthy":                       {[]string{"r", "u", "r"}, 3, 1, 1, false},
		"the lost one is unhealthy already":          {[]string{"u", "r", "r"}, 3, 1, 2, true},
		"a fourth joins, and has no vote yet":        {[]string{"r", "r", "rj"}, 3, 1, 2, true},
		"a fourth has joined":                        {[]string{"rr", "r", "r"}, 4, 2, 2, false},
		"one that is being drained still votes":      {[]string{"r", "d", "rr"}, 4, 1, 3, true},
		"one that is Terminable does not vote":       {[]string{"r", "t", "rr"}, 3, 1, 2, true},
		"no control-plane machines: a hosted one":    {[]string{"", "", ""}, 0, 0, 0, true},
		"the quorum is lost before anything is lost": {[]string{"", "u", "ru"}, 3, 0, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			outcomes, err := report.Lose([]report.Cluster{cluster("c", test.domains...)}, []string{"a"})
			g.Expect(err).NotTo(HaveOccurred())
			got := outcomes[0].ControlPlane
			g.Expect([]int{got.Members, got.Lost, got.Left}).To(Equal([]int{test.members, test.lost, test.left}))
			g.Expect(got.KeepsQuorum).To(Equal(test.kept))
			g.Expect(report.KeepQuorum(outcomes)).To(Equal(test.kept))
		})
	}
}

func TestReplacements(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	outcomes, err := report.Lose([]report.Cluster{cluster("c", "r", "rr", "r", "r")}, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].Replacements).To(Equal([]report.Replacement{{Machine: "c-a0", ControlPlane: true, From: "a", To: "c"}}))
}

func TestCapacityIsSharedInANamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, second, other := cluster("first", "r", "r", "r"), cluster("second", "r", "r", "r"), cluster("third", "r", "r", "r")
	other.Namespace = "other"
	clusters := []report.Cluster{first, second, other}
	one, none := int32(1), int32(0)
	for i := range clusters {
		clusters[i].Domains[1].Capacity, clusters[i].Domains[2].Capacity = &one, &none
	}
	workers := true
	clusters[0].Wanted.Workers.Enabled = &workers
	clusters[0].Domains[0].Machines = append(clusters[0].Domains[0].Machines, report.Machine{Name: "worker", Deployment: "md", Created: metav1.Time{}})
	outcomes, err := report.Lose(clusters, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	const full = "waits: no capacity remains in the Active failure domains"
	g.Expect(outcomes[0].Replacements).To(Equal([]report.Replacement{
		{Machine: "first-a0", ControlPlane: true, From: "a", To: "b"}, {Machine: "worker", From: "a", Why: full},
	}))
	g.Expect(outcomes[1].Replacements).To(Equal([]report.Replacement{{Machine: "second-a0", ControlPlane: true, From: "a", Why: full}}))
	g.Expect(outcomes[2].Replacements).To(Equal([]report.Replacement{{Machine: "third-a0", ControlPlane: true, From: "a", To: "b"}}), "hosts of another namespace are others")
}

func TestSuitableCapacity(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, second := cluster("first", "rr", "rr", "r"), cluster("second", "r", "rr", "r")
	workers, five := true, int32(5)
	clusters := []report.Cluster{first, second}
	for i := range clusters {
		c := &clusters[i]
		c.Wanted.Workers.Enabled = &workers
		c.Domains[0].Machines[0].Suits = "gpu"
		c.Domains[0].Machines = append(c.Domains[0].Machines, report.Machine{Name: c.Name + "-w", Deployment: "md", Suits: "gpu"})
		c.SuitableCapacity = map[string]map[string]int{"gpu": {"a": 4, "b": 2}}
		c.Domains[1].Capacity, c.Domains[2].Capacity = &five, &five
	}
	outcomes, err := report.Lose(clusters, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	const full = "waits: no capacity that suits gpu remains in the Active failure domains"
	g.Expect(outcomes[0].Replacements).To(Equal([]report.Replacement{
		{Machine: "first-a0", ControlPlane: true, From: "a", To: "b"}, {Machine: "first-a1", ControlPlane: true, From: "a", To: "c"}, {Machine: "first-w", From: "a", Why: full},
	}), "control planes come first")
	g.Expect(outcomes[1].Replacements).To(Equal([]report.Replacement{{Machine: "second-a0", ControlPlane: true, From: "a", To: "b"}, {Machine: "second-w", From: "a", Why: full}}))
}

func TestWithdrawnDomainsReceiveNoReplacements(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster("c", "r", "r", "rr")
	c.Wanted.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: "b", State: faultlinev1.DomainCordoned}}
	outcomes, err := report.Lose([]report.Cluster{c}, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].Replacements[0].To).To(Equal("c"), "the spec sets b to Cordoned, and the status does not report it yet")
	c.Domains[2].ControlPlane = false
	outcomes, err = report.Lose([]report.Cluster{c}, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].Replacements[0].Why).To(Equal("waits: no Active failure domain remains for it"))
}

func TestLostCapacityWithoutLimit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster("c", "", "", "rrr")
	two := int32(2)
	c.Domains[0].Capacity = &two
	outcomes, err := report.Lose([]report.Cluster{c}, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].Capacity).To(HaveValue(Equal(2)))
	outcomes, err = report.Lose([]report.Cluster{c}, []string{"a", "b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].Capacity).To(BeNil())
}

func TestUnaffectedClustersAreOmitted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	outcomes, err := report.Lose([]report.Cluster{cluster("small", "r"), cluster("large", "r", "r", "r")}, []string{"b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes).To(HaveLen(1))
	_, err = report.Lose([]report.Cluster{{Name: "none"}}, []string{"b"})
	g.Expect(err).To(MatchError("none of the clusters has failure domain b, or any: see kubectl fd get -A"))
}

func TestUnlistedDomainIsLost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	two := cluster("two", "r", "rr", "")
	two.Domains[1].Listed, two.Domains[1].State, two.Domains[1].ControlPlane = false, "", false
	outcomes, err := report.Lose([]report.Cluster{cluster("one", "r", "r", "r"), two}, []string{"b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes).To(HaveLen(2))
	g.Expect(outcomes[1].ControlPlane).To(Equal(report.ControlPlaneOutcome{Members: 3, Lost: 2, Left: 1, Quorum: 2}))
	g.Expect(outcomes[1].Lost).To(Equal([]string{"b"}))
	g.Expect(outcomes[1].Capacity).To(HaveValue(BeZero()), "it had no capacity there")
	g.Expect(report.KeepQuorum(outcomes)).To(BeFalse())

	outcomes, err = report.Lose([]report.Cluster{two}, []string{"b"})
	g.Expect(err).NotTo(HaveOccurred(), "the domain is known by its machines alone")
	g.Expect(report.KeepQuorum(outcomes)).To(BeFalse())
	_, err = report.Lose([]report.Cluster{two}, []string{"x"})
	g.Expect(err).To(MatchError("none of the clusters has failure domain x: choose one of a, b, c"))
}

func TestControlPlaneMachinesWithoutDomain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster("c", "r", "ru", "")
	c.Domains[1].Name, c.Domains[1].Listed = "", false
	outcomes, err := report.Lose([]report.Cluster{c}, []string{"a"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcomes[0].ControlPlane).To(Equal(report.ControlPlaneOutcome{Members: 3, Lost: 1, Left: 1, Unplaced: 1, Quorum: 2}))
	var text strings.Builder
	g.Expect(render.Simulation(&text, outcomes, render.Style{})).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("default/c: the failure domain of 1 control-plane machine that would work is unknown and may be a lost one"))
}

func TestWorkerReplacements(t *testing.T) {
	t.Parallel()
	yes, three := true, int32(3)
	worker := func(name, deployment, key string) report.Machine {
		return report.Machine{Name: name, Deployment: deployment, Class: deployment, Key: key}
	}
	for name, test := range map[string]struct {
		machines string // name=key in each domain
		required *bool
		by       string
		want     map[string]string
	}{
		"one is shared":                   {"w0=md-2 w1=md-0 w2=md-1", nil, "", map[string]string{"w0": "b"}},
		"none may be shared":              {"w0=md-2 w1=md-0 w2=md-1", &yes, "", map[string]string{"w0": "waits: each remaining failure domain has another logical failure domain, and spec.distribution.workers.required forbids sharing"}},
		"one is shared, as hosts are not": {"w0=md-2 w1=md-0 w2=md-1", &yes, "kubernetes.io/hostname", map[string]string{"w0": "b"}},
		"one is in a region of its own":   {"w0=md-0 w1=md-1 ", &yes, "topology.kubernetes.io/region", map[string]string{"w0": "c"}},
		"the region is another's":         {"w0=md-0 w1=md-1 w2=md-2", &yes, "topology.kubernetes.io/region", map[string]string{"w0": "waits: each remaining region has another logical failure domain, and spec.distribution.workers.required forbids sharing"}},
		"it is of no MachineDeployment":   {"lone= w1=md-0 ", nil, "", map[string]string{"lone": "is placed by the infrastructure if its owner replaces it: it belongs to no MachineDeployment and is not spread"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := cluster("c", "", "", "")
			c.Wanted.Workers = faultlinev1.WorkersDistribution{Enabled: &yes, DesiredFailureDomains: &three, Required: test.required, TopologyKey: test.by}
			c.Parents = spread.ParentsOf(c.Wanted, []clusterv1.FailureDomain{
				{Name: "a", Attributes: map[string]string{"region": "north"}}, {Name: "b", Attributes: map[string]string{"region": "north"}},
				{Name: "c", Attributes: map[string]string{"region": "south"}},
			})
			for i, machines := range strings.Split(test.machines, " ") {
				for _, machine := range strings.FieldsFunc(machines, func(r rune) bool { return r == ',' }) {
					name, key, _ := strings.Cut(machine, "=")
					c.Domains[i].Machines = append(c.Domains[i].Machines, worker(name, strings.TrimRight(key, "-0123456789"), key))
				}
			}
			outcomes, err := report.Lose([]report.Cluster{c}, []string{"a"})
			g.Expect(err).NotTo(HaveOccurred())
			got := map[string]string{}
			for _, r := range outcomes[0].Replacements {
				got[r.Machine] = r.To + r.Why
			}
			g.Expect(got).To(Equal(test.want))
		})
	}
}

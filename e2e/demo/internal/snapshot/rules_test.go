// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settled returns a healthy cluster: a control-plane machine in each of three domains, and a worker in one.
func settled() Snapshot {
	now := Snapshot{}
	for _, domain := range []string{"a", "b", "c"} {
		now.Domains = append(now.Domains, Domain{Name: domain, State: "Active"})
		now.Machines = append(now.Machines, Machine{Name: "cp-" + domain, Role: RoleControlPlane, Asked: domain, Reported: domain, Domain: domain})
	}
	now.Machines = append(now.Machines, Machine{Name: "worker", Role: "md", Asked: "b", Reported: "b", Domain: "b"})
	return now
}

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		change             func(*Snapshot)
		missing, violation string
	}{
		"as it should be": {change: func(*Snapshot) {}},
		"two in one domain": {
			change:    func(s *Snapshot) { s.Machines[2].Asked, s.Machines[2].Domain = "a", "a" },
			violation: "vCenter shows an uneven control plane: one failure domain has 2 machines of control plane, another 0",
		},
		"one in a domain that receives none": {
			change:    func(s *Snapshot) { s.Domains[0].State = "Cordoned" },
			violation: "vCenter shows an uneven control plane: 1 of 3 machines of control plane are outside the failure domains that receive machines",
		},
		"a worker elsewhere": {
			change:    func(s *Snapshot) { s.Machines[3].Domain = "c" },
			violation: `machine worker is assigned to "b" but vCenter shows it in "c"`,
		},
		"a machine that Cluster API does not know": {
			change:    func(s *Snapshot) { s.Machines = append(s.Machines, Machine{Name: "stranger", Domain: "a"}) },
			violation: `machine stranger is assigned to "" but vCenter shows it in "a"`,
		},
		"not yet reported": {
			change:  func(s *Snapshot) { s.Machines[0].Reported = "" },
			missing: `Machine cp-a reports failure domain "" but is in "a"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := settled()
			tc.change(&now)
			missing, err := Spread(now, "vCenter", false)
			g.Expect(missing).To(Equal(tc.missing))
			if tc.violation == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.violation))
		})
	}
}

func TestLost(t *testing.T) {
	for name, tc := range map[string]struct {
		change             func(*Snapshot)
		missing, violation string
	}{
		"as it should be":       {change: func(*Snapshot) {}},
		"stopped in its domain": {change: func(s *Snapshot) { s.Machines[1].Domain = "" }},
		"not yet noticed":       {change: func(s *Snapshot) { s.Machines[3].Ready = true }, missing: "machine worker is still reported as ready"},
		"a machine elsewhere":   {change: func(s *Snapshot) { s.Machines[0].Ready = false }, violation: "machine cp-a is control plane, Pending, in a, but only b is lost"},
		"a domain elsewhere":    {change: func(s *Snapshot) { s.Domains[2].ControlPlane = false }, violation: "failure domain c is Active, no control plane, but only b is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := settled()
			for i := range now.Domains {
				now.Domains[i].ControlPlane = now.Domains[i].Name != "b"
			}
			now.Domains[1].State = "Cordoned"
			for i := range now.Machines {
				now.Machines[i].Ready = now.Machines[i].Domain != "b"
			}
			tc.change(&now)
			missing, err := Lost(now, "b")
			g.Expect(missing).To(Equal(tc.missing))
			if tc.violation == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.violation))
		})
	}
}

func TestComplete(t *testing.T) {
	all := func() Snapshot {
		now := settled()
		now.Machines = append(now.Machines, Machine{Name: "other", Role: "md", Domain: "c"})
		for i := range now.Machines {
			now.Machines[i].Ready = true
		}
		return now
	}
	for name, tc := range map[string]struct {
		change        func(*Snapshot)
		down, missing string
	}{
		"as it should be":           {change: func(*Snapshot) {}},
		"one is not ready":          {change: func(s *Snapshot) { s.Machines[3].Ready = false }, missing: "4 of 5 machines are ready, 5 are expected"},
		"one is down where all are": {change: func(s *Snapshot) { s.Machines[3].Ready = false }, down: "b"},
		"one was stopped where all are and is nowhere yet": {
			change: func(s *Snapshot) { s.Machines[3].Ready, s.Machines[3].Domain, s.Machines[3].Asked = false, "", "b" }, down: "b",
		},
		"one is down elsewhere": {
			change: func(s *Snapshot) { s.Machines[3].Ready = false }, down: "a", missing: "4 of 5 machines are ready, 5 are expected",
		},
		"one is nowhere":        {change: func(s *Snapshot) { s.Machines[3].Ready, s.Machines[3].Domain = false, "" }, missing: "4 of 5 machines are ready, 5 are expected"},
		"one is deleted":        {change: func(s *Snapshot) { s.Machines[3].Deleting = true }, down: "b", missing: "4 of 5 machines are ready, 5 are expected"},
		"one is missing":        {change: func(s *Snapshot) { s.Machines = s.Machines[:4] }, missing: "4 of 4 machines are ready, 5 are expected"},
		"too few control plane": {change: func(s *Snapshot) { s.Machines[0].Role = "md" }, missing: "2 control-plane machines, want 3"},
	} {
		t.Run(name, func(t *testing.T) {
			now := all()
			tc.change(&now)
			NewWithT(t).Expect(Complete(now, tc.down, 2)).To(Equal(tc.missing))
		})
	}
}

func TestReplaced(t *testing.T) {
	failed := settled().Machines[1]
	known := map[string]bool{"cp-a": true, "cp-b": true, "cp-c": true, "worker": true}
	replacement := Machine{Name: "replacement", Role: RoleControlPlane, Asked: "a", Domain: "a"}
	for name, tc := range map[string]struct {
		change             func(*Snapshot)
		missing, violation string
	}{
		"the failed is still there": {change: func(*Snapshot) {}, missing: "Machine cp-b still exists"},
		"it is replaced elsewhere":  {change: func(s *Snapshot) { s.Machines[1] = replacement }},
		"it is replaced where it was": {
			change:    func(s *Snapshot) { s.Machines[1] = replacement; s.Machines[1].Domain = "b" },
			violation: "machine replacement was created in b, which is broken",
		},
		"a new one is meant for there": {
			change:    func(s *Snapshot) { s.Machines = append(s.Machines, Machine{Name: "new", Role: "md", Asked: "b"}) },
			violation: "machine new was created in b, which is broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := settled()
			tc.change(&now)
			missing, err := Replaced(now, failed, known)
			g.Expect(missing).To(Equal(tc.missing))
			if tc.violation == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.violation))
		})
	}
}

func TestSurging(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := settled()
	for i := range now.Machines {
		now.Machines[i].Ready = true
	}
	g.Expect(Surging(now, "vCenter")).To(Succeed())
	now.Machines[0].Deleting = true
	g.Expect(Surging(now, "vCenter")).To(Succeed())
	now.Machines[1].Ready = false
	g.Expect(Surging(now, "vCenter")).To(MatchError(ContainSubstring("less than the quorum of 2")))
	now = settled()
	now.Machines = append(now.Machines, Machine{Role: RoleControlPlane}, Machine{Role: RoleControlPlane})
	g.Expect(Surging(now, "vCenter")).To(MatchError(ContainSubstring("more than one is moving")))
}

func TestMoving(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := Snapshot{Machines: []Machine{{Role: "md", Ready: true}, {Role: "md", Ready: true}}}
	missing, err := Moving(now, "md", 2)
	g.Expect(missing, err).To(BeEmpty())
	now.Machines[0].Deleting = true
	missing, err = Moving(now, "md", 2)
	g.Expect(missing, err).To(Equal("1 of 2 machines of md are ready"))
	now.Machines[1].Deleting = true
	_, err = Moving(now, "md", 2)
	g.Expect(err).To(MatchError(ContainSubstring("deleted at once")))
}

func TestLevelKeys(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(LevelKeys(map[string]string{"a": "md-0", "b": "md-1", "c": "md-0"}, "md", 2)).To(BeEmpty())
	g.Expect(LevelKeys(map[string]string{"a": "md-0", "b": "md-2"}, "md", 2)).To(ContainSubstring(`"md-2", which is not one of the 2 of md`))
	g.Expect(LevelKeys(map[string]string{"a": "md-0", "b": "md-0"}, "md", 2)).To(Equal("one logical failure domain has 2 machines of md, another 0"))
}

func TestLogicalFailureDomainChangeReplacesFewestMachines(t *testing.T) {
	t.Parallel()
	three := map[string]string{"a": "md-0", "b": "md-0", "c": "md-1", "d": "md-1", "e": "md-2", "f": "md-2"}
	for name, test := range map[string]struct {
		before map[string]string
		gone   string
		number int
		wrong  string
	}{
		"3 to 2":               {three, "ef", 2, ""},
		"3 to 2, one too many": {three, "def", 2, "3 machines of md were replaced, but 2 suffice"},
		"3 to 4":               {three, "a", 4, ""},
		"3 to 4, one too many": {three, "ac", 4, "2 machines of md were replaced, but 1 suffice"},
		"2 to 4":               {map[string]string{"a": "md-0", "b": "md-0", "c": "md-0", "d": "md-1", "e": "md-1", "f": "md-1"}, "ad", 4, ""},
		"none to 3":            {map[string]string{"a": ""}, "a", 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := map[string]string{}
			for machine, key := range test.before {
				if strings.Contains(test.gone, machine) {
					machine = "instead of " + machine
				}
				now[machine] = key
			}
			NewWithT(t).Expect(TooManyReplaced(test.before, now, "md", test.number)).To(Equal(test.wrong))
		})
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := Machine{Name: "w1", Role: "md", Domain: "zone-b"}
	replacement, missing, err := Waiting(Snapshot{Machines: []Machine{gone}}, gone)
	g.Expect(replacement, err).To(BeEmpty())
	g.Expect(missing).To(Equal("Machine w1 still exists"))
	_, missing, err = Waiting(Snapshot{Machines: []Machine{{Name: "cp", Role: RoleControlPlane, Domain: "zone-a"}}}, gone)
	g.Expect(missing, err).To(Equal("no replacement found for Machine w1"))
	replacement, missing, err = Waiting(Snapshot{Machines: []Machine{{Name: "w2", Role: "md", Asked: "zone-b"}}}, gone)
	g.Expect(missing, err).To(BeEmpty())
	g.Expect(replacement).To(Equal("w2"))
	_, _, err = Waiting(Snapshot{Machines: []Machine{{Name: "w2", Role: "md", Asked: "zone-b", Domain: "zone-a"}}}, gone)
	g.Expect(err).To(MatchError("machine w2 was created in zone-a while zone-b is broken"))
	says := metav1.Condition{Type: "InfrastructureReady", Status: metav1.ConditionFalse, Reason: "NotReady", Message: "it is not provisioned"}
	g.Expect(WaitsFor("zone-b", []metav1.Condition{says})).To(BeEmpty())
	says.Message = "zone-b is Cordoned"
	g.Expect(WaitsFor("zone-b", []metav1.Condition{says})).To(Equal("InfrastructureReady=False NotReady: zone-b is Cordoned"))
}

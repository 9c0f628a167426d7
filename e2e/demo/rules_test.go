// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"testing"

	. "github.com/onsi/gomega"
)

// settled is a cluster as it should be: a control-plane machine in each of three
// domains, and a worker in one.
func settled() Snapshot {
	now := Snapshot{}
	for _, domain := range []string{"a", "b", "c"} {
		now.Domains = append(now.Domains, Domain{Name: domain, State: "Active"})
		now.Machines = append(now.Machines, Machine{Name: "cp-" + domain, Role: roleControlPlane, Asked: domain, Reported: domain, Domain: domain})
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
			violation: "vCenter has the control plane unevenly: 2 machines of control plane are in one failure domain, 0 in another",
		},
		"one in a domain that receives none": {
			change:    func(s *Snapshot) { s.Domains[0].State = "Cordoned" },
			violation: "vCenter has the control plane unevenly: 1 of 3 machines of control plane are outside of the failure domains that receive machines",
		},
		"a worker elsewhere": {
			change:    func(s *Snapshot) { s.Machines[3].Domain = "c" },
			violation: `machine worker was asked to be in "b" and vCenter has it in "c"`,
		},
		"a machine that Cluster API does not know": {
			change:    func(s *Snapshot) { s.Machines = append(s.Machines, Machine{Name: "stranger", Domain: "a"}) },
			violation: `machine stranger was asked to be in "" and vCenter has it in "a"`,
		},
		"not yet reported": {
			change:  func(s *Snapshot) { s.Machines[0].Reported = "" },
			missing: `Machine cp-a reports failure domain ""; it is in "a"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := settled()
			tc.change(&now)
			missing, err := spread(now, "vCenter", false)
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
		"one is not ready":          {change: func(s *Snapshot) { s.Machines[3].Ready = false }, missing: "4 of 5 machines are ready, of 5 that there should be"},
		"one is down where all are": {change: func(s *Snapshot) { s.Machines[3].Ready = false }, down: "b"},
		"one was stopped where all are and is nowhere yet": {
			change: func(s *Snapshot) { s.Machines[3].Ready, s.Machines[3].Domain, s.Machines[3].Asked = false, "", "b" }, down: "b",
		},
		"one is down elsewhere": {
			change: func(s *Snapshot) { s.Machines[3].Ready = false }, down: "a", missing: "4 of 5 machines are ready, of 5 that there should be",
		},
		"one is nowhere":        {change: func(s *Snapshot) { s.Machines[3].Ready, s.Machines[3].Domain = false, "" }, missing: "4 of 5 machines are ready, of 5 that there should be"},
		"one is deleted":        {change: func(s *Snapshot) { s.Machines[3].Deleting = true }, down: "b", missing: "4 of 5 machines are ready, of 5 that there should be"},
		"one is missing":        {change: func(s *Snapshot) { s.Machines = s.Machines[:4] }, missing: "4 of 4 machines are ready, of 5 that there should be"},
		"too few control plane": {change: func(s *Snapshot) { s.Machines[0].Role = "md" }, missing: "2 control-plane machines, not 3"},
	} {
		t.Run(name, func(t *testing.T) {
			now := all()
			tc.change(&now)
			NewWithT(t).Expect(complete(now, tc.down, 2)).To(Equal(tc.missing))
		})
	}
}

func TestReplaced(t *testing.T) {
	failed := settled().Machines[1]
	known := map[string]bool{"cp-a": true, "cp-b": true, "cp-c": true, "worker": true}
	replacement := Machine{Name: "replacement", Role: roleControlPlane, Asked: "a", Domain: "a"}
	for name, tc := range map[string]struct {
		change             func(*Snapshot)
		missing, violation string
	}{
		"the failed is still there": {change: func(*Snapshot) {}, missing: "Machine cp-b is still there"},
		"it is replaced elsewhere":  {change: func(s *Snapshot) { s.Machines[1] = replacement }},
		"it is replaced where it was": {
			change:    func(s *Snapshot) { s.Machines[1] = replacement; s.Machines[1].Domain = "b" },
			violation: "machine replacement was put into b, which is broken",
		},
		"a new one is meant for there": {
			change:    func(s *Snapshot) { s.Machines = append(s.Machines, Machine{Name: "new", Role: "md", Asked: "b"}) },
			violation: "machine new was put into b, which is broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := settled()
			tc.change(&now)
			missing, err := replaced(now, failed, known)
			g.Expect(missing).To(Equal(tc.missing))
			if tc.violation == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(tc.violation))
		})
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/spread"
)

// rollout is a MachineDeployment whose machines are all replaced, as Cluster API's controllers do it: the new MachineSet creates
// machines within maxSurge, the old one deletes within maxUnavailable, by name because all of its machines have the same rank.
type rollout struct {
	*rapid.T
	Gomega
	cluster                      spread.Cluster
	replicas, surge, unavailable int
	made                         int
	names                        map[string]bool
}

func newRollout(t *rapid.T) *rollout {
	r := &rollout{T: t, Gomega: NewWithT(t), names: map[string]bool{}}
	d := rapid.IntRange(2, 4).Draw(t, "d")
	r.cluster.Domains = domains(strings.Join(strings.Split("abcd"[:d], ""), " "))
	r.replicas = rapid.IntRange(1, 9).Draw(t, "replicas")
	r.surge = rapid.IntRange(0, 4).Draw(t, "maxSurge")
	r.unavailable = rapid.IntRange(0, 3).Draw(t, "maxUnavailable")
	if r.surge == 0 {
		r.unavailable++
	}
	for range r.replicas {
		r.create("old")
	}
	r.settle()
	return r
}

// create adds a machine that waits for its domain, with a random name as in Cluster API.
func (r *rollout) create(set string) {
	name := ""
	for name == "" || r.names[name] {
		name = fmt.Sprintf("%s-%05d", set, rapid.IntRange(0, 99999).Draw(r.T, "name"))
	}
	r.names[name] = true
	r.made++
	r.cluster.Machines = append(r.cluster.Machines, spread.Machine{
		Name: name, Deployment: "md", Class: "md", Set: set, Created: time.Unix(int64(r.made), 0),
	})
}

func (r *rollout) settle() { r.cluster = carryOut(r, r.cluster) }

func (r *rollout) count(set string) int {
	n := 0
	for _, m := range r.cluster.Machines {
		if m.Set == set {
			n++
		}
	}
	return n
}

// run replaces all old machines, a random number at a time within the limits.
func (r *rollout) run(set string) {
	for steps := 0; r.count(set) < r.replicas || len(r.cluster.Machines) > r.replicas; steps++ {
		r.Expect(steps).To(BeNumerically("<", 100), "the rollout ends")
		create := min(r.replicas-r.count(set), r.replicas+r.surge-len(r.cluster.Machines))
		for range some(r.T, "created", create) {
			r.create(set)
		}
		r.settle()
		r.delete(set, some(r.T, "deleted", len(r.cluster.Machines)-(r.replicas-r.unavailable)))
	}
}

// delete deletes the first machines by name that are not of the set.
func (r *rollout) delete(set string, n int) {
	slices.SortFunc(r.cluster.Machines, func(a, b spread.Machine) int { return strings.Compare(a.Name, b.Name) })
	r.cluster.Machines = slices.DeleteFunc(r.cluster.Machines, func(m spread.Machine) bool {
		n--
		if m.Set == set {
			n++
			return false
		}
		return n >= 0
	})
}

// some draws a number between 1 and most; it returns 0 if most is less than 1.
func some(t *rapid.T, what string, most int) int {
	if most < 1 {
		return 0
	}
	return rapid.IntRange(1, most).Draw(t, what)
}

func TestRollout(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRollout(t)
		r.run("new")
		evenly(r, r.cluster.Machines, len(r.cluster.Domains))
		r.run("newer")
		evenly(r, r.cluster.Machines, len(r.cluster.Domains))
	})
}

func TestRollback(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRollout(t)
		for range some(t, "created before", min(r.surge, r.replicas)) {
			r.create("new")
		}
		r.settle()
		r.delete("new", r.count("new"))
		r.run("old")
		r.Expect(r.count("old")).To(Equal(r.replicas))
	})
}

func TestRolloutLogicalDomains(t *testing.T) {
	t.Parallel()
	for name, larger := range map[string]map[string]string{
		"failure domains": nil,
		"regions":         {"a": "north", "b": "north", "c": "south", "d": "south"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				r := newRollout(t)
				r.cluster.Machines, r.cluster.Parent = nil, larger
				if larger != nil {
					r.cluster.Domains = domains("a b c d")
				}
				r.cluster.Logical = rapid.IntRange(1, 2).Draw(t, "logical")
				for range r.replicas {
					r.create("old")
				}
				r.settle()
				r.run("new")
				places := map[string]map[string]int{}
				for _, m := range r.cluster.Machines {
					if places[m.Key] == nil {
						places[m.Key] = map[string]int{}
					}
					places[m.Key][m.Domain]++
				}
				counts := perKey(r.cluster)
				for i := range r.cluster.Logical {
					count := counts[fmt.Sprintf("md-%d", i)]
					r.Expect(count).To(BeNumerically("~", r.replicas/r.cluster.Logical, 1), "%v", counts)
				}
				for key, at := range places {
					if larger == nil {
						r.Expect(at).To(HaveLen(1), "%s is in one failure domain: %v", key, at)
						continue
					}
					half := counts[key] / 2
					for _, n := range at {
						r.Expect(n).To(BeNumerically("<=", counts[key]-half), "%s in its region: %v", key, at)
					}
				}
			})
		})
	}
}

func TestRolloutClass(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := machines("x: a/s-0 a/s-0 b/s-1; y: c/s-2 - -")
	for i := range all {
		all[i].Class, all[i].Set = "s", "old"
		if all[i].Domain == "" {
			all[i].Set = "new"
		}
	}
	given, refused, err := spread.Assign(spread.Cluster{Domains: domains("a b c"), Machines: all, Logical: 3})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer(given, refused)).To(Equal("y-e>c/s-2 y-f>b/s-1"), "those of x count, and of y those that stay")
}

// next creates a machine of the next MachineSet that exists.
func (w *fixture) next(r *spread.Reconciler, name string) {
	w.t.Helper()
	w.machine("md", name, func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineSetNameLabel] = "md-next" })
	w.reconcile(r)
	w.exist()
}

func TestSpreadAfterRollout(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 3)
	for _, old := range w.machines("md") {
		w.next(r, "md-next-"+old.Name)
		w.remove(&old)
	}
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "b": 1, "c": 1}))
}

func TestRolloutCountsRemainingMachines(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 3)
	w.next(r, "md-next-1")
	w.remove(&clusterv1.Machine{ObjectMeta: w.meta("md-0003")})
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 2, "b": 1}), "which the rollout levels itself")
	w.Expect(w.balanced().Status).To(Equal(metav1.ConditionTrue), w.balanced().Message)
}

func TestReplacementOfDeletedMachine(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 6)
	change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, func(md *clusterv1.MachineDeployment) {
		md.Spec.Rollout.Strategy.Type = clusterv1.OnDeleteMachineDeploymentStrategyType
	})
	for i, name := range []string{"md-0003", "md-0006"} {
		w.remove(&clusterv1.Machine{ObjectMeta: w.meta(name)})
		w.next(r, fmt.Sprintf("md-next-%d", i))
	}
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 2, "b": 2, "c": 2}))
}

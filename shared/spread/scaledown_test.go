// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/spread"
)

// settled creates a MachineDeployment with the given number of machines that exist.
func settled(t *testing.T, wanted faultlinev1.WorkersDistribution, replicas int32) (*fixture, *spread.Reconciler) {
	t.Helper()
	w := newFixture(t, wanted)
	w.scale("md", replicas)
	r := w.reconciler(api)
	w.reconcile(r)
	w.exist()
	w.reconcile(r)
	return w, r
}

func TestScaleDownOneByOne(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 7)
	for replicas := int32(6); replicas > 0; replicas-- {
		w.Expect(w.marked("md")).To(HaveLen(int(replicas)), "before the MachineSet picks: all but one")
		w.scale("md", replicas)
		w.reconcile(r)
		counts := []int{}
		for _, name := range []string{"a", "b", "c"} {
			counts = append(counts, w.placed("md", domain)[name])
		}
		w.Expect(max(counts[0], counts[1], counts[2])-min(counts[0], counts[1], counts[2])).To(BeNumerically("<=", 1), "%v", counts)
	}
	w.Expect(w.marked("md")).To(BeEmpty(), "the last machine is never selected")
}

// wantReplicas changes the replicas of the MachineDeployment before its MachineSet is updated.
func (w *fixture) wantReplicas(replicas int32) {
	w.t.Helper()
	change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, func(md *clusterv1.MachineDeployment) { md.Spec.Replicas = ptr.To(replicas) })
}

// byHand creates existing machines whose names are sorted by their domains: those of a come first and are the most.
func byHand(t *testing.T, perDomain int) (*fixture, *spread.Reconciler) {
	t.Helper()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	for _, name := range []string{"a", "b", "c"} {
		for i := range perDomain {
			machine := fmt.Sprintf("md-%s%d", name, i)
			w.machine("md", machine)
			change(w, &providertest.Machine{ObjectMeta: w.meta(machine)}, true, func(m *providertest.Machine) { m.Status.Domain, m.Status.Exists = name, true })
			w.join(machine)
		}
	}
	w.wantReplicas(int32(3 * perDomain))
	w.replenish("md")
	r := w.reconciler(api)
	w.reconcile(r)
	return w, r
}

func TestScaleDownBySeveral(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		made func() (*fixture, *spread.Reconciler)
		by   []int32
		left map[string]int
	}{
		"names in turn, by three":       {func() (*fixture, *spread.Reconciler) { return settled(t, faultlinev1.WorkersDistribution{}, 9) }, []int32{6}, map[string]int{"a": 2, "b": 2, "c": 2}},
		"names in turn, by all but one": {func() (*fixture, *spread.Reconciler) { return settled(t, faultlinev1.WorkersDistribution{}, 9) }, []int32{1}, map[string]int{"c": 1}},
		"names in turn, twice":          {func() (*fixture, *spread.Reconciler) { return settled(t, faultlinev1.WorkersDistribution{}, 9) }, []int32{7, 3}, map[string]int{"a": 1, "b": 1, "c": 1}},
		"names by domain, by three":     {func() (*fixture, *spread.Reconciler) { return byHand(t, 3) }, []int32{6}, map[string]int{"a": 2, "b": 2, "c": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := tc.made()
			for _, replicas := range tc.by {
				w.scale("md", replicas) // the MachineSet is faster
				w.reconcile(r)
			}
			if len(tc.left) == 1 {
				w.Expect(w.machines("md")).To(HaveLen(1))
				return
			}
			w.Expect(w.placed("md", located)).To(Equal(tc.left))
		})
	}
}

// located returns the domain of a machine.
func located(m *providertest.Machine) string { return m.Status.Domain }

func TestScaleDownMarks(t *testing.T) {
	t.Parallel()
	w, r := byHand(t, 3)
	for replicas, marks := range map[int32]int{9: 4, 6: 4, 4: 5, 1: 8, 0: 4} { // by their names, four can be marked ahead
		w.wantReplicas(replicas)
		w.reconcile(r)
		w.Expect(w.marked("md")).To(HaveLen(marks), "%d of 9 replicas", replicas)
	}
	w.wantReplicas(4)
	w.reconcile(r)
	w.scale("md", 4)
	w.reconcile(r)
	counts := w.placed("md", located)
	w.Expect(counts).To(HaveLen(3))
	w.Expect(max(counts["a"], counts["b"], counts["c"])).To(Equal(2))
}

func TestCanceledScaleDownRemovesMarks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after func(*fixture)
		left  []string
	}{
		"taken back": {func(w *fixture) { w.wantReplicas(9) }, []string{"md-a0", "md-b0", "md-c0", "md-c1"}},
		"the MachineSet was faster": {func(w *fixture) {
			for _, name := range []string{"md-a1", "md-a2", "md-b0", "md-b1", "md-c0", "md-c1", "md-c2"} {
				w.remove(&clusterv1.Machine{ObjectMeta: w.meta(name)})
			}
		}, []string{"md-a0"}},
		"the user marks a machine": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-c2")}, false, func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"}
			})
		}, []string{"md-c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := byHand(t, 3)
			w.wantReplicas(2)
			w.reconcile(r)
			w.Expect(w.marked("md")).To(HaveLen(7))
			there := len(w.machines("md"))
			tc.after(w)
			w.reconcile(r)
			w.Expect(w.marked("md")).To(ConsistOf(tc.left))
			w.Expect(there).To(Equal(9), "a mark alone deletes nothing")
		})
	}
}

func TestScaleDownWaitingFirst(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 3)
	w.domains("a!Cordoned b!Cordoned c!Cordoned")
	w.scale("md", 5)
	w.reconcile(r)
	w.wantReplicas(4)
	w.reconcile(r)
	w.Expect(w.marked("md")).To(ConsistOf("md-0005"))
	w.wantReplicas(2)
	w.reconcile(r)
	w.Expect(w.marked("md")).To(ConsistOf("md-0004", "md-0005", "md-0001"), "and no other, which could go before those that wait")
}

// fail makes the health check of a machine fail.
func (w *fixture) fail(name string) {
	w.t.Helper()
	change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, true, func(m *clusterv1.Machine) {
		conditions.Set(m, metav1.Condition{Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: "NodeConditionFailed"})
	})
}

func TestScaleDownUnhealthyFirst(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"the scale-down is a surprise": false, "it is seen before the MachineSet acts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := settled(t, faultlinev1.WorkersDistribution{}, 6)
			w.fail("md-0003")
			w.fail("md-0006")
			w.reconcile(r)
			if known {
				w.wantReplicas(4)
				w.reconcile(r)
				w.Expect(w.marked("md")).To(ConsistOf("md-0003", "md-0006"))
			}
			w.scale("md", 4)
			w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 2, "b": 2}), "those of c are dead")
		})
	}
}

func TestScaleDownUnjoinedFirst(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 3)
	w.scale("md", 4)
	w.reconcile(r)
	w.Expect(w.marked("md")).To(BeEmpty(), "a mark would have another one go")
	w.scale("md", 3)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "b": 1, "c": 1}))
}

func TestMarkMoves(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 4)
	before := w.marked("md")
	w.Expect(before).To(ConsistOf("md-0001", "md-0002", "md-0003"))
	w.domains("a b c!Evicting")
	w.reconcile(r)
	w.Expect(w.marked("md")).To(ConsistOf("md-0003", "md-0004"), "the first is in the domain that must be emptied, the next in the fullest then")
}

func TestNoMarks(t *testing.T) {
	t.Parallel()
	deployment := func(how func(*clusterv1.MachineDeployment)) func(*fixture) {
		return func(w *fixture) { change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, how) }
	}
	for name, tc := range map[string]struct {
		change func(*fixture)
		marked []string
	}{
		"the user marks another machine": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0003")}, false, func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"}
			})
		}, []string{"md-0003"}},
		"the user marks the same machine": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0001")}, false, func(m *clusterv1.Machine) {
				m.Annotations[clusterv1.DeleteMachineAnnotation] = "yes"
			})
		}, []string{"md-0001"}},
		"the autoscaler scales it": {deployment(func(md *clusterv1.MachineDeployment) {
			md.Annotations = map[string]string{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "9"}
		}), nil},
		"the MachineDeployment is paused": {deployment(func(md *clusterv1.MachineDeployment) { md.Spec.Paused = ptr.To(true) }), nil},
		"the infrastructure cluster is paused": {func(w *fixture) {
			change(w, w.infra, false, func(c *providertest.Cluster) { c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		}, nil},
		"machines are rolled out": {func(w *fixture) {
			w.machine("md", "md-new", func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineSetNameLabel] = "md-next" })
		}, nil},
		"its machines are named a domain": {deployment(func(md *clusterv1.MachineDeployment) { md.Spec.Template.Spec.FailureDomain = "a" }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := settled(t, faultlinev1.WorkersDistribution{}, 4)
			w.Expect(w.marked("md")).To(HaveLen(3))
			tc.change(w)
			w.reconcile(r)
			w.Expect(w.marked("md")).To(ConsistOf(tc.marked))
			for _, machine := range w.machines("md") {
				w.Expect(machine.Annotations).NotTo(HaveKey(faultlinev1.MarkedForMoveAnnotation))
			}
		})
	}
}

// Rancher marks a machine and lowers the replicas at once, and announces nothing.
func TestAProgramThatMarksMachinesIsRespectedFromTheSecondTimeOn(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 6)
	scaleDown := func(machine string, to int32) {
		change(w, &clusterv1.Machine{ObjectMeta: w.meta(machine)}, false, func(m *clusterv1.Machine) {
			m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "true"}
		})
		w.scale("md", to) // the MachineSet is faster than Faultline
		w.reconcile(r)
	}
	scaleDown("md-0006", 5)
	w.Expect(w.marked("md")).To(ConsistOf("md-0006"), "another one was deleted, and its mark stays")
	var events []string
	for len(w.recorder.Events) > 0 {
		events = append(events, <-w.recorder.Events)
	}
	w.Expect(events).To(ContainElement(And(ContainSubstring("MachineMarkedByOthers"), ContainSubstring("set its annotation "+faultlinev1.ScaledByAnnotation))))
	w.scale("md", 4)
	w.reconcile(r)
	w.Expect(w.machines("md")).NotTo(ContainElement(HaveField("Name", "md-0006")))
	w.Expect(w.marked("md")).To(BeEmpty(), "none is marked ahead")
	scaleDown("md-0005", 3)
	w.Expect(w.machines("md")).To(And(HaveLen(3), Not(ContainElement(HaveField("Name", "md-0005")))))

	w.wantReplicas(2)
	w.reconcile(r)
	w.Expect(w.marked("md")).To(HaveLen(1), "a surplus machine is marked nevertheless")
}

func TestPartialMarkIsRemoved(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 4)
	strip := func() {
		for _, name := range w.marked("md") {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta(name)}, false, func(m *clusterv1.Machine) { delete(m.Annotations, faultlinev1.MarkedForMoveAnnotation) })
		}
	}
	strip()
	w.reconcile(r)
	w.Expect(w.marked("md")).To(HaveLen(3))
	w.Expect(w.machines("md")).To(ContainElement(HaveField("Annotations", HaveKey(faultlinev1.MarkedForMoveAnnotation))), "it is set again")
	strip()
	change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, func(md *clusterv1.MachineDeployment) { md.Spec.Paused = ptr.To(true) })
	w.reconcile(r)
	w.Expect(w.marked("md")).To(BeEmpty())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/e2e/provider"
)

func example() Snapshot {
	return Snapshot{
		Domains: []Domain{
			{Name: "zone-a", State: "Active", ControlPlane: true},
			{Name: "zone-b", State: "Cordoned", Reason: "DatastoreNotFound"},
			{Name: "zone-c"},
		},
		Machines: []Machine{
			{Name: "demo-1", Role: roleControlPlane, Phase: "Running", Ready: true, Asked: "zone-a", Domain: "zone-a", Host: "host-1"},
			{Name: "demo-2", Role: roleControlPlane, Phase: "Provisioning", Asked: "zone-c"},
			{Name: "stranger", Domain: "zone-b", Host: "host-3"},
		},
	}
}

func TestMerge(t *testing.T) {
	g := NewWithT(t)
	machine := func(name string, labels map[string]string) clusterv1.Machine {
		return clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec: clusterv1.MachineSpec{
				ClusterName: "demo", FailureDomain: "zone-a",
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{Name: name + "-vm"},
			},
			Status: clusterv1.MachineStatus{Phase: "Running", FailureDomain: "zone-b"},
		}
	}
	got := merge([]clusterv1.Machine{
		machine("worker", map[string]string{clusterv1.MachineDeploymentNameLabel: "demo-md-a"}),
		machine("control", map[string]string{clusterv1.MachineControlPlaneLabel: ""}),
	}, []provider.Placement{{Name: "left-over", Domain: "zone-c"}, {Name: "control-vm", Domain: "zone-b", Host: "host-1"}})
	g.Expect(got).To(Equal([]Machine{
		{Name: "control", Role: roleControlPlane, Phase: "Running", Asked: "zone-a", Reported: "zone-b", Domain: "zone-b", Host: "host-1"},
		{Name: "worker", Role: "md-a", Phase: "Running", Asked: "zone-a", Reported: "zone-b"},
		{Name: "left-over", Domain: "zone-c"},
	}))
}

func TestDomainsShowWhatIsPublished(t *testing.T) {
	g := NewWithT(t)
	got := domains([]string{"a", "b"}, []clusterv1.FailureDomain{
		{Name: "b", ControlPlane: new(true), Attributes: map[string]string{"state": "Active"}},
		{Name: "other", ControlPlane: new(true)},
	})
	g.Expect(got).To(Equal([]Domain{{Name: "a"}, {Name: "b", State: "Active", ControlPlane: true}}))
}

func TestChanges(t *testing.T) {
	g := NewWithT(t)
	before, now := example(), example()
	g.Expect(changes(before, now)).To(BeEmpty())
	now.Domains[0].ControlPlane, now.Domains[0].State = false, "Cordoned"
	now.Machines[1].Domain = "zone-c"
	now.Machines = now.Machines[:2]
	g.Expect(changes(before, now)).To(Equal([]string{
		"failure domain zone-a: Cordoned, no control plane",
		"machine demo-2: control plane, Provisioning, in zone-c",
		"machine stranger: gone",
	}))
	g.Expect(changes(Snapshot{}, before)).To(ContainElement("machine stranger: not known to Cluster API, in zone-b"))
}

func TestPlacementTable(t *testing.T) {
	g := NewWithT(t)
	table := placementTable(example())
	g.Expect(table).To(HaveLen(4))
	g.Expect(strings.Fields(table[0])).To(Equal([]string{"zone-a", "zone-b", "zone-c"}))
	g.Expect(strings.Fields(table[1])).To(Equal([]string{"demo-1", "control", "plane", "host-1", ".", "."}))
	g.Expect(strings.Fields(table[3])).To(Equal([]string{"stranger", ".", "host-3", "."}))
}

func TestFrameKeepsItsWidth(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	p := &frame{began: began, now: example(), steps: []shownStep{
		{name: "First", ended: true, took: time.Second, notes: []string{"not shown any more"}},
		{name: "Second " + strings.Repeat("long ", 30), began: began, notes: []string{"a note"}},
	}}
	escapes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, columns := range []int{60, 80, 133} {
		text := ""
		for _, line := range p.render(began.Add(65*time.Second), columns) {
			line = escapes.ReplaceAllString(line, "")
			g.Expect(utf8.RuneCountInString(line)).To(BeNumerically("<=", columns), line)
			text += line + "\n"
		}
		g.Expect(text).To(And(
			ContainSubstring("1:05"), ContainSubstring("✓ First"), ContainSubstring("a note"), Not(ContainSubstring("not shown")),
			ContainSubstring("● demo-1"), ContainSubstring("● stranger"), ContainSubstring("· demo-2: control plane, Provisioning, meant for zone-c"),
		))
	}
}

func TestScreenShowsTheLatest(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	s := newScreen(&out, func() (int, int) { return 80, 24 }, time.Now())
	s.begin("One")
	s.show(example())
	s.end(errors.New("no"))
	s.close()
	s.close()
	s.note("too late")
	g.Expect(strings.LastIndex(out.String(), "✗ One")).To(BeNumerically(">", strings.LastIndex(out.String(), "▸ One")))
	g.Expect(out.String()).NotTo(ContainSubstring("too late"))
}

func TestFindings(t *testing.T) {
	g := NewWithT(t)
	object := func(name string, conditions ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"kind": "Example", "metadata": map[string]any{"name": name},
			"status": map[string]any{"conditions": conditions},
		}}
	}
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Because", "message": "of\n this"}
	}
	deleting := object("deleting", condition("Ready", "True"))
	deleting.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	deleting.SetFinalizers([]string{"example.test/keep"})
	got := findings([]unstructured.Unstructured{
		object("fine", condition("Ready", "True"), condition("Deleting", "False"), condition("ScalingUp", "False")),
		object("broken", condition("Ready", "False"), condition("RollingOut", "True")),
		deleting,
	})
	g.Expect(got).To(Equal("  Example broken\n    Ready=False Because: of this\n    RollingOut=True Because: of this\n" +
		"  Example deleting\n    is being deleted; finalizers example.test/keep\n"))
}

func TestExplain(t *testing.T) {
	g := NewWithT(t)
	err := error(&StepError{Step: "The cluster comes up", Err: errors.New("gave up after 3m0s"), Diagnosis: "  Machine a\n    Ready=False\n", Logs: "/logs"})
	g.Expect(Explain(err)).To(Equal("Failed at: The cluster comes up\n  gave up after 3m0s\nNot as it should be:\n  Machine a\n    Ready=False\nLogs: /logs"))
	g.Expect(Explain(errors.New("no such provider"))).To(ContainSubstring("no such provider"))
}

func TestCosts(t *testing.T) {
	g := NewWithT(t)
	calls := difference(map[string]int{"Login": 1, "Clone": 2}, map[string]int{"Login": 1, "Clone": 7, "PowerOn": 5})
	g.Expect(calls).To(Equal(map[string]int{"Clone": 5, "PowerOn": 5}))
	g.Expect(costs{machines: 5, calls: calls}.words()).To(Equal("10 for 5 machines from nothing to ready, 2.0 each (Clone 5, PowerOn 5)"))
	g.Expect(costs{}.words()).To(Equal("none"))
}

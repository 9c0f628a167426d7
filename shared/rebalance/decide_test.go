// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
)

var testNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// snapshotOf returns a control plane that may move a machine, with machines m0, m1, ... in the domains named by the letters.
func snapshotOf(layout, domains string) Snapshot {
	s := Snapshot{
		Now: testNow, Mode: faultlinev1.ControlPlaneRebalanceSurgeOne, Stabilization: 5 * time.Minute, Since: testNow.Add(-time.Hour),
		Cluster: Cluster{Name: "one"},
		ControlPlane: machines.ControlPlane{
			Kind: machines.Kubeadm{}, Name: "KubeadmControlPlane one-cp", Replicas: len(layout), Observed: true, MaxSurge: 1, UpToDate: true,
			EtcdHealthy: true, ComponentsHealthy: true, Template: "template", Version: machines.Kubeadm{}.Facts().OldestTested,
		},
	}
	for _, d := range domains {
		s.Domains = append(s.Domains, Domain{Name: string(d), State: failuredomain.Active, ControlPlane: true, Listed: true, Healthy: true})
	}
	for i, d := range layout {
		s.Machines = append(s.Machines, Machine{
			Name: fmt.Sprintf("m%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), Created: testNow.Add(time.Duration(i-100) * time.Hour), Requested: string(d),
			Observed: string(d), Ready: true, HasNode: true, Infrastructure: true, ClonedFrom: "template",
		})
	}
	return s
}

func reasons(d Decision) []string {
	var all []string
	for _, r := range d.Against {
		all = append(all, r.Reason)
	}
	return all
}

func TestFirstMove(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := Decide(snapshotOf("aab", "abc"))
	g.Expect(d.Against).To(BeEmpty())
	g.Expect(d.Action).To(Equal(Record))
	g.Expect(*d.Move).To(Equal(Move{Machine: "m0", UID: "uid-0", From: "a", To: "c", Started: metav1.NewTime(testNow), ClonedFrom: "template", Others: []string{"m1", "m2"}}))
}

// against is a changed snapshot with the expected reason.
type against struct {
	change          func(*Snapshot)
	reason, message string
}

// ofControlPlanes lists reasons that come from a control plane and its Cluster.
func ofControlPlanes() map[string]against {
	return map[string]against{
		"Cluster being deleted": {func(s *Snapshot) { s.Cluster.Deleting = true }, faultlinev1.ReasonClusterDeleting, "Cluster one"},
		"Cluster paused":        {func(s *Snapshot) { s.Cluster.Paused = true }, faultlinev1.ReasonClusterPaused, "remove spec.paused"},
		"no control plane":      {func(s *Snapshot) { s.ControlPlane = machines.ControlPlane{} }, faultlinev1.ReasonControlPlaneNotSupported, "set spec.controlPlaneRef"},
		"another kind of control plane": {func(s *Snapshot) {
			s.ControlPlane = machines.ControlPlane{Name: "K3sControlPlane x", Unable: "is not a KubeadmControlPlane"}
		}, faultlinev1.ReasonControlPlaneNotSupported, "K3sControlPlane x is not a KubeadmControlPlane"},
		"control plane being deleted":  {func(s *Snapshot) { s.ControlPlane.Deleting = true }, faultlinev1.ReasonControlPlaneDeleting, "one-cp is being deleted"},
		"control plane paused":         {func(s *Snapshot) { s.ControlPlane.Paused = true }, faultlinev1.ReasonControlPlanePaused, "remove its annotation cluster.x-k8s.io/paused"},
		"even replicas":                {func(s *Snapshot) { *s = snapshotOf("aaab", "abc") }, faultlinev1.ReasonEvenReplicas, "set an odd number"},
		"maxSurge 0":                   {func(s *Snapshot) { s.ControlPlane.MaxSurge = 0 }, faultlinev1.ReasonNoSurge, "set it to 1"},
		"a spec not yet observed":      {func(s *Snapshot) { s.ControlPlane.Observed = false }, faultlinev1.ReasonControlPlaneNotObserved, "wait"},
		"a rollout":                    {func(s *Snapshot) { s.ControlPlane.RollingOut = true }, faultlinev1.ReasonControlPlaneRollingOut, "RollingOut"},
		"machines not known to be up":  {func(s *Snapshot) { s.ControlPlane.UpToDate = false }, faultlinev1.ReasonControlPlaneRollingOut, "MachinesUpToDate"},
		"a machine out of date":        {func(s *Snapshot) { s.Machines[1].Outdated = true }, faultlinev1.ReasonControlPlaneRollingOut, "Machine m1"},
		"an upgrade not passed on yet": {func(s *Snapshot) { s.Cluster.Upgrade = "v1.37.0" }, faultlinev1.ReasonControlPlaneRollingOut, "until it is upgraded to v1.37.0"},
		"a replacement not joined yet": {func(s *Snapshot) {
			remediated(s)
			s.Machines[2].HasNode = false
		}, faultlinev1.ReasonControlPlaneRemediating, "wait until remediation is complete"},
		"scaling": {func(s *Snapshot) { s.ControlPlane.Replicas = 5 }, faultlinev1.ReasonControlPlaneScaling, "3 machines of 5 replicas"},
	}
}

// ofMachines lists reasons that come from a machine.
func ofMachines() map[string]against {
	return map[string]against{
		"a machine being deleted":    {func(s *Snapshot) { s.Machines[2].Deleting = true }, faultlinev1.ReasonMachineDeleting, "Machine m2"},
		"a failing health check":     {func(s *Snapshot) { s.Machines[2].Unhealthy = true }, faultlinev1.ReasonControlPlaneRemediating, "Machine m2"},
		"remediation":                {func(s *Snapshot) { s.ControlPlane.Remediating = true }, faultlinev1.ReasonControlPlaneRemediating, "one-cp"},
		"a machine without a Node":   {func(s *Snapshot) { s.Machines[1].HasNode = false }, faultlinev1.ReasonMachineNotReady, "Machine m1 has no Node"},
		"a machine not Ready":        {func(s *Snapshot) { s.Machines[1].Ready = false }, faultlinev1.ReasonMachineNotReady, "Machine m1 is not Ready"},
		"etcd not healthy":           {func(s *Snapshot) { s.ControlPlane.EtcdHealthy = false }, faultlinev1.ReasonControlPlaneUnhealthy, "EtcdClusterHealthy"},
		"components not healthy":     {func(s *Snapshot) { s.ControlPlane.ComponentsHealthy = false }, faultlinev1.ReasonControlPlaneUnhealthy, "ControlPlaneComponentsHealthy"},
		"a person's own mark":        {func(s *Snapshot) { s.Machines[2].Mark = machines.Users }, faultlinev1.ReasonMachineMarked, "remove it, or scale down"},
		"another provider's machine": {func(s *Snapshot) { s.Machines[1].Infrastructure = false }, faultlinev1.ReasonInfrastructureMachineUnexpected, "Machine m1 has no infrastructure machine of this provider"},
		"a machine not cloned":       {func(s *Snapshot) { s.Machines[0].ClonedFrom = "" }, faultlinev1.ReasonInfrastructureMachineUnexpected, "Machine m0"},
	}
}

// ofDomains lists reasons that come from failure domains.
func ofDomains() map[string]against {
	return map[string]against{
		"an intent for an unknown domain": {func(s *Snapshot) { s.Intents = []faultlinev1.FailureDomainIntent{{Name: "x", State: "Cordoned"}} }, faultlinev1.ReasonFailureDomainIntentInvalid, "x is not a failure domain of this cluster: correct the entry"},
		"contradicting intents": {func(s *Snapshot) {
			s.Intents = []faultlinev1.FailureDomainIntent{{Name: "a", State: "Cordoned"}, {Name: "a", State: "Active"}}
		}, faultlinev1.ReasonFailureDomainIntentInvalid, "a has both states Cordoned and Active"},
		"domains that changed just now":    {func(s *Snapshot) { s.Since = testNow.Add(-time.Minute) }, faultlinev1.ReasonStabilizing, "5m0s"},
		"domains never seen":               {func(s *Snapshot) { s.Since = time.Time{} }, faultlinev1.ReasonStabilizing, "5m0s"},
		"domains that Cluster API has not": {func(s *Snapshot) { s.Domains[2].Listed = false }, faultlinev1.ReasonTargetNotAvailable, "in failure domain b, which would not improve the balance"},
		"no domain that Cluster API has": {func(s *Snapshot) {
			for i := range s.Domains {
				s.Domains[i].Listed = false
			}
		}, faultlinev1.ReasonTargetNotAvailable, "Cluster one lists no failure domain"},
		"a target that is not well":       {func(s *Snapshot) { s.Domains[2].Healthy = false }, faultlinev1.ReasonTargetNotAvailable, "c, which is not reported healthy"},
		"a target without a place for it": {func(s *Snapshot) { s.Domains[2].Unsuited = "no host has a GPU" }, faultlinev1.ReasonTargetNotAvailable, "c, which does not suit it: no host has a GPU"},
		"annotations that a policy removed": {func(s *Snapshot) {
			s.Last = &faultlinev1.MachineMove{Reason: faultlinev1.ReasonAnnotationsRemoved, Message: "a policy removes it", Finished: metav1.NewTime(testNow.Add(-time.Minute))}
		}, faultlinev1.ReasonAnnotationsRemoved, "a policy removes it; the move is retried"},
		"another empty domain that is full": {func(s *Snapshot) {
			*s = snapshotOf("aaa", "abc")
			s.Domains[1].Capacity = ptr.To(0)
		}, faultlinev1.ReasonTargetNotAvailable, "b, which has no capacity: add some, or cordon it"},
		"a control plane that did not react": {func(s *Snapshot) {
			s.Last = &faultlinev1.MachineMove{PlannedMove: faultlinev1.PlannedMove{Machine: "m0"}, Reason: faultlinev1.ReasonControlPlaneDoesNotMove, Finished: metav1.NewTime(testNow.Add(-time.Minute))}
		}, faultlinev1.ReasonControlPlaneDoesNotMove, "RolloutAfter"},
		"all domains cordoned": {func(s *Snapshot) {
			for i := range s.Domains {
				s.Domains[i].State = failuredomain.Cordoned
			}
		}, faultlinev1.ReasonNoActiveFailureDomain, "set its state to Active"},
		"all domains evicting": {func(s *Snapshot) {
			for i := range s.Domains {
				s.Domains[i].State = failuredomain.Evicting
			}
		}, faultlinev1.ReasonNoRoom, "no failure domain is Active for 3 machines"},
		"an eviction that cannot end": {func(s *Snapshot) {
			*s = snapshotOf("aab", "ab")
			s.Domains[0].State, s.Domains[1].Capacity = failuredomain.Evicting, ptr.To(0)
		}, faultlinev1.ReasonNoRoom, "add capacity or a failure domain"},
	}
}

// Every row blocks a move that is needed, and its message states how to fix it.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, rows := range []map[string]against{ofControlPlanes(), ofMachines(), ofDomains()} {
		for name, tc := range rows {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				s := snapshotOf("aab", "abc")
				tc.change(&s)
				d := Decide(s)
				g.Expect(d.Action).To(Equal(Nothing))
				g.Expect(d.Balanced).To(BeFalse())
				g.Expect(reasons(d)).To(ContainElement(tc.reason))
				i := slices.Index(reasons(d), tc.reason)
				g.Expect(d.Against[i].Message).To(ContainSubstring(tc.message))
			})
		}
	}
}

func TestAllReasonsAreReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("aab", "abc")
	s.ControlPlane.Paused, s.ControlPlane.MaxSurge, s.Machines[2].Ready = true, 0, false
	g.Expect(reasons(Decide(s))).To(Equal([]string{
		faultlinev1.ReasonControlPlanePaused, faultlinev1.ReasonNoSurge, faultlinev1.ReasonMachineNotReady,
	}))
}

func TestBalancedControlPlane(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"abc|abc", "a|abc", "aab|ab", "ab|abc"} {
		g := NewWithT(t)
		machines, domains, _ := strings.Cut(layout, "|")
		s := snapshotOf(machines, domains)
		s.ControlPlane.Paused = true
		d := Decide(s)
		g.Expect(d.Balanced).To(BeTrue(), layout)
		g.Expect(d.Against).To(BeEmpty(), layout)
		g.Expect(d.Action).To(Equal(Nothing), layout)
	}
}

func TestSingleReplica(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("a", "ab")
	g.Expect(Decide(s).Balanced).To(BeTrue())
	s.Domains[0].State, s.Domains[0].ControlPlane, s.Domains[0].Listed = failuredomain.Evicting, false, false
	g.Expect(Decide(s).Action).To(Equal(Record))
}

func TestActualDomainCounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("abc", "abc")
	s.Machines[2].Observed = "a"
	d := Decide(s)
	g.Expect(d.Plan).To(Equal([]failuredomain.Move{{Machine: "m0", From: "a", To: "c"}}))
	g.Expect(reasons(d)).To(Equal([]string{faultlinev1.ReasonTargetNotAvailable}), "the control plane believes that c has a machine")
}

func TestStabilizationRequeue(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("aab", "abc")
	s.Since = testNow.Add(-time.Minute)
	g.Expect(Decide(s).After).To(Equal(4 * time.Minute))
	s.Since = testNow.Add(-5 * time.Minute)
	g.Expect(Decide(s).Action).To(Equal(Record))
}

// moving returns a snapshot with a move of m0 to which the steps have been applied.
func moving(steps ...func(*Snapshot)) Snapshot {
	s := snapshotOf("aab", "abc")
	s.Move = &Move{Machine: "m0", UID: "uid-0", From: "a", To: "c", Started: metav1.NewTime(testNow), ClonedFrom: "template"}
	for _, step := range steps {
		step(&s)
	}
	return s
}

func marked(s *Snapshot) { s.Machines[0].Mark = machines.Ours }
func overwritten(s *Snapshot) {
	s.Machines[0].Mark = machines.Overwritten
}
func takenOff(s *Snapshot)  { s.Machines[0].Mark = machines.TakenOff }
func cloned(s *Snapshot)    { s.Machines[0].ClonedFrom = "template-rebalance" }
func triggered(s *Snapshot) { s.Machines[0].Triggered, s.Machines[0].Triggers = testNow, 1 }
func noticed(s *Snapshot) {
	s.Machines[0].Outdated, s.ControlPlane.RollingOut, s.ControlPlane.UpToDate = true, true, false
}
func aborting(s *Snapshot) { s.Move.Aborting, s.Move.Why = "ControlPlanePaused", "why" }
func replaced(s *Snapshot) {
	s.Machines = append(s.Machines, Machine{Name: "m9", UID: "uid-9", Created: testNow, Requested: "c"})
}

// remediated sets that the control plane deleted a failed machine before the move began, and has created none since.
func remediated(s *Snapshot) {
	s.ControlPlane.Remediation = machines.Remediation{Noted: true, Machine: "m7", At: testNow.Add(-time.Minute)}
}

// failed sets that it deleted the replacement after the move began.
func failed(s *Snapshot) {
	s.ControlPlane.Remediation = machines.Remediation{Noted: true, Machine: "m9", At: testNow.Add(time.Minute)}
}

func after(d time.Duration) func(*Snapshot) { return func(s *Snapshot) { s.Now = s.Now.Add(d) } }

func TestDecideFromObjects(t *testing.T) {
	t.Parallel()
	gone := func(s *Snapshot) { s.Machines = s.Machines[1:] }
	paused := func(s *Snapshot) { s.ControlPlane.Paused = true }
	deleting := func(s *Snapshot) { s.Machines[0].Deleting = true }
	advise := func(s *Snapshot) { s.Mode = faultlinev1.ControlPlaneRebalanceAdvise }
	clusterPaused := func(s *Snapshot) { s.Cluster.Paused = true }
	for name, tc := range map[string]struct {
		snapshot Snapshot
		action   Action
		after    time.Duration
		aborting string
	}{
		"recorded":               {snapshot: moving(), action: MarkMachine},
		"marked":                 {snapshot: moving(marked), action: MarkInfrastructure},
		"both marked":            {snapshot: moving(marked, cloned), action: Trigger},
		"triggered":              {snapshot: moving(marked, cloned, triggered), after: triggerInterval},
		"triggered for long":     {snapshot: moving(marked, cloned, triggered, after(30*time.Second)), action: Trigger},
		"never noticed":          {snapshot: moving(marked, cloned, triggered, after(reactionTimeout)), action: Record, aborting: faultlinev1.ReasonControlPlaneDoesNotMove},
		"noticed":                {snapshot: moving(marked, cloned, triggered, noticed)},
		"noticed for long":       {snapshot: moving(marked, cloned, triggered, noticed, after(time.Hour))},
		"replaced":               {snapshot: moving(marked, cloned, triggered, noticed, replaced)},
		"replaced, then paused":  {snapshot: moving(marked, cloned, triggered, noticed, replaced, paused)},
		"its replacement failed": {snapshot: moving(marked, cloned, triggered, noticed, failed)},
		"its replacement failed, then the domains changed": {snapshot: moving(marked, cloned, triggered, noticed, failed, func(s *Snapshot) { s.Since = testNow })},
		"another one failed before": {
			snapshot: moving(marked, cloned, triggered, noticed, remediated, paused), action: Record, aborting: faultlinev1.ReasonControlPlanePaused,
		},
		"another one failed before, and the control plane creates": {snapshot: moving(marked, cloned, triggered, noticed, remediated)},
		"being deleted":                 {snapshot: moving(marked, cloned, triggered, noticed, replaced, deleting)},
		"gone":                          {snapshot: moving(gone), action: Close},
		"paused before":                 {snapshot: moving(marked, cloned, paused), action: Record, aborting: faultlinev1.ReasonControlPlanePaused},
		"not wanted any more":           {snapshot: moving(marked, advise), action: Record, aborting: faultlinev1.ReasonNotBalanced},
		"the Cluster paused":            {snapshot: moving(marked, cloned, clusterPaused)},
		"aborting":                      {snapshot: moving(marked, cloned, aborting), action: RestoreInfrastructure, aborting: "ControlPlanePaused"},
		"aborting, restored":            {snapshot: moving(marked, aborting), action: UnmarkMachine, aborting: "ControlPlanePaused"},
		"overwritten by a person":       {snapshot: moving(overwritten, cloned), action: Record, aborting: faultlinev1.ReasonMachineMarked},
		"aborting, overwritten":         {snapshot: moving(overwritten, aborting), action: UnmarkMachine, aborting: "ControlPlanePaused"},
		"marked, and taken off":         {snapshot: moving(takenOff), action: MarkMachine},
		"noticed, and taken off":        {snapshot: moving(takenOff, cloned, noticed), action: MarkMachine},
		"aborting, and taken off":       {snapshot: moving(takenOff, aborting), action: UnmarkMachine, aborting: "ControlPlanePaused"},
		"aborting, all taken off":       {snapshot: moving(aborting), action: Close, aborting: "ControlPlanePaused"},
		"aborting with a replacement":   {snapshot: moving(marked, cloned, aborting, replaced), aborting: "ControlPlanePaused"},
		"aborting, the Cluster deleted": {snapshot: moving(marked, aborting, func(s *Snapshot) { s.Cluster.Deleting = true }), aborting: "ControlPlanePaused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.snapshot)
			g.Expect(d.Action).To(Equal(tc.action))
			g.Expect(d.After).To(Equal(tc.after))
			g.Expect(d.Move.Aborting).To(Equal(tc.aborting))
		})
	}
}

// A control plane with the annotation of a remediation and no machine to create replaces no unhealthy machine.
func TestRemediationLeftOverMessage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		told   bool
	}{
		"all machines there":              {func(*Snapshot) {}, true},
		"one of them fails":               {func(s *Snapshot) { s.Machines[1].Unhealthy = true }, true},
		"the control plane paused":        {func(s *Snapshot) { s.ControlPlane.Paused = true }, true},
		"an annotation that is not valid": {func(s *Snapshot) { s.ControlPlane.Remediation = machines.Remediation{Noted: true} }, true},
		"no annotation":                   {func(s *Snapshot) { s.ControlPlane.Remediation = machines.Remediation{} }, false},
		"a machine too few":               {func(s *Snapshot) { s.ControlPlane.Replicas = 5 }, false},
		"a machine being deleted":         {func(s *Snapshot) { s.Machines[1].Deleting = true }, false},
		"the deletion not in cache yet":   {func(s *Snapshot) { s.ControlPlane.Remediation.Machine = "m1" }, false},
		"a replacement that is to join":   {func(s *Snapshot) { s.Machines[1].HasNode = false }, false},
		"a rollout, which creates one":    {func(s *Snapshot) { s.Machines[1].Outdated = true }, false},
		"a control plane of another kind": {func(s *Snapshot) { s.ControlPlane.Kind = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := snapshotOf("abc", "abc")
			remediated(&s)
			tc.change(&s)
			told := BeEmpty()
			if tc.told {
				told = ContainSubstring("remove the annotation")
			}
			g.Expect(Decide(s).LeftOver).To(told)
		})
	}
}

func TestMoveDespiteRemediationLeftOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("aab", "abc")
	remediated(&s)
	d := Decide(s)
	g.Expect(d.Action).To(Equal(Record))
	g.Expect(d.LeftOver).To(ContainSubstring("of Machine m7, which does not exist any more"))
}

func TestMoveMessage(t *testing.T) {
	t.Parallel()
	with := func(change func(*Machine)) func(*Snapshot) {
		return func(s *Snapshot) {
			replaced(s)
			change(&s.Machines[3])
		}
	}
	for name, tc := range map[string]struct {
		step func(*Snapshot)
		says string
	}{
		"there is none":   {func(*Snapshot) {}, "waiting for KubeadmControlPlane one-cp to create its replacement"},
		"it does not run": {with(func(m *Machine) { m.Waits = "no host is free" }), "waiting for its replacement, Machine m9, to join: no host is free"},
		"it has joined":   {with(func(m *Machine) { m.Ready, m.HasNode = true, true }), "Machine m9, has joined"},
		"it fails":        {with(func(m *Machine) { m.Unhealthy = true }), "Machine m9, fails a health check"},
		"it goes":         {with(func(m *Machine) { m.Deleting = true }), "Machine m9, is being deleted"},
		"it failed":       {failed, "Machine m9, failed and was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := moving(marked, cloned, triggered, noticed, tc.step)
			s.Move.Others = []string{"m1", "m2"}
			status := moveStatus(&observed{Snapshot: s}, s.Move)
			g.Expect(status.Phase).To(Equal(faultlinev1.MoveReplacing))
			g.Expect(status.Message).To(ContainSubstring(tc.says))
		})
	}
}

// The outcome of a move is reported as it happened.
func TestAbortedMoveMessage(t *testing.T) {
	t.Parallel()
	gone := func(s *Snapshot) { s.Machines = s.Machines[1:] }
	remediatedItself := func(s *Snapshot) {
		s.ControlPlane.Remediation = machines.Remediation{Noted: true, Machine: "m0", At: testNow}
	}
	for name, tc := range map[string]struct {
		snapshot Snapshot
		phase    faultlinev1.MovePhase
		reason   string
		message  string
	}{
		"replaced":                           {moving(replaced, gone), faultlinev1.MoveCompleted, "", ""},
		"replaced, as it failed":             {moving(replaced, gone, remediatedItself), faultlinev1.MoveCompleted, "", "because it failed a health check"},
		"deleted before a replacement":       {moving(gone), faultlinev1.MoveAborted, faultlinev1.ReasonMachineDeleting, "before there was a replacement"},
		"taken back":                         {moving(aborting), faultlinev1.MoveAborted, faultlinev1.ReasonControlPlanePaused, "why"},
		"deleted while it was taken back":    {moving(aborting, gone), faultlinev1.MoveAborted, faultlinev1.ReasonControlPlanePaused, "why"},
		"remediated while it was taken back": {moving(aborting, gone, remediatedItself), faultlinev1.MoveAborted, faultlinev1.ReasonControlPlanePaused, "why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc.snapshot.Move.Others = []string{"m1", "m2"}
			d := Decide(tc.snapshot)
			g.Expect(d.Action).To(Equal(Close))
			last := (&observed{Snapshot: tc.snapshot}).outcome(d)
			g.Expect(*last).To(And(HaveField("Phase", tc.phase), HaveField("Reason", tc.reason), HaveField("Message", ContainSubstring(tc.message))))
		})
	}
}

func TestOrphanedMarkIsRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("abc", "abc")
	marked(&s)
	cloned(&s)
	d := Decide(s)
	g.Expect(d.Action).To(Equal(RestoreInfrastructure))
	g.Expect(d.Move.ClonedFrom).To(Equal("template"))
	s.Machines[0].ClonedFrom = "template"
	g.Expect(Decide(s).Action).To(Equal(UnmarkMachine))
	s.Machines[0].Mark = machines.Users
	g.Expect(Decide(s).Action).To(Equal(Nothing), "it is a person's")
}

func TestOtherModes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := snapshotOf("aab", "abc")
	s.Mode = faultlinev1.ControlPlaneRebalanceAdvise
	d := Decide(s)
	g.Expect(d.Action).To(Equal(Nothing))
	g.Expect(d.Plan).To(HaveLen(1))
	unstable := s
	unstable.Since = testNow.Add(-time.Minute)
	g.Expect(reasons(Decide(unstable))).To(BeEmpty(), "it does not announce when machines are moved, because none is")
	s.Mode = faultlinev1.ControlPlaneRebalanceRolloutAfter
	g.Expect(Decide(s).Action).To(Equal(RollOut))
	s.ControlPlane.RolloutAfter = testNow.Add(-2 * time.Hour)
	g.Expect(Decide(s).Action).To(Equal(RollOut), "it was for other domains")
	s.ControlPlane.RolloutAfter = testNow.Add(-time.Minute)
	g.Expect(reasons(Decide(s))).To(Equal([]string{faultlinev1.ReasonRolledOut}))
	s.ControlPlane.RolloutAfter = testNow.Add(time.Minute)
	g.Expect(Decide(s).After).To(Equal(time.Minute), "it is planned")
}

func TestUnresponsiveControlPlaneIsRetried(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Snapshot)
		after  time.Duration
	}{
		"nothing has happened since":       {func(*Snapshot) {}, 40 * time.Minute},
		"it reported something before":     {func(s *Snapshot) { s.ControlPlane.Changed = testNow.Add(-time.Hour) }, 40 * time.Minute},
		"it has reported something since":  {func(s *Snapshot) { s.ControlPlane.Changed = testNow.Add(-time.Second) }, 0},
		"the failure domains have changed": {func(s *Snapshot) { s.Since, s.Stabilization = testNow.Add(-10*time.Minute), 5*time.Minute }, 0},
		"an hour is over":                  {func(s *Snapshot) { s.Last.Finished = metav1.NewTime(testNow.Add(-time.Hour)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := snapshotOf("aab", "abc")
			s.Last = &faultlinev1.MachineMove{
				PlannedMove: faultlinev1.PlannedMove{Machine: "m0"}, Reason: faultlinev1.ReasonControlPlaneDoesNotMove, Finished: metav1.NewTime(testNow.Add(-20 * time.Minute)),
			}
			tc.change(&s)
			d := Decide(s)
			if tc.after == 0 {
				g.Expect(d.Action).To(Equal(Record))
				return
			}
			g.Expect(reasons(d)).To(Equal([]string{faultlinev1.ReasonControlPlaneDoesNotMove}))
			g.Expect(d.After).To(Equal(tc.after))
		})
	}
}

func TestMoveRecordRoundTrip(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := moving().Move.encode()
	g.Expect(err).NotTo(HaveOccurred())
	read, err := decode(text)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Started.Equal(ptr.To(metav1.NewTime(testNow)))).To(BeTrue())
	read.Started = metav1.NewTime(testNow)
	g.Expect(read).To(Equal(moving().Move))
	for _, damaged := range []string{"{", "{}", `{"machine":"m"}`} {
		_, err = decode(damaged)
		g.Expect(err).To(HaveOccurred(), damaged)
	}
}

// BenchmarkDecide decides for a thousand clusters of five machines.
func BenchmarkDecide(b *testing.B) {
	s := snapshotOf("aabbc", "abcde")
	for b.Loop() {
		Decide(s)
	}
}

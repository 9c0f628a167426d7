// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package chaos

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/workload"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// historyBuilder builds a history with a minute between consecutive moments.
type historyBuilder struct{ history history }

// begin returns a life with machines m0, m1, ... in the domains that the letters name.
func begin(machines string, domains ...string) *historyBuilder {
	m := moment{
		at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), what: "begin", replicas: len(machines), states: map[string]faultlinev1.DomainState{},
		balanced: metav1.Condition{Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonBalanced},
	}
	for _, name := range domains {
		m.states[name] = faultlinev1.DomainActive
	}
	l := &historyBuilder{history: history{m}}
	for i, domain := range machines {
		l.join(i, string(domain), &l.history[0])
	}
	return l
}

func called(i int) string { return "m" + string(rune('0'+i)) }

func (*historyBuilder) join(i int, domain string, m *moment) {
	m.machines = append(m.machines, machine{name: called(i), domain: domain, ready: true})
	m.members = append(m.members, workload.Member{Machine: called(i), Healthy: true})
}

// then adds a moment.
func (l *historyBuilder) then(change func(*moment)) *historyBuilder {
	m := l.history[len(l.history)-1]
	m.at = m.at.Add(time.Minute)
	m.machines, m.members = append([]machine(nil), m.machines...), append([]workload.Member(nil), m.members...)
	change(&m)
	l.history = append(l.history, m)
	return l
}

// each adds a moment in which a machine has changed.
func (l *historyBuilder) each(i int, change func(*machine)) *historyBuilder {
	return l.then(func(m *moment) {
		for j := range m.machines {
			if m.machines[j].name == called(i) {
				change(&m.machines[j])
			}
		}
	})
}

func (l *historyBuilder) record(i int) *historyBuilder {
	return l.then(func(m *moment) { m.move = &move{Machine: called(i)} })
}

func (l *historyBuilder) abort() *historyBuilder {
	return l.then(func(m *moment) { m.move = &move{Machine: m.move.Machine, Aborting: "because"} })
}

func (l *historyBuilder) close() *historyBuilder { return l.then(func(m *moment) { m.move = nil }) }
func (l *historyBuilder) mark(i int) *historyBuilder {
	return l.each(i, func(is *machine) { is.marked = true })
}
func (l *historyBuilder) unmark(i int) *historyBuilder {
	return l.each(i, func(is *machine) { is.marked = false })
}
func (l *historyBuilder) outdate(i int) *historyBuilder {
	return l.each(i, func(is *machine) { is.outdated = true })
}
func (l *historyBuilder) leave(i int) *historyBuilder {
	return l.each(i, func(is *machine) { is.deleting = true })
}
func (l *historyBuilder) calm() *historyBuilder {
	return l.then(func(m *moment) { m.faultsOver = true })
}
func (l *historyBuilder) room(n int) *historyBuilder {
	return l.then(func(m *moment) { m.capacity = n })
}
func (l *historyBuilder) replicas(n int) *historyBuilder {
	return l.then(func(m *moment) { m.replicas = n })
}
func (l *historyBuilder) rollOut() *historyBuilder {
	return l.then(func(m *moment) { m.rollout = m.at })
}

func (l *historyBuilder) ask() *historyBuilder {
	return l.then(func(m *moment) { m.rollout, m.asked = m.at, m.at })
}

// strip adds a moment at which a policy begins to remove annotations for a number of minutes.
func (l *historyBuilder) strip(minutes int) *historyBuilder {
	return l.then(func(m *moment) { m.strippedUntil = m.at.Add(time.Duration(minutes) * time.Minute) })
}

func (l *historyBuilder) remediate(is bool) *historyBuilder {
	return l.then(func(m *moment) { m.remediation.Noted = is })
}
func (l *historyBuilder) pause(paused bool) *historyBuilder {
	return l.then(func(m *moment) { m.paused = paused })
}

func (l *historyBuilder) holdBack(heldBack bool) *historyBuilder {
	return l.then(func(m *moment) { m.heldBack = heldBack })
}

func (l *historyBuilder) surge(i int, domain string) *historyBuilder {
	return l.then(func(m *moment) { l.join(i, domain, m) })
}

func (l *historyBuilder) gone(i int) *historyBuilder {
	return l.then(func(m *moment) {
		for j := range m.machines {
			if m.machines[j].name == called(i) {
				m.machines = append(m.machines[:j], m.machines[j+1:]...)
				m.members = append(m.members[:j], m.members[j+1:]...)
				return
			}
		}
	})
}

func (l *historyBuilder) etcd(i int, healthy bool) *historyBuilder {
	return l.then(func(m *moment) { m.members[i].Healthy = healthy })
}

func (l *historyBuilder) state(domain string, state faultlinev1.DomainState) *historyBuilder {
	return l.then(func(m *moment) {
		states := map[string]faultlinev1.DomainState{}
		for name, is := range m.states {
			states[name] = is
		}
		states[domain] = state
		m.states = states
	})
}

func (l *historyBuilder) balanced(status metav1.ConditionStatus, reason string) *historyBuilder {
	return l.then(func(m *moment) { m.balanced = metav1.Condition{Status: status, Reason: reason} })
}

// move adds a complete move.
func (l *historyBuilder) move(i, by int, to string) *historyBuilder {
	return l.record(i).mark(i).outdate(i).surge(by, to).leave(i).gone(i).close()
}

func TestCheckHistoryAcceptsValidHistories(t *testing.T) {
	for scenario, sound := range map[string]*historyBuilder{
		"nothing happens":                        begin("abc", "a", "b", "c"),
		"a move, the new one first":              begin("aab", "a", "b", "c").calm().move(0, 3, "c"),
		"a move that is taken back":              begin("abc", "a", "b", "c").record(0).mark(0).abort().unmark(0).close(),
		"a move in which the machine is deleted": begin("aab", "a", "b", "c").record(0).mark(0).each(0, func(is *machine) { is.deletedByPerson, is.deleting = true, true }).gone(0).close().surge(3, "c"),
		"a surplus machine that is marked goes":  begin("aabbc", "a", "b", "c").record(0).mark(0).replicas(3).leave(0).gone(0).close().leave(2).gone(2),
		"the machine of a move fails":            begin("aab", "a", "b", "c").record(0).mark(0).each(0, func(is *machine) { is.failing = true }).leave(0).remediate(true).gone(0).close().surge(3, "c").remediate(false),
		"a machine that a person wants deleted":  begin("abc", "a", "b", "c").each(0, func(is *machine) { is.claimed = true }).each(0, func(is *machine) { is.claimed, is.releasedByPerson = false, true }),
		"a rollout":                              begin("aab", "a", "b", "c").rollOut().surge(3, "c").leave(0).gone(0).surge(4, "a").leave(1).gone(1).surge(5, "b").leave(2).gone(2),
		"a rollout for other failure domains": begin("abc", "a", "b", "c").state("a", faultlinev1.DomainEvicting).rollOut().surge(3, "b").leave(0).gone(0).
			state("a", faultlinev1.DomainActive).rollOut().surge(4, "a").leave(3).gone(3),
		"a rollout after a person's":       begin("aab", "a", "b", "c").ask().surge(3, "c").leave(0).gone(0).rollOut(),
		"all replaced once, and no better": begin("aaab", "a", "b", "c").rollOut().balanced(metav1.ConditionFalse, faultlinev1.ReasonRolledOut),
		"no capacity":                      begin("aab", "a", "b").state("b", faultlinev1.DomainEvicting).balanced(metav1.ConditionFalse, faultlinev1.ReasonNoRoom).room(2),
		"an upgrade waits for capacity": begin("aac", "a", "c").room(2).balanced(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneRollingOut).
			surge(3, "a").each(3, func(is *machine) { is.ready = false }),
		"a machine waits for capacity": begin("aaab", "a", "b").state("b", faultlinev1.DomainEvicting).balanced(metav1.ConditionFalse, faultlinev1.ReasonNoRoom).room(3).
			replicas(5).surge(4, "a").each(4, func(is *machine) { is.ready = false }),
		"cordoned domains keep their machines": begin("aaab", "a", "b", "c").replicas(4).state("a", faultlinev1.DomainCordoned),
		"healthy members fail the moment a machine goes": func() *historyBuilder {
			l := begin("aab", "a", "b", "c").record(0).mark(0).outdate(0).surge(3, "c")
			l.etcd(1, false).etcd(2, false)
			for j := len(l.history) - 2; j < len(l.history); j++ {
				l.history[j].at = l.history[j-1].at.Add(time.Second)
			}
			l.leave(0)
			l.history[len(l.history)-1].at = l.history[len(l.history)-2].at.Add(time.Second)
			return l.gone(0).close()
		}(),
		"a policy removes the record, and the mark is taken off when it is gone": begin("abc", "a", "b", "c").strip(4).record(0).mark(0).close().unmark(0),
	} {
		t.Run(scenario, func(t *testing.T) { NewWithT(t).Expect(checkHistory(sound.history)).To(BeEmpty()) })
	}
}

// Each history has a violation that checkHistory must report.
func TestCheckHistoryReportsFaults(t *testing.T) {
	for scenario, test := range map[string]struct {
		life *historyBuilder
		want []string
	}{
		"two victims": {begin("aabb", "a", "b").record(0).mark(0).mark(1).unmark(1).unmark(0).close(),
			[]string{"Machine m1 is marked but is not recorded as moving"}},
		"a mark without a record": {begin("abc", "a", "b", "c").mark(0).unmark(0), []string{"Machine m0 is marked but is not recorded as moving"}},
		"a mark that stays when a policy is gone that removes records": {begin("abc", "a", "b", "c").strip(3).record(0).mark(0).close().pause(true).unmark(0).pause(false),
			[]string{"Machine m0 is marked but is not recorded as moving"}},
		"a record that goes before its marks": {begin("abc", "a", "b", "c").record(0).outdate(0).close().each(0, func(is *machine) { is.outdated = false }),
			[]string{"Machine m0 is marked but is not recorded as moving"}},
		"a second victim after a restart": {begin("aabb", "a", "b").record(0).record(1).close(),
			[]string{"a move of Machine m1 begins before that of m0 has ended"}},
		"deleted before there is another": {begin("aab", "a", "b", "c").record(0).mark(0).leave(0).gone(0).close().surge(3, "c"),
			[]string{"Machine m0 is deleted for a move before its replacement exists"}},
		"deleted while etcd needs it": {begin("aab", "a", "b", "c").record(0).mark(0).outdate(0).surge(3, "c").etcd(1, false).etcd(2, false).leave(0).gone(0).close(),
			[]string{"Machine m0 is deleted for a move although etcd would lose its quorum"}},
		"begun while paused": {begin("aab", "a", "b", "c").pause(true).record(0).pause(false).close().surge(3, "c").leave(0).gone(0),
			[]string{"a move of Machine m0 begins while the control plane is paused, held back or lacks machines"}},
		"begun while a machine goes": {begin("aab", "a", "b", "c").leave(1).record(0).gone(1).close().surge(3, "c"),
			[]string{"a move of Machine m0 begins while the control plane is paused, held back or lacks machines"}},
		"a rollout while a machine goes": {begin("aab", "a", "b", "c").leave(1).rollOut().gone(1).surge(3, "c"),
			[]string{"a rollout begins while the control plane is paused, held back or lacks machines"}},
		"a rollout without an end": {begin("aab", "a", "b", "c").rollOut().surge(3, "c").leave(0).gone(0).rollOut(),
			[]string{"a second rollout begins although the failure domains have not changed since the first one"}},
		"all replaced once, without a request": {begin("aaab", "a", "b", "c").balanced(metav1.ConditionFalse, faultlinev1.ReasonRolledOut),
			[]string{"one failure domain has 3 machines and another 0"}},
		"a user's mark is taken over": {begin("abc", "a", "b", "c").each(0, func(is *machine) { is.claimed = true }).record(0).
			each(0, func(is *machine) { is.claimed, is.marked = false, true }).unmark(0).close(),
			[]string{"Machine m0 has lost the mark that another controller set"}},
		"moves without an end": {begin("aab", "a", "b", "c").calm().move(0, 3, "c").move(1, 4, "a").move(2, 5, "b"),
			[]string{"3 moves begin and 0 of them are aborted, but 1 suffice"}},
		"taken back again and again": {begin("abc", "a", "b", "c").calm().record(0).abort().close().record(0).abort().close().record(0).abort().close(),
			[]string{"3 moves are aborted although nothing changes any more"}},
		"marks that are left": {begin("abc", "a", "b", "c").record(0).mark(0).close(),
			[]string{"Machine m0 is marked but is not recorded as moving", "Machine m0 is still marked"}},
		"a move that is left":       {begin("abc", "a", "b", "c").record(0), []string{"a move is still in progress"}},
		"a status that is left":     {begin("abc", "a", "b", "c").then(func(m *moment) { m.shown = true }), []string{"a move is still in progress"}},
		"a surplus machine is left": {begin("abc", "a", "b", "c").surge(3, "a"), []string{"the control plane does not settle: 4 of 3 machines"}},
		"a machine waits although there is capacity": {begin("abc", "a", "b", "c").room(2).each(0, func(is *machine) { is.ready = false }),
			[]string{"the control plane does not settle: 3 of 3 machines"}},
		"machines that are not spread": {begin("aaab", "a", "b", "c"),
			[]string{"one failure domain has 3 machines and another 0, and ControlPlaneBalanced is True"}},
		"machines that are not spread, for an unrelated reason": {begin("aaab", "a", "b", "c").balanced(metav1.ConditionFalse, faultlinev1.ReasonStabilizing),
			[]string{"one failure domain has 3 machines and another 0, and ControlPlaneBalanced is False Stabilizing"}},
		"no capacity reported although there is some": {begin("aab", "a", "b").state("b", faultlinev1.DomainEvicting).balanced(metav1.ConditionFalse, faultlinev1.ReasonTargetNotAvailable),
			[]string{`Machine m2 is in "b", which must be empty`}},
		"a machine in an evicted domain": {begin("abc", "a", "b", "c").state("a", faultlinev1.DomainEvicting),
			[]string{`Machine m0 is in "a", which must be empty`}},
		"spread, but reported as not spread": {begin("abc", "a", "b", "c").balanced(metav1.ConditionFalse, faultlinev1.ReasonNotBalanced),
			[]string{"the machines are spread, and ControlPlaneBalanced is False NotBalanced"}},
	} {
		t.Run(scenario, func(t *testing.T) {
			matchers := make([]any, 0, len(test.want))
			for _, want := range test.want {
				matchers = append(matchers, ContainSubstring(want))
			}
			NewWithT(t).Expect(checkHistory(test.life.history)).To(ConsistOf(matchers...))
		})
	}
}

func TestCheckHistoryReportsMoveWhileUpgradeIsHeldBack(t *testing.T) {
	l := begin("aab", "a", "b", "c").holdBack(true).record(0).holdBack(false).close().surge(3, "c").leave(0).gone(0)
	NewWithT(t).Expect(checkHistory(l.history)).To(Equal([]string{
		"a move of Machine m0 begins while the control plane is paused, held back or lacks machines",
	}))
}

func TestCheckHistoryReportsUpgradeThatWaitsAlthoughThereIsCapacity(t *testing.T) {
	l := begin("aac", "a", "c").room(3).balanced(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneRollingOut).
		surge(3, "a").each(3, func(is *machine) { is.ready = false })
	NewWithT(t).Expect(checkHistory(l.history)).To(Equal([]string{
		"one failure domain has 3 machines and another 1, and ControlPlaneBalanced is False ControlPlaneRollingOut: ",
		"the control plane does not settle: 4 of 3 machines",
	}))
}

func TestCheckHistoryReportsMissingRemediation(t *testing.T) {
	for scenario, test := range map[string]struct {
		life *historyBuilder
		want string
	}{
		"no condition": {begin("abc", "a", "b", "c").remediate(true), "the control plane no longer replaces unhealthy machines, and no condition reports it"},
		"the remedy is not applied": {
			begin("abc", "a", "b", "c").remediate(true).then(func(m *moment) { m.balanced.Message = "RemediationLeftOver: remove it" }),
			"the control plane no longer replaces unhealthy machines",
		},
		"that fails": {begin("abc", "a", "b", "c").each(0, func(is *machine) { is.failing = true }), "Machine m0 fails and is not replaced"},
	} {
		t.Run(scenario, func(t *testing.T) { NewWithT(t).Expect(checkHistory(test.life.history)).To(Equal([]string{test.want})) })
	}
}

func TestMachineWaitingForClosedFailureDomainIsRefused(t *testing.T) {
	g := NewWithT(t)
	waits := func(l *historyBuilder) moment {
		l.surge(3, "b").each(3, func(is *machine) { is.ready = false })
		return l.history[len(l.history)-1]
	}
	since := map[string]time.Time{}
	var m moment
	for _, state := range []faultlinev1.DomainState{faultlinev1.DomainCordoned, faultlinev1.DomainEvicting} {
		clear(since)
		m = waits(begin("abc", "a", "b", "c").state("b", state))
		g.Expect(m.refused(since, m.at)).To(BeEmpty())
		g.Expect(m.refused(since, m.at.Add(2*refusedLimit))).To(Equal("m3"))
	}
	m = waits(begin("abc", "a", "b", "c"))
	g.Expect(m.refused(since, m.at)).To(BeEmpty())
	g.Expect(since).To(BeEmpty(), "it may come there now")
	g.Expect(m.refused(since, m.at.Add(2*refusedLimit))).To(BeEmpty())
}

// annotatedControlPlane returns a control plane of a kind with four machines that is paused and has noted a remediation.
func annotatedControlPlane(g *WithT, kind controlPlaneKind, remediated time.Time) client.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(4)}}}
	o.SetGroupVersionKind(kind.Facts().Kind.WithVersion(controlplanev1.GroupVersion.Version))
	o.SetAnnotations(map[string]string{
		clusterv1.PausedAnnotation: "", controlplanev1.RemediationInProgressAnnotation: `{"machine":"m0","timestamp":"` + remediated.Format(time.RFC3339) + `"}`,
	})
	if kind.flavor != "" {
		return o
	}
	typed := &controlplanev1.KubeadmControlPlane{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)).To(Succeed())
	return typed
}

// An RKE2ControlPlane keeps the annotation of a remediation when it creates a machine, and ignores it.
func TestControlPlanesOfAllKindsAreObserved(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, kind := range controlPlaneKinds() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m := moment{machines: []machine{{name: "m1", created: at.Add(-time.Minute)}}}
			kind.observe(annotatedControlPlane(g, kind, at), false)(&m)
			g.Expect(m.replicas).To(Equal(4))
			g.Expect(m.paused).To(BeTrue())
			g.Expect(m.remediated()).To(BeTrue())
			m.machines = append(m.machines, machine{name: "m2", created: at.Add(time.Minute)})
			g.Expect(m.remediated()).To(Equal(name == DefaultControlPlane))
		})
	}
}

func TestMachinesAreRecorded(t *testing.T) {
	g, m := NewWithT(t), moment{}
	for _, name := range []string{"b", "a", "c"} {
		observeMachine(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}, false)(&m)
	}
	infra := &unstructured.Unstructured{}
	infra.SetAnnotations(map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "template" + outdatedSuffix})
	infra.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Machine", Name: "b", Controller: new(true)}})
	observeInfrastructureMachine(infra, false)(&m)
	gone := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	observeMachine(gone, true)(&m)
	observeMachine(gone, true)(&m)
	observeMachine(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{clusterv1.DeleteMachineAnnotation: ""}}}, false)(&m)
	g.Expect(m.machines).To(Equal([]machine{{name: "a"}, {name: "b", claimed: true, outdated: true}}))
	observeInfrastructureMachine(infra, true)(&m)
	g.Expect(m.machines[1].touched()).To(BeFalse())
}

// Watches of different kinds overtake each other; revisions do not.
func TestHistoryIsOrderedByRevision(t *testing.T) {
	g := NewWithT(t)
	created := func(name string) func(*moment) {
		return observeMachine(&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}, false)
	}
	r := &recorder{changes: []change{
		{revision: 7, what: "late", apply: created("b")}, {revision: 3, what: "early", apply: created("a")}, {revision: 7, what: "- done", apply: func(*moment) {}},
	}}
	h := r.history()
	g.Expect([]string{h[0].what, h[1].what, h[2].what}).To(Equal([]string{"early", "late", "- done"}))
	g.Expect(h[0].machines).To(HaveLen(1))
	g.Expect(h[1].machines).To(HaveLen(2))
}

func TestActsDependOnSeed(t *testing.T) {
	for name, kind := range controlPlaneKinds() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(draw(1, kind)).To(Equal(draw(1, kind)))
			g.Expect(draw(1, kind)).NotTo(Equal(draw(2, kind)))
			drawn, replicas, domains, modes := map[string]bool{}, map[int]bool{}, map[int]bool{}, map[faultlinev1.ControlPlaneRebalance]bool{}
			for seed := range uint64(1000) {
				s := draw(seed, kind)
				replicas[s.replicas], domains[s.domains], modes[s.mode] = true, true, true
				g.Expect(len(s.steps)).To(And(BeNumerically(">=", fewestSteps), BeNumerically("<=", mostSteps)))
				g.Expect(s.capacity * s.domains).To(BeNumerically(">", s.replicas))
				for _, step := range s.steps {
					drawn[step.act] = true
				}
			}
			for _, a := range acts() {
				g.Expect(drawn[a.name]).To(Equal(a.name != rollOut || kind.rollsOut()), "%s is drawn if it is possible", a.name)
			}
			g.Expect(replicas).To(Equal(map[int]bool{3: true, 5: true}))
			g.Expect(domains).To(Equal(map[int]bool{2: true, 3: true, 4: true}))
			g.Expect(modes[faultlinev1.ControlPlaneRebalanceRolloutAfter]).To(Equal(kind.rollsOut()))
			g.Expect(modes[faultlinev1.ControlPlaneRebalanceSurgeOne]).To(BeTrue())
		})
	}
}

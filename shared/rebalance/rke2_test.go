// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/watch"
)

// rke2 is a Cluster with an RKE2ControlPlane. It simulates the controller as far as moves depend on it. Some fields make it disobey.
type rke2 struct {
	*fixture
	version string // of the API
	created int
	// unresponsive never compares infrastructure machines with the template.
	unresponsive bool
	// deletes names a machine that it deletes first, whatever is marked.
	deletes string
	// misplaces is the failure domain of the first machine that it creates, whatever is best.
	misplaces string
}

// newRKE2 is like newFixture for an RKE2ControlPlane.
func newRKE2(t *testing.T, version, layout, domains string, changes ...func(*unstructured.Unstructured)) *rke2 {
	t.Helper()
	p := &rke2{fixture: newFixture(t, layout, domains), version: version}
	template := clusterv1.ContractVersionedObjectReference{APIGroup: providertest.GroupVersion.Group, Kind: "MachineTemplate", Name: "template"}
	o := providertest.RKE2ControlPlane(p.meta("one"), version, len(layout), template)
	for _, change := range changes {
		change(o)
	}
	p.create(o)
	owner := p.owner()
	owner.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "one"}
	p.Expect(p.client.Update(t.Context(), owner)).To(Succeed())
	p.report(nil)
	return p
}

func (p *rke2) object() *unstructured.Unstructured {
	p.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(providertest.RKE2Kind(p.version))
	o.SetNamespace(p.name)
	o.SetName("one")
	p.get(o)
	return o
}

// change changes the RKE2ControlPlane, which then observes it.
func (p *rke2) change(change func(*unstructured.Unstructured)) {
	p.t.Helper()
	o := p.object()
	change(o)
	p.Expect(p.client.Update(p.t.Context(), o)).To(Succeed())
	p.report(nil)
}

func (p *rke2) report(isTrue map[string]bool) {
	p.t.Helper()
	o := p.object()
	providertest.ReportRKE2(o, isTrue)
	p.status(o)
}

// served maps the kind to one of its versions, as an API server that serves no other one; "" stands for none.
type served struct {
	client.Client
	version string
}

func (s served) RESTMapper() meta.RESTMapper { return servedMapper{s.Client.RESTMapper(), s.version} }

type servedMapper struct {
	meta.RESTMapper
	version string
}

func (m servedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.version == "" {
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return m.RESTMapper.RESTMapping(kind, m.version)
}

// look runs one reconcile of a manager that has just started.
func (p *rke2) look() ctrl.Result {
	p.t.Helper()
	result, err := p.reconciler(served{p.client, p.version}).Reconcile(p.t.Context(), p.request())
	p.Expect(err).NotTo(HaveOccurred())
	return result
}

func (p *rke2) all() []clusterv1.Machine {
	p.t.Helper()
	list := &clusterv1.MachineList{}
	p.Expect(p.client.List(p.t.Context(), list, client.InNamespace(p.name))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// step is one reconcile of the control plane: it removes what is being deleted, otherwise creates or deletes one machine.
func (p *rke2) step() {
	p.t.Helper()
	replicas, _, err := unstructured.NestedInt64(p.object().Object, "spec", "replicas")
	p.Expect(err).NotTo(HaveOccurred())
	machines, outdated := p.all(), []string{}
	for i := range machines {
		m := &machines[i]
		if !m.DeletionTimestamp.IsZero() {
			p.isDeleted(m.Name)
			return
		}
		switch old := !p.unresponsive && p.clonedFrom(m.Name) != "template"; {
		case old:
			outdated = append(outdated, m.Name)
			p.setMachine(m.Name, clusterv1.MachineUpToDateCondition, metav1.ConditionFalse, "NotUpToDate")
		case conditions.IsFalse(m, clusterv1.MachineUpToDateCondition):
			p.setMachine(m.Name, clusterv1.MachineUpToDateCondition, metav1.ConditionTrue, "UpToDate")
		}
	}
	switch {
	case p.deletes != "" && len(machines) > int(replicas):
		p.delete(p.deletes)
		p.deletes = ""
	case len(outdated) > 0 && len(machines) <= int(replicas) || len(machines) < int(replicas):
		p.created++
		p.machine(fmt.Sprintf("n%d", p.created), p.fewest(machines, outdated))
	case len(machines) > int(replicas):
		p.delete(p.scaledDown(machines, outdated))
	}
	p.report(map[string]bool{clusterv1.MachinesUpToDateCondition: len(outdated) == 0, clusterv1.RollingOutCondition: len(outdated) > 0})
}

// fewest returns the failure domain with the fewest machines that are up to date, of these one with the fewest machines. Machines go only
// to failure domains that receive control planes.
func (p *rke2) fewest(machines []clusterv1.Machine, outdated []string) string {
	if first := p.misplaces; first != "" {
		p.misplaces = ""
		return first
	}
	recent := where(machines, func(m *clusterv1.Machine) bool { return !slices.Contains(outdated, m.Name) })
	return slices.MinFunc(p.receiving(), byNumber(recent, machines))
}

// scaledDown returns the machine to delete. The candidates are those with the annotation that are not up to date, or else all with the
// annotation, all that are not up to date, all that are not ready, or all. Of these it deletes the oldest in a failure domain that receives
// no control planes, or else the oldest in that with the most candidates.
func (p *rke2) scaledDown(machines []clusterv1.Machine, outdated []string) string {
	asked := func(m *clusterv1.Machine) bool {
		return metav1.HasAnnotation(m.ObjectMeta, clusterv1.DeleteMachineAnnotation)
	}
	old := func(m *clusterv1.Machine) bool { return slices.Contains(outdated, m.Name) }
	candidates := machines
	for _, is := range []func(*clusterv1.Machine) bool{
		func(m *clusterv1.Machine) bool { return asked(m) && old(m) }, asked, old,
		func(m *clusterv1.Machine) bool { return !conditions.IsTrue(m, clusterv1.MachineReadyCondition) },
	} {
		if some := where(machines, is); len(some) > 0 {
			candidates = some
			break
		}
	}
	receiving := p.receiving()
	from := where(candidates, func(m *clusterv1.Machine) bool { return !slices.Contains(receiving, m.Spec.FailureDomain) })
	if len(from) == 0 {
		most := slices.MaxFunc(receiving, byNumber(candidates, machines))
		from = where(candidates, func(m *clusterv1.Machine) bool { return m.Spec.FailureDomain == most })
	}
	return slices.MinFunc(from, func(a, b clusterv1.Machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}).Name
}

// receiving lists the failure domains that receive control planes.
func (p *rke2) receiving() []string {
	var names []string
	for _, domain := range p.owner().Status.FailureDomains {
		if ptr.Deref(domain.ControlPlane, false) {
			names = append(names, domain.Name)
		}
	}
	return names
}

func where(machines []clusterv1.Machine, is func(*clusterv1.Machine) bool) []clusterv1.Machine {
	return slices.DeleteFunc(slices.Clone(machines), func(m clusterv1.Machine) bool { return !is(&m) })
}

// byNumber compares failure domains by their numbers of certain machines, then of all machines.
func byNumber(certain, all []clusterv1.Machine) func(a, b string) int {
	in := func(domain string, machines []clusterv1.Machine) int {
		return len(where(machines, func(m *clusterv1.Machine) bool { return m.Spec.FailureDomain == domain }))
	}
	return func(a, b string) int { return cmp.Or(in(a, certain)-in(b, certain), in(a, all)-in(b, all)) }
}

// settles lets manager and control plane work in turn until the condition is True, and checks that one machine moves at a time,
// after a new one was created.
func (p *rke2) settles(replicas int) {
	p.t.Helper()
	for range 60 {
		p.look()
		p.Expect(len(p.marked())).To(BeNumerically("<=", 1))
		if conditions.IsTrue(p.infra(), faultlinev1.ControlPlaneBalancedCondition) {
			p.Expect(p.marked()).To(BeEmpty())
			p.Expect(p.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation))
			return
		}
		p.step()
		p.Expect(len(p.all())).To(BeNumerically(">=", replicas), "a new machine is created first")
	}
	p.Expect(conditions.GetMessage(p.infra(), faultlinev1.ControlPlaneBalancedCondition)).To(BeEmpty(), "it does not settle")
}

// layout returns the failure domains of all machines in alphabetical order.
func (p *rke2) layout() string {
	p.t.Helper()
	var domains []string
	for _, machine := range p.all() {
		domains = append(domains, machine.Spec.FailureDomain)
	}
	slices.Sort(domains)
	return strings.Join(domains, "")
}

func TestAnRKE2ControlPlaneIsMovedOneMachineAtATime(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1beta1", "v1beta2"} {
		for layout, want := range map[string]struct {
			layout string
			moves  int
		}{"aab": {"abc", 1}, "aaa": {"abc", 2}, "aaaaa": {"aabbc", 3}, "abc": {"abc", 0}} {
			t.Run(version+" "+layout, func(t *testing.T) {
				t.Parallel()
				p := newRKE2(t, version, layout, "abc")
				p.settles(len(layout))
				p.Expect(p.layout()).To(Equal(want.layout))
				p.Expect(p.created).To(Equal(want.moves))
				if want.moves > 0 {
					p.Expect(p.known().LastMove).To(HaveValue(HaveField("Phase", faultlinev1.MoveCompleted)))
				}
			})
		}
	}
}

func TestAnRKE2ControlPlaneWithOneMachineLeavesItsFailureDomain(t *testing.T) {
	t.Parallel()
	p := newRKE2(t, "v1beta2", "a", "abc")
	p.settles(1)
	p.Expect(p.created).To(BeZero(), "a single machine moves only out of a failure domain that must be emptied")
	p.domains("bc", time.Hour)
	p.settles(1)
	p.Expect(p.layout()).To(Equal("b"))
	p.Expect(p.created).To(Equal(1))
}

func TestAnRKE2ControlPlaneThatDoesNotReact(t *testing.T) {
	t.Parallel()
	p := newRKE2(t, "v1beta2", "aab", "abc")
	p.unresponsive = true
	p.look()
	p.Expect(p.marked()).To(Equal([]string{"m0"}))
	p.step()
	p.clock.SetTime(p.clock.Now().Add(3 * time.Minute))
	result := p.look()
	p.Expect(p.marked()).To(BeEmpty())
	p.Expect(p.created).To(BeZero())
	p.Expect(p.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneDoesNotMove)).To(And(
		ContainSubstring("RKE2ControlPlane one did not replace Machine m0"), ContainSubstring("rebalance to Advise"), Not(ContainSubstring("RolloutAfter"))))
	p.Expect(result.RequeueAfter).To(BeNumerically(">", 50*time.Minute))
}

func TestAnRKE2ControlPlaneOfAnUntestedVersionIsAdvised(t *testing.T) {
	t.Parallel()
	const controlPlane = "ControlPlaneProvider"
	for name, tc := range map[string]struct {
		installed [][3]string
		declared  string
		refused   string
	}{
		"a tested one":                {installed: [][3]string{{"rke2", controlPlane, "v0.25.1"}}},
		"an older one":                {installed: [][3]string{{"rke2", controlPlane, "v0.24.4"}}, refused: "the rke2 control-plane provider has version v0.24.4, and moves are only tested with v0.25.0 and its later patch releases"},
		"a newer one":                 {installed: [][3]string{{"rke2", controlPlane, "v0.26.0"}}, refused: "has version v0.26.0"},
		"another provider":            {installed: [][3]string{{"kubeadm", controlPlane, "v1.14.2"}, {"rke2", "BootstrapProvider", "v0.25.0"}}, refused: "is unknown"},
		"none":                        {refused: "--rke2-control-plane-version"},
		"none, and the flag has one":  {declared: "v0.25.0"},
		"none, and the flag is wrong": {declared: "0.25", refused: "has version 0.25"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRKE2(t, "v1beta2", "aab", "abc")
			p.rke2 = tc.declared
			for _, entry := range tc.installed {
				p.install(entry[0], entry[1], entry[2])
			}
			p.look()
			if tc.refused == "" {
				p.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
				return
			}
			p.Expect(p.marked()).To(BeEmpty())
			p.Expect(p.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneVersionNotTested)).To(And(
				ContainSubstring(tc.refused), ContainSubstring("set spec.distribution.controlPlane.rebalance to Advise"), Not(ContainSubstring("RolloutAfter")),
				ContainSubstring("To be moved: Machine m0 from a to c")))
		})
	}
}

func TestAnRKE2ControlPlaneWithExternalDatastoreMayHaveAnEvenNumberOfMachines(t *testing.T) {
	t.Parallel()
	even := newRKE2(t, "v1beta2", "aabb", "abc")
	even.look()
	even.Expect(even.marked()).To(BeEmpty())
	even.Expect(even.condition(metav1.ConditionFalse, faultlinev1.ReasonEvenReplicas)).To(ContainSubstring("RKE2ControlPlane one has spec.replicas 4: set an odd number"))
	for _, version := range []string{"v1beta1", "v1beta2"} {
		p := newRKE2(t, version, "aabb", "abc", func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, "datastore", "spec", "serverConfig", "externalDatastoreSecret", "name")
		})
		p.settles(4)
		p.Expect(p.created).To(Equal(1))
	}
}

// refusal is a changed control plane with the expected reason against moves.
type refusal struct {
	change          func(*rke2)
	reason, message string
}

// ofRKE2Objects lists refusals because of the object.
func ofRKE2Objects() map[string]refusal {
	return map[string]refusal{
		"paused": {func(p *rke2) {
			p.change(func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
			})
		}, faultlinev1.ReasonControlPlanePaused, "RKE2ControlPlane one is paused: remove its annotation"},
		"legacy": {func(p *rke2) {
			p.change(func(o *unstructured.Unstructured) {
				o.SetAnnotations(map[string]string{"controlplane.cluster.x-k8s.io/legacy": ""})
			})
		}, faultlinev1.ReasonControlPlaneNotSupported, "RKE2ControlPlane one has the annotation controlplane.cluster.x-k8s.io/legacy, so it does not remove etcd members and cannot replace single machines: " +
			"set spec.distribution.controlPlane.rebalance to Advise or Off"},
		"maxSurge 0": {func(p *rke2) {
			p.change(func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, int64(0), "spec", "rolloutStrategy", "rollingUpdate", "maxSurge")
			})
		}, faultlinev1.ReasonNoSurge, "RKE2ControlPlane one has spec.rolloutStrategy.rollingUpdate.maxSurge 0, so it would delete before it creates: set it to 1"},
		"another template": {func(p *rke2) {
			p.change(func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "newer", "spec", "machineTemplate", "spec", "infrastructureRef", "name")
			})
		}, faultlinev1.ReasonInfrastructureMachineUnexpected, "do not match the control plane's template"},
		"a malformed one": {func(p *rke2) {
			p.change(func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, "three", "spec", "replicas")
			})
		}, faultlinev1.ReasonControlPlaneNotSupported, "RKE2ControlPlane one cannot be read"},
		"not observed": {func(p *rke2) {
			o := p.object()
			_ = unstructured.SetNestedField(o.Object, "v1.36.2+rke2r1", "spec", "version")
			p.Expect(p.client.Update(p.t.Context(), o)).To(Succeed())
		}, faultlinev1.ReasonControlPlaneNotObserved, "has not observed its current spec yet"},
	}
}

// ofRKE2States lists refusals because of the state, the mode or the kind.
func ofRKE2States() map[string]refusal {
	return map[string]refusal{
		"rolling out": {func(p *rke2) {
			p.report(map[string]bool{clusterv1.RollingOutCondition: true})
		}, faultlinev1.ReasonControlPlaneRollingOut, "RKE2ControlPlane one does not report that all its machines are up to date"},
		"remediating": {func(p *rke2) {
			p.report(map[string]bool{clusterv1.RemediatingCondition: true})
		}, faultlinev1.ReasonControlPlaneRemediating, "is replacing an unhealthy machine"},
		"not healthy": {func(p *rke2) {
			p.report(map[string]bool{"EtcdClusterHealthy": false})
		}, faultlinev1.ReasonControlPlaneUnhealthy, "does not report that etcd is healthy"},
		"RolloutAfter": {func(p *rke2) {
			infra := p.infra()
			infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceRolloutAfter
			p.Expect(p.client.Update(p.t.Context(), infra)).To(Succeed())
		}, faultlinev1.ReasonControlPlaneNotSupported, "RKE2ControlPlane one has no field rollout.after: set spec.distribution.controlPlane.rebalance to SurgeOne or Advise"},
		"Advise": {func(p *rke2) {
			infra := p.infra()
			infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceAdvise
			p.Expect(p.client.Update(p.t.Context(), infra)).To(Succeed())
		}, faultlinev1.ReasonNotBalanced, "set spec.distribution.controlPlane.rebalance to SurgeOne"},
		"no CRD": {func(p *rke2) { p.version = "" }, faultlinev1.ReasonControlPlaneNotSupported,
			"RKE2ControlPlane one, which spec.controlPlaneRef of Cluster one names, does not exist"},
		"an unknown kind": {func(p *rke2) {
			owner := p.owner()
			owner.Spec.ControlPlaneRef.Kind = "K3sControlPlane"
			p.Expect(p.client.Update(p.t.Context(), owner)).To(Succeed())
		}, faultlinev1.ReasonControlPlaneNotSupported, "K3sControlPlane one is not a KubeadmControlPlane or RKE2ControlPlane and cannot replace single machines: " +
			"set spec.distribution.controlPlane.rebalance to Advise or Off"},
	}
}

// Each of these control planes gets a plan, a reason and what to do, and no machine of it is marked.
func TestRefusedRKE2ControlPlanes(t *testing.T) {
	t.Parallel()
	all := ofRKE2Objects()
	maps.Copy(all, ofRKE2States())
	for name, tc := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRKE2(t, "v1beta2", "aab", "abc")
			tc.change(p)
			p.look()
			p.Expect(p.condition(metav1.ConditionFalse, tc.reason)).To(And(ContainSubstring(tc.message), ContainSubstring("To be moved: Machine m0 from a to c")))
			p.Expect(p.marked()).To(BeEmpty())
			p.Expect(p.known().Plan).To(HaveLen(1))
		})
	}
}

// An RKE2ControlPlane keeps the annotation of a remediation for ever, but ignores it once it has created a machine.
func TestEndedRemediationOfAnRKE2ControlPlane(t *testing.T) {
	t.Parallel()
	remediated := func(at time.Time) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			note := fmt.Sprintf(`{"machine":"m9","timestamp":%q,"retryCount":0}`, at.UTC().Format(time.RFC3339))
			o.SetAnnotations(map[string]string{controlplanev1.RemediationInProgressAnnotation: note})
		}
	}
	before := newRKE2(t, "v1beta2", "aab", "abc", remediated(time.Now().Add(-time.Hour)))
	before.look()
	before.Expect(before.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)).NotTo(ContainSubstring(faultlinev1.ReasonRemediationLeftOver))
	after := newRKE2(t, "v1beta2", "abc", "abc", remediated(time.Now().Add(time.Hour)))
	after.look()
	after.Expect(after.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(And(
		ContainSubstring("RemediationLeftOver: RKE2ControlPlane one has the annotation"), ContainSubstring("which makes it ignore the annotation")))
}

// A user moves from one version of the API to the other in the middle of a move.
func TestAMoveSurvivesAnUpgradeOfTheAPIOfRKE2(t *testing.T) {
	t.Parallel()
	p := newRKE2(t, "v1beta1", "aab", "abc")
	p.look()
	p.step()
	p.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
	p.change(func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedMap(o.Object, map[string]any{"apiGroup": providertest.GroupVersion.Group, "kind": "MachineTemplate", "name": "template"},
			"spec", "machineTemplate", "spec", "infrastructureRef")
	})
	p.version = "v1beta2"
	p.report(map[string]bool{clusterv1.MachinesUpToDateCondition: false, clusterv1.RollingOutCondition: true})
	p.settles(3)
	p.Expect(p.created).To(Equal(1))
}

func TestChangesOfAnRKE2ControlPlaneAreWatched(t *testing.T) {
	t.Parallel()
	paused := func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""})
	}
	p := newRKE2(t, "v1beta2", "aab", "abc", paused)
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(p.name, p.name)}
	integration.Start(t, apiServer, nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return p.reconciler(mgr.GetClient()).SetupWithManager(ctx, mgr, "", watch.Concurrency(1))
	})
	is := func(reason string) {
		t.Helper()
		p.Eventually(func() string {
			return conditions.GetReason(p.infra(), faultlinev1.ControlPlaneBalancedCondition)
		}).WithTimeout(2 * time.Minute).WithPolling(20 * time.Millisecond).Should(Equal(reason))
	}
	is(faultlinev1.ReasonControlPlanePaused)
	p.change(func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	is(faultlinev1.ReasonMoving)
}

// A cache of objects that cannot be listed never syncs, and blocks each reconcile that reads from it.
func TestControlPlanesThatCannotBeListedDelayNoOtherCluster(t *testing.T) {
	t.Parallel()
	p := newRKE2(t, "v1beta2", "aab", "abc")
	other := newFixture(t, "aab", "abc")
	kcp := other.kcp()
	kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	other.Expect(other.client.Update(t.Context(), kcp)).To(Succeed())
	config, refused := rest.CopyConfig(apiServer), make(chan struct{}, 1)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return unlistable{next, refused} })
	var err error
	p.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	p.Expect(err).NotTo(HaveOccurred())
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(p.name, other.name)}
	integration.Start(t, config, nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		return p.reconciler(mgr.GetClient()).SetupWithManager(ctx, mgr, "", watch.Concurrency(1))
	})
	p.Eventually(refused).WithTimeout(2 * time.Minute).Should(Receive())
	kcp = other.kcp()
	kcp.Annotations = nil
	other.Expect(other.client.Update(t.Context(), kcp)).To(Succeed())
	p.Eventually(func() string {
		return conditions.GetReason(other.infra(), faultlinev1.ControlPlaneBalancedCondition)
	}).WithTimeout(time.Minute).WithPolling(20 * time.Millisecond).Should(Equal(faultlinev1.ReasonMoving))
}

// unlistable refuses to list RKE2ControlPlanes, as for an account without the right.
type unlistable struct {
	http.RoundTripper

	refused chan<- struct{}
}

func (u unlistable) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/rke2controlplanes") {
		return u.RoundTripper.RoundTrip(request)
	}
	select {
	case u.refused <- struct{}{}:
	default:
	}
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
}

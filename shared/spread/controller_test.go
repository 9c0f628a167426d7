// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
)

func TestStaleCacheCountsAssignments(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 4)
	frozen := &providertest.MachineList{}
	w.Expect(api.List(t.Context(), frozen, client.InNamespace(w.name))).To(Succeed())
	lagging := &counting{Client: api, frozen: frozen}
	r := w.reconciler(lagging)
	w.reconcile(r)
	w.scale("md", 6)
	all := &providertest.MachineList{}
	w.Expect(api.List(t.Context(), all, client.InNamespace(w.name))).To(Succeed())
	frozen.Items = append(frozen.Items, all.Items[4:]...) // the new machines are in the cache, the assignments are not
	lagging.frozen = frozen
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 2, "b": 2, "c": 2}))
	w.Expect(lagging.patches.Load()).To(BeEquivalentTo(6))
}

func TestConflictIsDecidedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 1)
	frozen := &providertest.MachineList{}
	w.Expect(api.List(t.Context(), frozen, client.InNamespace(w.name))).To(Succeed())
	change(w, &frozen.DeepCopyObject().(*providertest.MachineList).Items[0], false, func(m *providertest.Machine) {
		m.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: "c"}
	})
	lagging := &counting{Client: api, frozen: frozen}
	r := w.reconciler(lagging)
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
	w.Expect(err).NotTo(HaveOccurred(), "a conflict is not an error")
	w.Expect(result).To(Equal(reconcile.Again()))
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"c": 1}))
}

func TestWaitingMachines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		domains, reason, message string
	}{
		"no domains":           {"", faultlinev1.ReasonNoFailureDomains, "add failure domains, or set spec.distribution.workers.enabled to false"},
		"all domains cordoned": {"a!Cordoned b!Evicting", faultlinev1.ReasonWorkersWaiting, "MachineDeployment md: 2 machines wait for a failure domain: none receives machines"},
		"all domains full":     {"a=0 b=0", faultlinev1.ReasonWorkersWaiting, "all that receive machines are full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, faultlinev1.WorkersDistribution{})
			w.domains(tc.domains)
			w.scale("md", 2)
			r := w.reconciler(api)
			w.reconcile(r)
			w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"": 2}))
			w.Expect(w.balanced().Status).To(Equal(metav1.ConditionFalse))
			w.Expect(w.balanced().Reason).To(Equal(tc.reason))
			w.Expect(w.balanced().Message).To(ContainSubstring(tc.message))
			w.Expect(w.workers().Waiting).To(HaveValue(BeEquivalentTo(2)))
			w.domains("a b")
			w.reconcile(r)
			w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "b": 1}))
			w.Expect(w.balanced().Reason).To(Equal(faultlinev1.ReasonBalanced))
		})
	}
}

func TestRevokeAssignment(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 1)
	r := w.reconciler(api)
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1}))
	w.domains("a!Cordoned b c")
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"b": 1}))
	w.exist()
	w.domains("a b!Evicting c")
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"b": 1}))
	w.Expect(w.balanced().Reason).To(Equal(faultlinev1.ReasonNotBalanced))
	w.Expect(w.balanced().Message).To(And(ContainSubstring("Machine md-0001 from b to a"), ContainSubstring("rebalance is Off: set it to DeleteOne")))
	w.Expect(w.machines("md")).To(HaveLen(1), "nothing is moved unasked")
}

func TestUnspreadMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.machine("md", "named", func(m *clusterv1.Machine) { m.Spec.FailureDomain = "c" })
	w.machine("alone", "alone", func(m *clusterv1.Machine) { delete(m.Labels, clusterv1.MachineDeploymentNameLabel) })
	w.machine("pool", "pool", func(m *clusterv1.Machine) {
		delete(m.Labels, clusterv1.MachineDeploymentNameLabel)
		m.Labels[clusterv1.MachinePoolNameLabel] = "pool"
	})
	w.machine("cp", "cp", func(m *clusterv1.Machine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" })
	writes := &counting{Client: api}
	w.reconcile(w.reconciler(writes))
	w.Expect(writes.patches.Load()).To(BeZero())
}

func TestPausedOrDeletedCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	owner := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	change(w, owner, false, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.scale("md", 3)
	r := w.reconciler(api)
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"": 3}))
	w.Expect(w.balanced()).To(BeZero())
	change(w, owner, false, func(c *clusterv1.Cluster) {
		c.Spec.Paused = nil
		c.Finalizers = []string{"test.example.com/hold"}
	})
	w.Expect(api.Delete(t.Context(), owner)).To(Succeed())
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"": 3}))
}

func TestDeletedClusterIsForgotten(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 2)
	r := w.reconciler(api)
	w.reconcile(r)
	w.Expect(r.Kept(w.infra)).To(ConsistOf("clusters", "busy", "markedByOthers"))
	w.Expect(api.Delete(t.Context(), w.infra)).To(Succeed())
	w.reconcile(r)
	w.Expect(r.Kept(w.infra)).To(BeEmpty())
}

func TestExternallyManagedCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	change(w, w.infra, false, func(c *providertest.Cluster) {
		c.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another"}
	})
	w.scale("md", 3)
	w.reconcile(w.reconciler(api))
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"": 3}))
	w.Expect(w.balanced()).To(BeZero())
}

func TestSteadyState(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](2)})
	w.scale("md", 4)
	r := w.reconciler(api)
	w.reconcile(r)
	w.exist()
	w.reconcile(r)
	w.balanced()
	version := w.infra.ResourceVersion
	w.reconcile(r)
	w.reconcile(w.reconciler(api))
	w.balanced()
	w.Expect(w.infra.ResourceVersion).To(Equal(version))
}

func TestLogicalDomainLabels(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](2)})
	w.scale("md", 5)
	writes := &counting{Client: api}
	w.reconcile(w.reconciler(writes))
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 3, "md-1": 2}))
	w.Expect(writes.patches.Load()).To(BeEquivalentTo(5))
	labels := map[string]int{}
	for _, machine := range w.machines("md") {
		labels[machine.Labels[faultlinev1.DistributionKeyLabel]]++
	}
	w.Expect(labels).To(Equal(map[string]int{"md-0": 3, "md-1": 2}))
	w.Expect(w.workers().Class).To(Equal("md"))
	w.Expect(w.workers().LogicalFailureDomains).To(Equal([]faultlinev1.DomainMachines{{Name: "md-0", Machines: 3}, {Name: "md-1", Machines: 2}}))
}

func TestRequiredLogicalDomains(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](4), Required: ptr.To(true)})
	w.scale("md", 4)
	r := w.reconciler(api)
	w.reconcile(r)
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 1, "md-1": 1, "md-2": 1, "": 1}))
	w.Expect(w.balanced().Message).To(ContainSubstring("each failure domain has another logical failure domain than md-3, and spec.distribution.workers.required forbids sharing"))
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.Required = nil })
	w.reconcile(r)
	w.Expect(w.placed("md", key)).To(HaveKeyWithValue("md-3", 1))
	w.Expect(w.balanced().Message).To(ContainSubstring("failure domain a has the logical failure domains md-0, md-3: add a failure domain, or lower desiredFailureDomains"))
	w.Expect(w.machines("md")).To(HaveLen(4))
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.DesiredFailureDomains = ptr.To[int32](90) })
	w.reconcile(r)
	w.Expect(w.balanced().Message).To(ContainSubstring("86 logical failure domains are empty"))
}

func TestTopologyKeyRegion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](2), Required: ptr.To(true), TopologyKey: corev1.LabelTopologyRegion})
	regions := func(of map[string]string) {
		change(w, w.infra, true, func(infra *providertest.Cluster) {
			infra.Status.FailureDomains = nil
			for name, region := range of {
				infra.Status.FailureDomains = append(infra.Status.FailureDomains, clusterv1.FailureDomain{Name: name, Attributes: map[string]string{faultlinev1.RegionAttribute: region}})
			}
		})
	}
	regions(map[string]string{"a": "north", "b": "north"})
	r := w.reconciler(api)
	w.scale("md", 2)
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "": 1}))
	condition := w.balanced()
	w.Expect(condition.Reason).To(Equal(faultlinev1.ReasonWorkersWaiting))
	w.Expect(condition.Message).To(And(ContainSubstring("each region has another logical failure domain than md-1"), ContainSubstring("add a failure domain in another region"),
		ContainSubstring("failure domain c has no region in status.failureDomains: they receive no workers"), ContainSubstring("or remove topologyKey")))

	regions(map[string]string{"a": "north", "b": "north", "c": "south"})
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "c": 1}))
	w.Expect(w.balanced().Status).To(Equal(metav1.ConditionTrue), w.balanced().Message)
	regions(map[string]string{"a": "north", "b": "north", "c": "north"})
	w.reconcile(r)
	w.Expect(w.balanced().Message).To(ContainSubstring("class md: region north has the logical failure domains md-0, md-1: add a failure domain in another region"))
}

// byHost is a provider that separates logical failure domains inside a failure domain.
type byHost struct{ providertest.Provider }

func (byHost) Capabilities() provider.Capabilities {
	return provider.Capabilities{SeparatesWithin: func(provider.Cluster) bool { return true }}
}

func TestTopologyKeyHostname(t *testing.T) {
	t.Parallel()
	for name, required := range map[string]bool{"required": true, "not required": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](3), Required: &required, TopologyKey: corev1.LabelHostname})
			w.domains("a")
			w.scale("md", 6)
			r := w.reconciler(api)
			r.Provider = byHost{}
			w.reconcile(r)
			w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 6}))
			w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 2, "md-1": 2, "md-2": 2}))
			w.Expect(w.balanced().Status).To(Equal(metav1.ConditionTrue))
			w.Expect(w.balanced().Message).To(ContainSubstring("topologyKey is kubernetes.io/hostname"), "what is not seen is not claimed")
		})
	}
}

func TestDisabledSpreadRemovesStatus(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 3)
	r := w.reconciler(api)
	w.reconcile(r)
	w.exist()
	w.reconcile(r)
	w.Expect(w.balanced().Status).To(Equal(metav1.ConditionTrue))
	w.Expect(w.marked("md")).To(HaveLen(2))
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.Enabled = ptr.To(false) })
	w.reconcile(r)
	w.Expect(w.balanced()).To(BeZero())
	w.Expect(w.infra.Status.Distribution.Workers).To(BeEmpty())
	w.Expect(w.marked("md")).To(BeEmpty())
	w.Expect(w.infra.Status.Distribution.FailureDomains).To(HaveLen(3))
}

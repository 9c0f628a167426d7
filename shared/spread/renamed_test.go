// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

// former puts annotations or labels under their former names.
func former(set map[string]string, names ...string) {
	for _, name := range names {
		if value, has := set[name]; has {
			set[faultlinev1.FormerName(name)] = value
			delete(set, name)
		}
	}
}

// formerly has all machines as a manager with the former names would have left them.
func (w *fixture) formerly() {
	w.t.Helper()
	list := &providertest.MachineList{}
	w.Expect(api.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	for i := range list.Items {
		change(w, &list.Items[i], false, func(m *providertest.Machine) {
			former(m.Annotations, faultlinev1.AssignedFailureDomainAnnotation)
			former(m.Labels, faultlinev1.DistributionKeyLabel)
		})
	}
	for _, machine := range w.machines("md") {
		change(w, &machine, false, func(m *clusterv1.Machine) {
			former(m.Annotations, faultlinev1.MarkedForMoveAnnotation)
			former(m.Labels, faultlinev1.DistributionKeyLabel, faultlinev1.DistributionClassLabel)
		})
	}
}

func TestAssignmentsUnderFormerNamesCountAndTheMachinesAreRelabelledOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](2)})
	w.scale("md", 5)
	w.reconcile(w.reconciler(api))
	w.formerly()
	writes := &counting{Client: api}
	w.reconcile(w.reconciler(writes))
	w.Expect(writes.patches.Load()).To(BeZero(), "what was assigned is not assigned again")
	keys := map[string]int{}
	for _, machine := range w.machines("md") {
		w.Expect(machine.Labels).NotTo(HaveKey(faultlinev1.FormerName(faultlinev1.DistributionKeyLabel)))
		keys[machine.Labels[faultlinev1.DistributionKeyLabel]]++
	}
	w.Expect(keys).To(Equal(map[string]int{"md-0": 3, "md-1": 2}))
	before := w.machines("md")
	w.reconcile(w.reconciler(api))
	w.Expect(w.machines("md")).To(Equal(before))
}

func TestTheClassUnderItsFormerNameIsReadAndStays(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{DesiredFailureDomains: ptr.To[int32](2)})
	class := faultlinev1.FormerName(faultlinev1.DistributionClassLabel)
	for _, name := range []string{"one", "two"} {
		w.machine("md", name, func(m *clusterv1.Machine) { m.Labels[class] = "storage" })
	}
	w.reconcile(w.reconciler(api))
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"storage-0": 1, "storage-1": 1}))
	for _, machine := range w.machines("md") {
		w.Expect(machine.Labels).To(HaveKeyWithValue(class, "storage"))
		w.Expect(machine.Labels).NotTo(HaveKey(faultlinev1.DistributionClassLabel), "the template has it under the former name")
	}
}

func TestMarksUnderTheFormerNameAreRenamedOnceOrTakenOff(t *testing.T) {
	t.Parallel()
	w, r := settled(t, faultlinev1.WorkersDistribution{}, 4)
	marked := w.marked("md")
	w.Expect(marked).To(HaveLen(3))
	w.formerly()
	name := faultlinev1.FormerName(faultlinev1.MarkedForMoveAnnotation)
	w.reconcile(w.reconciler(api))
	w.Expect(w.marked("md")).To(Equal(marked))
	for _, machine := range w.machines("md") {
		w.Expect(machine.Annotations).NotTo(HaveKey(name))
		_, asked := machine.Annotations[clusterv1.DeleteMachineAnnotation]
		_, ours := machine.Annotations[faultlinev1.MarkedForMoveAnnotation]
		w.Expect(ours).To(Equal(asked))
	}
	before := w.machines("md")
	w.reconcile(r)
	w.Expect(w.machines("md")).To(Equal(before))

	w.formerly()
	change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, false, func(md *clusterv1.MachineDeployment) {
		md.Annotations = map[string]string{faultlinev1.FormerName(faultlinev1.ScaledByAnnotation): "rancher"}
	})
	w.reconcile(w.reconciler(api))
	w.Expect(w.marked("md")).To(BeEmpty())
	for _, machine := range w.machines("md") {
		w.Expect(machine.Annotations).NotTo(Or(HaveKey(name), HaveKey(faultlinev1.MarkedForMoveAnnotation)))
	}
}

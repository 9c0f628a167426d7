// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// template creates a Metal3MachineTemplate, and returns a change that makes a machine one of its machines.
func (w *world) template(name string) (*infrav1.Metal3MachineTemplate, func(*clusterv1.Machine, *infrav1.Metal3Machine)) {
	w.t.Helper()
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: w.meta(name), Spec: infrav1.Metal3MachineTemplateSpec{
		Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
			Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"},
		}},
	}}
	w.create(template)
	return template, func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: name, clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		}
	}
}

func (w *world) cleaning(machine *infrav1.Metal3Machine) func() infrav1.CleaningMode {
	return func() infrav1.CleaningMode {
		w.get(machine)
		return machine.Spec.AutomatedCleaningMode
	}
}

func TestCleaningModeOfTheTemplateReachesMachinesAndHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 3))
	w.cluster("one", "rack-1")
	template, ours := w.template("workers")
	_, others := w.template("others")
	machine, other := w.machine("one", "ours", "rack-1", ours), w.machine("one", "other", "rack-1", others)
	host := w.provisioned(machine)
	w.provisioned(other)
	w.Expect(w.cleaning(machine)()).To(BeEmpty(), "a template without a mode leaves it to the machine")

	update(w, template, func(template *infrav1.Metal3MachineTemplate) {
		template.Spec.Template.Spec.AutomatedCleaningMode = "disabled"
	})
	w.Eventually(w.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")))
	w.Eventually(func() bmov1alpha1.AutomatedCleaningMode { return w.host(host.Name).Spec.AutomatedCleaningMode }).
		Should(Equal(bmov1alpha1.CleaningModeDisabled))
	w.Expect(w.cleaning(other)()).To(BeEmpty())

	update(w, machine, func(machine *infrav1.Metal3Machine) { machine.Spec.AutomatedCleaningMode = "metadata" })
	w.Eventually(w.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")), "the template is right")
	late := w.machine("one", "late", "rack-1", ours)
	w.Eventually(w.cleaning(late)).Should(Equal(infrav1.CleaningMode("disabled")), "it was made from the template of before")
}

func TestCleaningModeWaitsForAPausedCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	template, ours := w.template("workers")
	machine := w.machine("one", "ours", "rack-1", ours)
	w.provisioned(machine)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	w.condition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	update(w, template, func(template *infrav1.Metal3MachineTemplate) {
		template.Spec.Template.Spec.AutomatedCleaningMode = "disabled"
	})
	w.Consistently(w.cleaning(machine)).WithTimeout(500 * time.Millisecond).Should(BeEmpty())
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	w.Eventually(w.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")))
}

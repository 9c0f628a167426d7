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
func (f *fixture) template(name string) (*infrav1.Metal3MachineTemplate, func(*clusterv1.Machine, *infrav1.Metal3Machine)) {
	f.t.Helper()
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: f.meta(name), Spec: infrav1.Metal3MachineTemplateSpec{
		Template: infrav1.Metal3MachineTemplateResource{Spec: infrav1.Metal3MachineSpec{
			Image: infrav1.Image{URL: "http://images.example.com/node.qcow2", Checksum: "0123"},
		}},
	}}
	f.create(template)
	return template, func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{
			clusterv1.TemplateClonedFromNameAnnotation: name, clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
		}
	}
}

func (f *fixture) cleaning(machine *infrav1.Metal3Machine) func() infrav1.CleaningMode {
	return func() infrav1.CleaningMode {
		f.get(machine)
		return machine.Spec.AutomatedCleaningMode
	}
}

func TestCleaningModeIsPropagated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 3))
	f.cluster("one", "rack-1")
	template, ours := f.template("workers")
	_, others := f.template("others")
	machine, other := f.machine("one", "ours", "rack-1", ours), f.machine("one", "other", "rack-1", others)
	host := f.waitForProvisioned(machine)
	f.waitForProvisioned(other)
	f.Expect(f.cleaning(machine)()).To(BeEmpty(), "a template without a mode leaves it to the machine")

	update(f, template, func(template *infrav1.Metal3MachineTemplate) {
		template.Spec.Template.Spec.AutomatedCleaningMode = "disabled"
	})
	f.Eventually(f.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")))
	f.Eventually(func() bmov1alpha1.AutomatedCleaningMode { return f.host(host.Name).Spec.AutomatedCleaningMode }).
		Should(Equal(bmov1alpha1.CleaningModeDisabled))
	f.Expect(f.cleaning(other)()).To(BeEmpty())

	update(f, machine, func(machine *infrav1.Metal3Machine) { machine.Spec.AutomatedCleaningMode = "metadata" })
	f.Eventually(f.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")), "the template is right")
	late := f.machine("one", "late", "rack-1", ours)
	f.Eventually(f.cleaning(late)).Should(Equal(infrav1.CleaningMode("disabled")), "it was made from the template of before")
}

func TestCleaningModeOfPausedCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	template, ours := f.template("workers")
	machine := f.machine("one", "ours", "rack-1", ours)
	f.waitForProvisioned(machine)
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("one")}
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	f.waitForCondition(machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	update(f, template, func(template *infrav1.Metal3MachineTemplate) {
		template.Spec.Template.Spec.AutomatedCleaningMode = "disabled"
	})
	f.Consistently(f.cleaning(machine)).WithTimeout(500 * time.Millisecond).Should(BeEmpty())
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	f.Eventually(f.cleaning(machine)).Should(Equal(infrav1.CleaningMode("disabled")))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// kept waits until nothing of the object is told to be removed.
func (w *world) kept(machine *infrav1.HarvesterMachine) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Finalizers).To(ContainElement(infrav1.MachineFinalizer))
		g.Expect(conditions.Has(machine, faultlinev1.MetadataKeptCondition)).To(BeFalse())
	}).Should(Succeed())
}

func TestAMachineWhoseFinalizerAPolicyRemovesIsWrittenLessAndLessOftenSaysSoAndGetsNothing(t *testing.T) {
	// Not beside other tests, whose objects wake its controller.
	w := idleWorld(t)
	machine := w.machine("c", "m", zoneName(1))
	keep := w.user().Strip(machine, infrav1.MachineFinalizer)
	writes, config := w.user().Writes(w.config)
	w.config = config
	w.start()
	writes.CalmDown(machine)
	message := w.user().Condition(machine, faultlinev1.MetadataKeptCondition, faultlinev1.ReasonAnnotationsRemoved)
	w.Expect(message).To(ContainSubstring("does not keep the finalizer " + infrav1.MachineFinalizer))
	vms := &kubevirtv1.VirtualMachineList{}
	w.Expect(w.harvester.List(t.Context(), vms, client.InNamespace(w.name))).To(Succeed())
	w.Expect(vms.Items).To(BeEmpty())
	keep()
	w.provisioned(machine)
	w.kept(machine)
}

func TestWritesOfAMachineThatLoseAreRepeatedLessAndLessOften(t *testing.T) {
	// Not beside other tests, whose objects wake its controller.
	w := idleWorld(t)
	machine := w.machine("c", "m", zoneName(1))
	writes, config := w.user().Writes(w.config)
	w.config = config
	writes.Lose(machine)
	w.start()
	writes.CalmDown(machine)
	writes.Lose()
	w.provisioned(machine)
}

// idleWorld has a host and a cluster, and no manager yet.
func idleWorld(t *testing.T) *world {
	t.Helper()
	w := stillWorld(t)
	w.host("h", zoneName(1))
	w.cluster("c")
	return w
}

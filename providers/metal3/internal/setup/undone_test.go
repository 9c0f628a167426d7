// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/testworld"
)

// kept waits until the removal of an annotation or finalizer is no longer reported.
func (w *world) kept(machine *infrav1.Metal3Machine) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Finalizers).To(ContainElement(infrav1.MachineFinalizer))
		g.Expect(conditions.Has(machine, faultlinev1.MetadataKeptCondition)).To(BeFalse())
	}).Should(Succeed())
}

func TestAMachineWhoseFinalizerAPolicyRemovesIsWrittenLessAndLessOftenSaysSoAndGetsNothing(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue its controller.
	w := idleWorld(t)
	machine := w.machine("c", "m", "")
	keep := w.user().Strip(machine, infrav1.MachineFinalizer)
	writes, config := w.user().Writes(w.config)
	w.config = config
	w.start()
	writes.CalmDown(machine)
	message := w.user().Condition(machine, faultlinev1.MetadataKeptCondition, faultlinev1.ReasonAnnotationsRemoved)
	w.Expect(message).To(ContainSubstring("does not keep the finalizer " + infrav1.MachineFinalizer))
	hosts := &bmov1alpha1.BareMetalHostList{}
	w.Expect(w.client.List(t.Context(), hosts, client.InNamespace(w.name))).To(Succeed())
	w.Expect(hosts.Items).To(HaveEach(HaveField("Spec.ConsumerRef", BeNil())))
	keep()
	w.provisioned(machine)
	w.kept(machine)
}

func TestWritesOfAMachineThatLoseAreRepeatedLessAndLessOften(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue its controller.
	w := idleWorld(t)
	machine := w.machine("c", "m", "")
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
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 1))
	w.cluster("c")
	return w
}

// For each kind of object that the manager writes.
func TestWritesOfEveryControllerThatLoseAreUndoneOrStrippedAreRepeatedLessAndLessOften(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue its controllers.
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 2))
	quarrel, config := w.user().Quarrel(w.config, "")
	w.config = config
	w.start()
	w.cluster("one", "rack-1")
	w.pooled("addressed")
	machine := w.machine("one", "given", "rack-1", usesData("addressed"))
	w.gives(&ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("addressed-0-p")}, "10.0.0.5")
	host := w.provisioned(machine)
	waiting := w.machine("one", "waiting", "rack-1", usesData("addressed")) // its address claim is never fulfilled
	w.condition(waiting, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineWaitingForMetal3DataReason)
	data := &infrav1.Metal3Data{ObjectMeta: w.meta("addressed-1")}
	w.Eventually(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(data), data) }).Should(Succeed())
	quarrel.About(
		testworld.Marked{Object: &infrav1.Metal3Cluster{ObjectMeta: w.meta("one")}, Mark: infrav1.ClusterFinalizer},
		testworld.Marked{Object: &infrav1.Metal3DataTemplate{ObjectMeta: w.meta("addressed")}, Mark: infrav1.DataTemplateFinalizer},
		testworld.Marked{Object: machine, Mark: infrav1.MachineFinalizer},
		testworld.Marked{Object: data, Mark: infrav1.DataFinalizer},
	)
	quarrel.About(
		testworld.Marked{Object: &infrav1.Metal3DataClaim{ObjectMeta: w.meta("given")}, Mark: infrav1.DataClaimFinalizer},
		testworld.Marked{Object: host, Mark: clusterctlv1.BlockMoveAnnotation},
		testworld.Marked{Object: &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("addressed-1-p")}, Mark: infrav1.DataFinalizer},
	)
}

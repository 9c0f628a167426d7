// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"strings"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestReplacementAvoidsHostWithoutNode(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.joins = func(node *corev1.Node) bool { return !strings.HasSuffix(node.Name, "-first") }
	f.hosts(simulator.Racks(1, 2))
	f.start()
	f.cluster("one", "rack-1")
	first := f.machine("one", "first", "rack-1")
	f.waitForCondition(first, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	f.Expect(hostOf(first)).To(Equal(rack1))
	f.deleteMachine(first)
	f.Expect(f.host(rack1).Annotations).To(HaveKey(infrav1.MachineFailedAnnotation))
	f.stop()
	former := faultlinev1.FormerName(infrav1.MachineFailedAnnotation)
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Annotations[former] = host.Annotations[infrav1.MachineFailedAnnotation]
		delete(host.Annotations, infrav1.MachineFailedAnnotation)
	})
	f.start() // another manager has its own records
	f.Expect(f.waitForProvisioned(f.machine("one", "second", "rack-1")).Name).To(Equal(rack1Second))
	third := f.waitForProvisioned(f.machine("one", "third", "rack-1"))
	f.Expect(third.Name).To(Equal(rack1), "it is better than none")
	f.Expect(third.Annotations).NotTo(Or(HaveKey(infrav1.MachineFailedAnnotation), HaveKey(former)))
}

func TestReplacementAvoidsHostOfUnhealthyNode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	first := f.machine("one", "first", "rack-1")
	f.waitForProvisioned(first)
	f.stop()
	owner := &clusterv1.Machine{ObjectMeta: f.meta("first")}
	updateStatus(f, owner, func(owner *clusterv1.Machine) {
		conditions.Set(owner, metav1.Condition{
			Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineHealthCheckUnhealthyNodeReason,
		})
	})
	f.start()
	f.deleteMachine(first)
	f.Expect(f.waitForProvisioned(f.machine("one", "second", "rack-1")).Name).To(Equal(rack1Second))
}

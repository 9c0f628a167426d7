// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const rack1Second = "rack-1-host-002"

func TestReplacementPrefersAnotherHostThanTheOneWhoseNodeNeverJoined(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.joins = func(node *corev1.Node) bool { return !strings.HasSuffix(node.Name, "-first") }
	w.hosts(simulator.Racks(1, 2))
	w.start()
	w.cluster("one", "rack-1")
	first := w.machine("one", "first", "rack-1")
	w.condition(first, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineWaitingForNodeReason)
	w.Expect(hostOf(first)).To(Equal(rack1))
	w.remove(first)
	w.Expect(w.host(rack1).Annotations).To(HaveKey(infrav1.MachineFailedAnnotation))
	w.stop()
	w.start() // another manager has its own records
	w.Expect(w.provisioned(w.machine("one", "second", "rack-1")).Name).To(Equal(rack1Second))
	third := w.provisioned(w.machine("one", "third", "rack-1"))
	w.Expect(third.Name).To(Equal(rack1), "it is better than none")
	w.Expect(third.Annotations).NotTo(HaveKey(infrav1.MachineFailedAnnotation))
}

func TestReplacementPrefersAnotherHostThanTheOneWhoseNodeWasUnhealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	first := w.machine("one", "first", "rack-1")
	w.provisioned(first)
	w.stop()
	owner := &clusterv1.Machine{ObjectMeta: w.meta("first")}
	updateStatus(w, owner, func(owner *clusterv1.Machine) {
		conditions.Set(owner, metav1.Condition{
			Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: clusterv1.MachineHealthCheckUnhealthyNodeReason,
		})
	})
	w.start()
	w.remove(first)
	w.Expect(w.provisioned(w.machine("one", "second", "rack-1")).Name).To(Equal(rack1Second))
}

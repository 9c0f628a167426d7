// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// available sets the number of available machines and maxUnavailable of the MachineDeployment.
func (w *fixture) available(n int32, maxUnavailable intstr.IntOrString) {
	w.t.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}
	change(w, md, false, func(md *clusterv1.MachineDeployment) {
		md.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
		md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = &maxUnavailable
	})
	w.replenish("md")
	change(w, md, true, func(md *clusterv1.MachineDeployment) { md.Status.AvailableReplicas = ptr.To(n) })
}

func TestEvictionWithinMaxUnavailable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		maxUnavailable intstr.IntOrString
		moves          bool
	}{
		"none":          {intstr.FromInt32(0), false},
		"one":           {intstr.FromInt32(1), false},
		"two":           {intstr.FromInt32(2), true},
		"a third":       {intstr.FromString("34%"), true},
		"a small share": {intstr.FromString("10%"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := settled(t, deleteOne(), 6)
			w.fail("md-0003")
			w.available(5, tc.maxUnavailable)
			w.domains("a!Evicting b c")
			w.reconcile(r)
			if tc.moves {
				w.Expect(w.machines("md")).To(HaveLen(5))
				w.Expect(w.workers().CurrentMove).To(HaveField("Machine", "md-0001"))
				return
			}
			w.Expect(w.machines("md")).To(HaveLen(6))
			w.Expect(w.balanced().Message).To(And(ContainSubstring("5 of 6 replicas of MachineDeployment md are available"), ContainSubstring("unhealthy: md-0003")))
		})
	}
}

func TestEvictionUnhealthyFirst(t *testing.T) {
	t.Parallel()
	w, r := settled(t, deleteOne(), 6)
	w.fail("md-0004")
	w.fail("md-0003")
	w.available(4, intstr.FromInt32(0))
	w.domains("a!Evicting b c")
	w.reconcile(r)
	w.Expect(w.workers().CurrentMove).To(HaveField("Machine", "md-0004"), "and not the older md-0001, which works")
	w.Expect(w.machines("md")).To(HaveLen(5))
	w.replenish("md")
	w.available(4, intstr.FromInt32(0))
	w.reconcile(r)
	w.exist()
	w.reconcile(r)
	w.Expect(w.machines("md")).To(HaveLen(6), "the one that works stays while others do not")
	w.Expect(w.workers().LastMove.Phase).To(Equal(faultlinev1.MoveCompleted))
}

func TestBalancingRequiresAvailability(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleteOne())
	r := w.withNewDomain()
	w.available(5, intstr.FromInt32(3))
	w.reconcile(r)
	w.Expect(w.machines("md")).To(HaveLen(6))
	w.Expect(w.balanced().Message).To(ContainSubstring("5 of 6 replicas of MachineDeployment md are available"))
}

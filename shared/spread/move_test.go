// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/spread"
)

func deleteOne() faultlinev1.WorkersDistribution {
	return faultlinev1.WorkersDistribution{Rebalance: faultlinev1.WorkersRebalanceDeleteOne}
}

// moveAll simulates MachineSet and provider until the machines are spread, and returns the number of moves. It checks that at
// most one replica is missing at any time.
func (w *fixture) moveAll(r *spread.Reconciler) int {
	w.t.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}
	w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(md), md)).To(Succeed())
	moved := 0
	for range 40 {
		w.reconcile(r)
		missing := int(*md.Spec.Replicas) - len(w.machines("md"))
		w.Expect(missing).To(BeNumerically("<=", 1))
		if w.balanced().Status == metav1.ConditionTrue {
			return moved
		}
		moved += missing
		w.replenish("md")
		w.reconcile(r)
		w.exist()
	}
	w.t.Fatalf("it does not come to an end: %v", w.balanced())
	return 0
}

// withNewDomain creates a MachineDeployment with six machines spread over two failure domains, and then adds a third domain.
func (w *fixture) withNewDomain() *spread.Reconciler {
	w.t.Helper()
	w.domains("a b")
	w.scale("md", 6)
	r := w.reconciler(api)
	w.reconcile(r)
	w.exist()
	w.domains("a b c")
	return r
}

func TestDeleteOneNewDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleteOne())
	r := w.withNewDomain()
	w.Expect(w.moveAll(r)).To(Equal(2))
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 2, "b": 2, "c": 2}))
	last := w.workers().LastMove
	w.Expect(last.Phase).To(Equal(faultlinev1.MoveCompleted))
	w.Expect(last.To).To(Equal("c"))
	w.Expect(last.Replacement).NotTo(BeEmpty())
	w.Expect(w.workers().CurrentMove).To(BeNil())
	w.Expect(testutil.GatherAndCount(w.registry, "faultline_failure_domain_moves_total")).To(Equal(1))
}

func TestDeleteOneEviction(t *testing.T) {
	t.Parallel()
	w, r := settled(t, deleteOne(), 3)
	w.domains("a!Evicting b c")
	w.Expect(w.moveAll(r)).To(Equal(1))
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"b": 2, "c": 1}))
}

func TestDeleteOneChangedLogicalDomains(t *testing.T) {
	t.Parallel()
	wanted := deleteOne()
	wanted.DesiredFailureDomains = ptr.To[int32](3)
	w, r := settled(t, wanted, 6)
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 2, "md-1": 2, "md-2": 2}))
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.DesiredFailureDomains = ptr.To[int32](2) })
	w.Expect(w.moveAll(r)).To(Equal(2))
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 3, "md-1": 3}))
	w.domains("a b c d")
	w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.DesiredFailureDomains = ptr.To[int32](4) })
	w.Expect(w.moveAll(r)).To(Equal(2))
	w.Expect(w.placed("md", key)).To(Equal(map[string]int{"md-0": 2, "md-1": 2, "md-2": 1, "md-3": 1}))
}

func TestMoveGuards(t *testing.T) {
	t.Parallel()
	deploymentStatus := func(how func(*clusterv1.MachineDeployment)) func(*fixture) {
		return func(w *fixture) { change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, true, how) }
	}
	for name, tc := range map[string]struct {
		change  func(*fixture)
		message string
	}{
		"a replica is not available":  {deploymentStatus(func(md *clusterv1.MachineDeployment) { md.Status.AvailableReplicas = ptr.To[int32](5) }), "5 of 6 replicas of MachineDeployment md are available"},
		"a rollout is under way":      {deploymentStatus(func(md *clusterv1.MachineDeployment) { md.Status.UpToDateReplicas = ptr.To[int32](1) }), "1 of 6 replicas of MachineDeployment md are up to date"},
		"it was changed a moment ago": {deploymentStatus(func(md *clusterv1.MachineDeployment) { md.Status.ObservedGeneration-- }), "has just changed"},
		"the user has marked a machine": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0002")}, false, func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "yes"}
			})
		}, "Machine md-0002 has the annotation cluster.x-k8s.io/delete-machine, which Faultline has not set"},
		"the failure domains have just changed": {func(w *fixture) {
			change(w, w.infra, true, func(c *providertest.Cluster) {
				c.Status.Distribution.FailureDomainsSince = metav1.NewTime(w.clock.Now().Add(time.Minute))
			})
		}, "the failure domains have changed"},
		"a machine is unhealthy": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0003")}, true, func(m *clusterv1.Machine) {
				m.Status.Conditions = []metav1.Condition{{
					Type: clusterv1.MachineHealthCheckSucceededCondition, Status: metav1.ConditionFalse, Reason: "Failed", LastTransitionTime: metav1.Now(),
				}}
			})
		}, "unhealthy: md-0003"},
		"the user wants a machine remediated": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0003")}, false, func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{clusterv1.RemediateMachineAnnotation: ""}
			})
		}, "unhealthy: md-0003"},
		"a machine is being remediated": {func(w *fixture) {
			change(w, &clusterv1.Machine{ObjectMeta: w.meta("md-0003")}, true, func(m *clusterv1.Machine) {
				conditions.Set(m, metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse, Reason: "Remediating"})
			})
		}, "unhealthy: md-0003"},
		"it is not asked for": {func(w *fixture) {
			w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.Rebalance = faultlinev1.WorkersRebalanceOff })
		}, "rebalance is Off"},
		"the new domain is full": {func(w *fixture) { w.domains("a b c=0") }, "no capacity for 2 more machines in: c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, deleteOne())
			w.domains("a b")
			w.scale("md", 6)
			r := w.reconciler(api)
			w.reconcile(r)
			w.exist()
			w.domains("a b c")
			tc.change(w)
			w.reconcile(r)
			w.Expect(w.machines("md")).To(HaveLen(6))
			w.Expect(w.balanced().Reason).To(Equal(faultlinev1.ReasonNotBalanced))
			w.Expect(w.balanced().Message).To(ContainSubstring(tc.message))
			w.Expect(w.workers().CurrentMove).To(BeNil())
		})
	}
}

// selective is a provider for which nothing suits in one failure domain until it is cleared.
type selective struct {
	providertest.Provider
	unsuited *string
}

func (s selective) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: s.Unsuited}
}

func (s selective) Unsuited(_ context.Context, _ client.Object, domain string) (string, error) {
	if domain != *s.unsuited {
		return "", nil
	}
	return "no host suits", nil
}

// particular is a provider whose machines suit only some hosts, whose number per domain it returns.
type particular struct {
	selective
	room map[string]int
}

func (p particular) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: p.Unsuited, Requirements: p.Requirements, Capacity: p.Capacity}
}

func (particular) Requirements(client.Object) string { return "gpu" }

func (p particular) Capacity(context.Context, client.Object) (map[string]int, error) {
	return p.room, nil
}

func TestSuitableCapacity(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.domains("a=9 b=9 c=9")
	w.scale("md", 4)
	r, p := w.reconciler(api), particular{selective{unsuited: ptr.To("")}, map[string]int{"b": 2, "c": 1}}
	r.Provider = p
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"b": 2, "c": 1, "": 1}))
	w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
	result, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "no event reports new capacity")
	w.Expect(w.balanced().Status).To(Equal(metav1.ConditionFalse))
	p.room["a"] = 1
	w.reconcile(r)
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 1, "b": 2, "c": 1}))
}

func TestMoveRequiresSuitableDomain(t *testing.T) {
	t.Parallel()
	for name, logical := range map[string]*int32{"failure domains": nil, "logical failure domains": ptr.To[int32](2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, deleteOne())
			w.want(func(wanted *faultlinev1.WorkersDistribution) { wanted.DesiredFailureDomains = logical })
			w.domains("a b")
			w.scale("md", 6)
			unsuited := "c"
			r := w.reconciler(api)
			r.Provider = selective{unsuited: &unsuited}
			w.reconcile(r)
			w.exist()
			w.domains("a!Evicting b c=9")
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.balanced().Message).To(ContainSubstring("failure domain c does not suit the replacement of"))
			w.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "no event reports a suitable host")
			w.Expect(w.machines("md")).To(HaveLen(6))
			unsuited = ""
			w.reconcile(r)
			w.Expect(w.machines("md")).To(HaveLen(5))
		})
	}
}

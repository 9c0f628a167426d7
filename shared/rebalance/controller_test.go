// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
)

const outdated = "template-rebalance"

func TestSurgeOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	result := w.reconcile()
	w.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "a control plane that does not react ends no wait")
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.Expect(w.clonedFrom("m0")).To(Equal(outdated))
	w.Expect(w.machineNow("m0").Annotations).To(HaveKey(clusterv1.DeleteMachineAnnotation))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
	w.Expect(w.known().CurrentMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveReplacing), HaveField("Machine", "m0"), HaveField("From", "a"), HaveField("To", "c"))))

	w.notice("m0")
	w.Expect(w.reconcile().RequeueAfter).To(BeZero(), "the control plane has seen it")
	w.machine("m9", "c")
	w.reconcile()
	w.Expect(w.known().CurrentMove.Replacement).To(Equal("m9"))
	w.delete("m0")
	for reason, phase := range map[string]faultlinev1.MovePhase{
		clusterv1.MachineDeletingWaitingForPreDrainHookReason:           faultlinev1.MoveDeleting,
		clusterv1.MachineDeletingDrainingNodeReason:                     faultlinev1.MoveDrainable,
		clusterv1.MachineDeletingWaitingForPreTerminateHookReason:       faultlinev1.MoveDrained,
		clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason: faultlinev1.MoveTerminable,
	} {
		w.setMachine("m0", clusterv1.MachineDeletingCondition, metav1.ConditionTrue, reason)
		w.reconcile()
		w.Expect(w.known().CurrentMove.Phase).To(Equal(phase), reason)
	}
	w.isDeleted("m0")
	w.settle(true)
	w.reconcile()
	w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)
	w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation))
	known := w.known()
	w.Expect(known.CurrentMove).To(BeNil())
	w.Expect(known.LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveCompleted), HaveField("Replacement", "m9"))))
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(testutil.GatherAndCompare(w.metrics, strings.NewReader(`
# HELP faultline_failure_domain_moves_total Machines moved to another failure domain.
# TYPE faultline_failure_domain_moves_total counter
faultline_failure_domain_moves_total{cluster="one",namespace="`+w.name+`",outcome="Completed",role="control-plane"} 1
`), "faultline_failure_domain_moves_total")).To(Succeed())
}

func TestNotBalancedEvents(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.domains("abc", 0)
	w.reconcile()
	w.Expect(w.recorder.Events).To(Receive(ContainSubstring(faultlinev1.ReasonStabilizing)))
	w.setMachine("m1", clusterv1.MachineReadyCondition, metav1.ConditionFalse, "NotReady")
	w.reconcile()
	w.Expect(w.recorder.Events).To(Receive(And(ContainSubstring(faultlinev1.ReasonMachineNotReady), ContainSubstring("Machine m1 is not Ready"))))
	w.reconcile()
	w.Expect(w.recorder.Events).NotTo(Receive())
}

// capacityProvider is a provider whose machines suit only some hosts, whose number per domain it returns.
type capacityProvider struct {
	providertest.Provider
	room     map[string]int
	unsuited map[string]string
}

func (p capacityProvider) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: p.Unsuited, Requirements: p.Requirements, Capacity: p.Capacity}
}

func (p capacityProvider) Unsuited(_ context.Context, _ client.Object, domain string) (string, error) {
	return p.unsuited[domain], nil
}

func (capacityProvider) Requirements(client.Object) string { return "gpu" }

func (p capacityProvider) Capacity(context.Context, client.Object) (map[string]int, error) {
	return p.room, nil
}

func TestMoveRequiresSuitableCapacity(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	r := w.reconciler(w.client)
	room := map[string]int{"a": 1, "b": 1}
	r.Provider = capacityProvider{Provider: providertest.Provider{Seen: w.seen}, room: room}
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(BeEmpty())
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonNoRoom)
	room["c"] = 1
	_, err = r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
}

// unsuitedProvider is a provider with machines that suit no host of a domain, and without a capacity per domain.
type unsuitedProvider struct {
	providertest.Provider
	unsuited map[string]string
}

func (c unsuitedProvider) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: c.Unsuited}
}

func (c unsuitedProvider) Unsuited(_ context.Context, _ client.Object, domain string) (string, error) {
	return c.unsuited[domain], nil
}

func TestMoveRequiresSuitableDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	r := w.reconciler(w.client)
	unsuited := map[string]string{"c": "no host there suits nodeAffinity"}
	for name, provider := range map[string]provider.Provider{
		"uncounted": unsuitedProvider{providertest.Provider{Seen: w.seen}, unsuited},
		"counted":   capacityProvider{providertest.Provider{Seen: w.seen}, map[string]int{"a": 1, "b": 1, "c": 1}, unsuited},
	} {
		r.Provider = provider
		_, err := r.Reconcile(t.Context(), w.request())
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.marked()).To(BeEmpty(), name)
		w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonTargetNotAvailable)).To(ContainSubstring("c, which does not suit it: no host there suits nodeAffinity"), name)
	}
	delete(unsuited, "c")
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
}

// remediates sets the annotation that a control plane sets when it deletes a failed machine, and removes when it creates one.
func (w *fixture) remediates(machine string, at time.Time) {
	w.t.Helper()
	kcp := w.kcp()
	kcp.Annotations = map[string]string{}
	if machine != "" {
		kcp.Annotations[controlplanev1.RemediationInProgressAnnotation] = fmt.Sprintf(`{"machine":%q,"timestamp":%q,"retryCount":0}`, machine, at.UTC().Format(time.RFC3339))
	}
	w.Expect(w.client.Update(w.t.Context(), kcp)).To(Succeed())
}

func TestRemediationLeftOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "abc", "abc")
	w.remediates("m9", w.clock.Now().Add(-time.Hour))
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(And(
		ContainSubstring("RemediationLeftOver: KubeadmControlPlane one has the annotation controlplane.cluster.x-k8s.io/remediation-in-progress of Machine m9, which does not exist any more"),
		ContainSubstring("remove the annotation")))
	w.Expect(w.recorder.Events).To(Receive(ContainSubstring(faultlinev1.ReasonRemediationLeftOver)))
	w.reconcile()
	w.Expect(w.recorder.Events).NotTo(Receive(), "it is reported once")
	w.setMachine("m1", clusterv1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "Failed")
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(ContainSubstring(faultlinev1.ReasonRemediationLeftOver))
	w.remediates("", time.Time{})
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(BeEmpty())
}

func TestFailedReplacement(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	w.notice("m0")
	w.machine("m8", "c")
	w.setMachine("m8", clusterv1.MachineReadyCondition, metav1.ConditionFalse, "WaitingForBootstrapData")
	w.reconcile()
	w.Expect(w.known().CurrentMove.Message).To(ContainSubstring("Machine m8, to join: WaitingForBootstrapData"))
	w.setMachine("m8", clusterv1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "NodeStartupTimeout")
	w.delete("m8")
	w.remediates("m8", w.clock.Now().Add(20*time.Minute))
	w.isDeleted("m8")
	kcp := w.kcp()
	conditions.Set(kcp, metav1.Condition{Type: controlplanev1.KubeadmControlPlaneScalingUpCondition, Status: metav1.ConditionTrue, Reason: "ScalingUp"})
	w.status(kcp)
	for len(w.recorder.Events) > 0 {
		<-w.recorder.Events
	}
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}), "the control plane is to create the next one")
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)).To(ContainSubstring("Machine m8, failed and was deleted"))
	w.Expect(w.recorder.Events).To(Receive(And(ContainSubstring("ReplacementGone"), ContainSubstring("Machine m8, the replacement of Machine m0, was deleted"))))
	w.machine("m9", "c")
	w.remediates("", time.Time{})
	kcp = w.kcp()
	conditions.Set(kcp, metav1.Condition{Type: controlplanev1.KubeadmControlPlaneScalingUpCondition, Status: metav1.ConditionFalse, Reason: "NotScalingUp"})
	w.status(kcp)
	w.reconcile()
	w.delete("m0")
	w.isDeleted("m0")
	w.settle(true)
	w.reconcile()
	w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveCompleted), HaveField("Replacement", "m9"))))
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(BeEmpty())
}

func TestRemediationDuringMove(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	w.notice("m0")
	w.machine("m9", "c")
	w.setMachine("m0", clusterv1.MachineHealthCheckSucceededCondition, metav1.ConditionFalse, "Failed")
	w.delete("m0")
	w.remediates("m0", w.clock.Now())
	w.reconcile()
	w.Expect(w.known().CurrentMove.Message).To(ContainSubstring("it fails a health check"))
	w.isDeleted("m0")
	w.settle(true)
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(ContainSubstring(faultlinev1.ReasonRemediationLeftOver))
	w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveCompleted), HaveField("Message", ContainSubstring("because it failed a health check")))))
}

func TestPendingTopologyUpgrade(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	owner := w.owner()
	owner.Spec.Topology = clusterv1.Topology{Version: "v1.38.0", ClassRef: clusterv1.ClusterClassRef{Name: "class"}}
	w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
	w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneRollingOut)).To(ContainSubstring("until it is upgraded to v1.38.0"))
	owner.Annotations = map[string]string{clusterv1.ClusterTopologyUpgradeStepAnnotation: "v1.37.0"}
	w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneRollingOut)).To(ContainSubstring("until it is upgraded to v1.37.0"))
	owner.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation] = "v1.36.0"
	w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}), "the control plane has the version of this step")
}

// While the cache shows the infrastructure cluster as it was before the last write, the reconciler waits and sends nothing. If only
// Machines lag, it reads live and finds nothing to write.
func TestStaleCacheCountsRequests(t *testing.T) {
	t.Parallel()
	const again = 5
	for name, tc := range map[string]struct {
		current func(runtime.Object) bool
		reads   int // for each reconcile, at most
		pauses  []time.Duration
	}{
		"all kinds": {pauses: []time.Duration{20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond}},
		"Machines": {reads: 14, current: func(o runtime.Object) bool {
			_, machines := o.(*clusterv1.MachineList)
			return !machines
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aab", "abc")
			sent, read := &integration.Requests{}, &integration.Requests{}
			r := w.reconciler(&integration.Stale{Client: sent.Counted(w.client), Current: tc.current})
			r.Live = read.Counted(w.live().(client.WithWatch))
			reconcile := func() ctrl.Result {
				result, err := r.Reconcile(t.Context(), w.request())
				w.Expect(err).NotTo(HaveOccurred())
				return result
			}
			reconcile()
			w.Expect(w.marked()).To(Equal([]string{"m0"}))
			w.Expect(sent.Writes+sent.StatusWrites).To(BeNumerically("<=", 5), "a record, two marks, the condition")
			written := sent.Writes + sent.StatusWrites
			read.Reads = 0
			var pauses []time.Duration
			for range again {
				pauses = append(pauses, reconcile().RequeueAfter)
			}
			w.Expect(sent.Writes + sent.StatusWrites).To(Equal(written))
			w.Expect(read.Reads).To(BeNumerically("<=", again*tc.reads))
			if tc.pauses != nil {
				w.Expect(pauses).To(Equal(tc.pauses))
			}
			w.Expect(w.marked()).To(Equal([]string{"m0"}))
		})
	}
}

var errCrashed = errors.New("the manager has died")

// crashing returns the client of a manager that stops instead of its nth write.
func (w *fixture) crashing(n int) client.Client {
	writes := 0
	dies := func() error {
		if writes++; writes >= n {
			return errCrashed
		}
		return nil
	}
	return interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := dies(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := dies(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

func TestNoAbortAfterReplacement(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	w.notice("m0")
	w.machine("m9", "c")
	w.setMachine("m1", clusterv1.MachineReadyCondition, metav1.ConditionFalse, "NotReady")
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
}

func TestUnresponsiveControlPlane(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	first := w.machineNow("m0").Annotations[clusterv1.DeleteMachineAnnotation]
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.reconcile()
	w.Expect(w.machineNow("m0").Annotations[clusterv1.DeleteMachineAnnotation]).NotTo(Equal(first), "it is triggered again")
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	result := w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneDoesNotMove)).To(ContainSubstring("RolloutAfter"))
	w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
}

func TestUserMarksAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	machine := w.machineNow("m0")
	machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "mine"}
	w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonMachineMarked)).To(ContainSubstring("Machine m0"))
	w.Expect(w.machineNow("m0").ResourceVersion).To(Equal(machine.ResourceVersion))
	w.Expect(w.clonedFrom("m0")).To(Equal("template"))
}

func TestAdoptedMarkSurvivesAbort(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	machine := w.machineNow("m0")
	machine.Annotations[clusterv1.DeleteMachineAnnotation] = "mine"
	w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
	w.reconcile()
	w.Expect(w.machineNow("m0").Annotations).To(Equal(map[string]string{clusterv1.DeleteMachineAnnotation: "mine"}))
	w.Expect(w.clonedFrom("m0")).To(Equal("template"))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonMachineMarked)
	w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveAborted), HaveField("Reason", faultlinev1.ReasonMachineMarked))))
}

// Whatever a user removes from a machine that is being moved, no annotation of the move is left at the end.
func TestRemovedMarkEndsMove(t *testing.T) {
	t.Parallel()
	for name, off := range map[string][]string{
		"delete-machine":                     {clusterv1.DeleteMachineAnnotation},
		"the mark next to it":                {faultlinev1.MarkedForMoveAnnotation},
		"both":                               {clusterv1.DeleteMachineAnnotation, faultlinev1.MarkedForMoveAnnotation},
		"the record":                         {faultlinev1.CurrentMoveAnnotation},
		"the record and the mark next to it": {faultlinev1.CurrentMoveAnnotation, faultlinev1.MarkedForMoveAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aab", "abc")
			w.reconcile()
			w.Expect(w.marked()).To(Equal([]string{"m0"}))
			machine, infra := w.machineNow("m0"), w.infra()
			for _, annotation := range off {
				delete(machine.Annotations, annotation)
				delete(infra.Annotations, annotation)
			}
			w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
			w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
			w.reconcile()
			w.Expect(w.machineNow("m0").Annotations).To(HaveKey(clusterv1.DeleteMachineAnnotation), "it moves")
			kcp := w.kcp()
			kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			w.Expect(w.client.Update(t.Context(), kcp)).To(Succeed())
			w.reconcile()
			w.Expect(w.marked()).To(BeEmpty())
			w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation))
		})
	}
}

func TestExternalEtcdAllowsEvenReplicas(t *testing.T) {
	t.Parallel()
	for name, external := range map[string]bool{"etcd on the machines": false, "etcd elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aabb", "abc")
			if external {
				kcp := w.kcp()
				kcp.Spec.KubeadmConfigSpec.ClusterConfiguration.Etcd.External = bootstrapv1.ExternalEtcd{
					Endpoints: []string{"https://etcd.example"}, CAFile: "/ca", CertFile: "/cert", KeyFile: "/key",
				}
				w.Expect(w.client.Update(t.Context(), kcp)).To(Succeed())
				w.settle(true)
			}
			w.reconcile()
			if external {
				w.Expect(w.marked()).To(HaveLen(1))
				return
			}
			w.Expect(w.marked()).To(BeEmpty())
			w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonEvenReplicas)).To(ContainSubstring("set an odd number"))
		})
	}
}

// between runs a function after everything was read and before the first write.
func (w *fixture) between(do func()) client.Client {
	done := false
	return interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if !done {
				done = true
				do()
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
}

func TestConcurrentWriteIsRetried(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	result, err := w.reconciler(w.between(func() {
		infra := w.infra()
		infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceAdvise
		w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	})).Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result).To(Equal(reconcile.Again()))
	w.Expect(w.marked()).To(BeEmpty())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonNotBalanced)).To(And(
		ContainSubstring("Machine m0 from a to c"), ContainSubstring("SurgeOne")))
	w.Expect(w.known().Plan).To(HaveLen(1))
}

func TestConcurrentUserMark(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	_, err := w.reconciler(w.crashing(2)).Reconcile(t.Context(), w.request()) // the record is written
	w.Expect(err).To(MatchError(errCrashed))
	_, err = w.reconciler(w.between(func() {
		machine := w.machineNow("m0")
		machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "mine"}
		w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
	})).Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.reconcile()
	w.Expect(w.machineNow("m0").Annotations).To(Equal(map[string]string{clusterv1.DeleteMachineAnnotation: "mine"}))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonMachineMarked)
}

// frozen returns a cache that never changes.
func (w *fixture) frozen() client.Client {
	infra := w.infra()
	return interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if into, ok := o.(*providertest.Cluster); ok {
				*into = *infra.DeepCopyObject().(*providertest.Cluster)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

func TestStaleCache(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	stale := w.frozen()
	w.reconcile()
	record := w.infra().Annotations[faultlinev1.CurrentMoveAnnotation]
	w.notice("m0")
	w.machine("m9", "b") // the control plane may choose this one among equals; m1 would be next
	_, err := w.reconciler(stale).Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.Expect(w.infra().Annotations[faultlinev1.CurrentMoveAnnotation]).To(Equal(record))
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	r := w.reconciler(w.frozen())
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	result, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(patch.InitialDelay))
}

func TestSteadyState(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "abc", "abc")
	w.reconcile()
	w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)
	r := w.reconciler(w.crashing(1))
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	r.Live = nil // once the version is known, nothing is read outside the cache
	result, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.IsZero()).To(BeTrue())
}

func TestPausedCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	owner := w.owner()
	owner.Spec.Paused = ptr.To(true)
	w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
	w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.infra().Status.Conditions).To(BeEmpty())
}

func TestOffRemovesConditionAndPlan(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	w.domains("abc", time.Minute)
	w.Expect(w.reconcile().RequeueAfter).To(BeNumerically("~", 4*time.Minute, 2*time.Second))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonStabilizing)
	infra := w.infra()
	infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceOff
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	w.reconcile()
	w.Expect(w.known()).To(BeZero())
	w.Expect(conditions.Has(w.infra(), faultlinev1.ControlPlaneBalancedCondition)).To(BeFalse())
}

func TestRolloutAfter(t *testing.T) {
	t.Parallel()
	for _, topology := range []bool{false, true} {
		w := newFixture(t, "aab", "abc")
		infra := w.infra()
		infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceRolloutAfter
		w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
		if topology {
			owner := w.owner()
			owner.Spec.Topology = clusterv1.Topology{Version: "v1.36.0", ClassRef: clusterv1.ClusterClassRef{Name: "class"}}
			w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
		}
		w.reconcile()
		after := func() time.Time {
			if topology {
				return w.owner().Spec.Topology.ControlPlane.Rollout.After.Time
			}
			return w.kcp().Spec.Rollout.After.Time
		}
		set := after()
		w.Expect(set).To(BeTemporally("~", w.clock.Now(), time.Second), "topology: %v", topology)
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		if !topology {
			w.settle(true)
		}
		w.reconcile()
		w.Expect(after()).To(Equal(set))
		w.condition(metav1.ConditionFalse, faultlinev1.ReasonRolledOut)
	}
}

func TestARolloutThatAPolicyRemovesIsReportedAndNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	infra := w.infra()
	infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceRolloutAfter
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	writes := 0
	c := interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*controlplanev1.KubeadmControlPlane); !ok {
				return c.Patch(ctx, o, p, opts...)
			}
			writes++
			return c.Get(ctx, client.ObjectKeyFromObject(o), o) // the policy has removed the only change
		},
	})
	r := w.reconciler(c)
	r.Client = c
	result, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(writes).To(Equal(1))
	w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonAnnotationsRemoved)).To(ContainSubstring(
		"does not store the field spec.rollout.after of KubeadmControlPlane"))
	w.Expect(w.recorder.Events).NotTo(Receive(ContainSubstring("RolloutStarted")))
}

func TestInvalidMoveRecord(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	infra := w.infra()
	infra.Annotations = map[string]string{faultlinev1.CurrentMoveAnnotation: "{"}
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	w.reconcile()
	w.condition(metav1.ConditionUnknown, faultlinev1.ReasonMoveRecordInvalid)
	w.Expect(w.marked()).To(BeEmpty())
}

func TestMisplacedMachineCountsWhereItIs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "abc", "abc")
	machine := w.machineNow("m2")
	machine.Status.FailureDomain = "a"
	w.status(machine)
	w.reconcile()
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonTargetNotAvailable) // the control plane counts a machine in c
}

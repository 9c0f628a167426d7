// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

const outdated = "template-rebalance"

func TestAMachineIsMovedByItsControlPlane(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
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
	w.gone("m0")
	w.settle(true)
	w.reconcile()
	w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)
	w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation))
	known := w.known()
	w.Expect(known.CurrentMove).To(BeNil())
	w.Expect(known.LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveCompleted), HaveField("Replacement", "m9"))))
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(testutil.GatherAndCompare(w.metrics, strings.NewReader(`
# HELP capi_failure_domain_moves_total Machines moved to another failure domain.
# TYPE capi_failure_domain_moves_total counter
capi_failure_domain_moves_total{cluster="one",namespace="`+w.name+`",outcome="Completed",role="control-plane"} 1
`), "capi_failure_domain_moves_total")).To(Succeed())
}

func TestEachReasonThatComesToKeepAControlPlaneFromBeingBalancedIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	w.domains("abc", 0)
	w.reconcile()
	w.Expect(w.recorder.Events).To(Receive(ContainSubstring(faultlinev1.ReasonStabilizing)))
	w.setMachine("m1", clusterv1.MachineReadyCondition, metav1.ConditionFalse, "NotReady")
	w.reconcile()
	w.Expect(w.recorder.Events).To(Receive(And(ContainSubstring(faultlinev1.ReasonMachineNotReady), ContainSubstring("Machine m1 is not Ready"))))
	w.reconcile()
	w.Expect(w.recorder.Events).NotTo(Receive())
}

// particular has machines that suit only some places, of which there are so many.
type particular struct {
	providertest.Provider
	room map[string]int
}

func (particular) Unsuited(context.Context, client.Object, string) (string, error) { return "", nil }

func (particular) Suits(client.Object) string { return "gpu" }

func (p particular) Room(context.Context, client.Object) (map[string]int, error) { return p.room, nil }

func TestAMachineIsMovedOnlyToWhereThereIsRoomThatSuitsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	r := w.reconciler(w.client)
	room := map[string]int{"a": 1, "b": 1}
	r.Provider = particular{providertest.Provider{Seen: w.seen}, room}
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(BeEmpty())
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonNoRoom)
	room["c"] = 1
	_, err = r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
}

var errDied = errors.New("the manager has died")

// mortal is a client of a manager that dies instead of its nth write.
func (w *world) mortal(n int) client.Client {
	writes := 0
	dies := func() error {
		if writes++; writes >= n {
			return errDied
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

func TestAManagerThatDiesBetweenTwoWritesGoesOnWithTheSameMachine(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		w := newWorld(t, "aab", "abc")
		_, err := w.reconciler(w.mortal(n)).Reconcile(t.Context(), w.request())
		w.Expect(err).To(MatchError(errDied), "write %d", n)
		w.reconcile()
		w.Expect(w.marked()).To(Equal([]string{"m0"}), "write %d", n)
		w.Expect(w.clonedFrom("m0")).To(Equal(outdated), "write %d", n)
		w.Expect(w.infra().Annotations).To(HaveKey(faultlinev1.CurrentMoveAnnotation), "write %d", n)
	}
}

func TestAManagerThatDiesWhileItTakesAMoveBackTakesAllOfItBack(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		w := newWorld(t, "aab", "abc")
		w.reconcile()
		kcp := w.kcp()
		kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		w.Expect(w.client.Update(t.Context(), kcp)).To(Succeed())
		_, err := w.reconciler(w.mortal(n)).Reconcile(t.Context(), w.request())
		w.Expect(err).To(MatchError(errDied), "write %d", n)
		w.reconcile()
		w.Expect(w.marked()).To(BeEmpty(), "write %d", n)
		w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation), "write %d", n)
		w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveAborted), HaveField("Reason", faultlinev1.ReasonControlPlanePaused))), "write %d", n)
		w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlanePaused)).To(ContainSubstring("To be moved: Machine m0 from a to c"))
	}
}

func TestAMoveIsNotTakenBackWhenThereIsAReplacement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	w.reconcile()
	w.notice("m0")
	w.machine("m9", "c")
	w.setMachine("m1", clusterv1.MachineReadyCondition, metav1.ConditionFalse, "NotReady")
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
}

func TestAControlPlaneThatDoesNotReactIsLeftAloneAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	w.reconcile()
	first := w.machineNow("m0").Annotations[clusterv1.DeleteMachineAnnotation]
	w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
	w.reconcile()
	w.Expect(w.machineNow("m0").Annotations[clusterv1.DeleteMachineAnnotation]).NotTo(Equal(first), "it is woken again")
	w.clock.SetTime(w.clock.Now().Add(2 * time.Minute))
	result := w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneDoesNotMove)).To(ContainSubstring("RolloutAfter"))
	w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
}

func TestWhatAPersonHasMarkedIsNeverTouched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	machine := w.machineNow("m0")
	machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: "mine"}
	w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonMachineMarked)).To(ContainSubstring("Machine m0"))
	w.Expect(w.machineNow("m0").ResourceVersion).To(Equal(machine.ResourceVersion))
	w.Expect(w.clonedFrom("m0")).To(Equal("template"))
}

func TestAMarkThatAPersonMakesTheirOwnStaysWhenTheMoveIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
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

// Whatever a person takes off a machine that moves, nothing of the move is left when it is over.
func TestWhatAPersonTakesOffAMoveLeavesNothingOfItBehind(t *testing.T) {
	t.Parallel()
	for name, off := range map[string][]string{
		"delete-machine":                    {clusterv1.DeleteMachineAnnotation},
		"the mark beside it":                {faultlinev1.MarkedForMoveAnnotation},
		"both":                              {clusterv1.DeleteMachineAnnotation, faultlinev1.MarkedForMoveAnnotation},
		"the record":                        {faultlinev1.CurrentMoveAnnotation},
		"the record and the mark beside it": {faultlinev1.CurrentMoveAnnotation, faultlinev1.MarkedForMoveAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "aab", "abc")
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

func TestAnEvenNumberOfMachinesIsMovedWhereEtcdRunsElsewhere(t *testing.T) {
	t.Parallel()
	for name, external := range map[string]bool{"etcd on the machines": false, "etcd elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "aabb", "abc")
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

// between runs something after everything was read and before the first write.
func (w *world) between(do func()) client.Client {
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

func TestWhoeverWritesInBetweenMakesTheManagerLookAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	result, err := w.reconciler(w.between(func() {
		infra := w.infra()
		infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceAdvise
		w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	})).Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(patch.CatchUp))
	w.Expect(w.marked()).To(BeEmpty())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonNotBalanced)).To(And(
		ContainSubstring("Machine m0 from a to c"), ContainSubstring("SurgeOne")))
	w.Expect(w.known().Plan).To(HaveLen(1))
}

func TestAMarkOfAPersonThatComesInBetweenIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	_, err := w.reconciler(w.mortal(2)).Reconcile(t.Context(), w.request()) // the record is written
	w.Expect(err).To(MatchError(errDied))
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

// frozen is a cache that shows things as they are now for ever.
func (w *world) frozen() client.Client {
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

func TestACacheThatIsBehindBeginsNoSecondMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	stale := w.frozen()
	w.reconcile()
	record := w.infra().Annotations[faultlinev1.CurrentMoveAnnotation]
	w.notice("m0")
	w.machine("m9", "b") // as the control plane may choose among equals; m1 would be the next
	_, err := w.reconciler(stale).Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.Expect(w.infra().Annotations[faultlinev1.CurrentMoveAnnotation]).To(Equal(record))
}

func TestTheSameManagerStandsBackFromWhatIsOlderThanItsOwnWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	r := w.reconciler(w.frozen())
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	result, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(patch.CatchUp))
}

func TestNothingIsWrittenInSteadyState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "abc", "abc")
	w.reconcile()
	w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)
	r := w.reconciler(w.mortal(1))
	_, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	r.Live = nil // nor is anything read that is not in a cache, once the version is known
	result, err := r.Reconcile(t.Context(), w.request())
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.IsZero()).To(BeTrue())
}

func TestAPausedClusterIsNotLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	owner := w.owner()
	owner.Spec.Paused = ptr.To(true)
	w.Expect(w.client.Update(t.Context(), owner)).To(Succeed())
	w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.infra().Status.Conditions).To(BeEmpty())
}

func TestOffTakesConditionAndPlanAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
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

func TestRolloutAfterIsSetOnceOnTheControlPlaneOrOnTheTopology(t *testing.T) {
	t.Parallel()
	for _, topology := range []bool{false, true} {
		w := newWorld(t, "aab", "abc")
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

func TestADamagedRecordIsLeftToAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "aab", "abc")
	infra := w.infra()
	infra.Annotations = map[string]string{faultlinev1.CurrentMoveAnnotation: "{"}
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	w.reconcile()
	w.condition(metav1.ConditionUnknown, faultlinev1.ReasonMoveRecordInvalid)
	w.Expect(w.marked()).To(BeEmpty())
}

func TestAMachineThatIsElsewhereThanAskedCountsWhereItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "abc", "abc")
	machine := w.machineNow("m2")
	machine.Status.FailureDomain = "a"
	w.status(machine)
	w.reconcile()
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonTargetNotAvailable) // the control plane takes c for one that has a machine
}

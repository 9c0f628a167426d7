// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/shared/simulation"
)

const (
	creatorLabel = "harvesterhci.io/creator"
	// labelsCopiedFor is the creator whose virtual machines get the labels of their host.
	labelsCopiedFor = "docker-machine-driver-harvester"
)

// instances simulates virt-controller and virt-handler for VirtualMachineInstances: it creates the Pod of each and follows it to
// a host.
type instances struct {
	client  client.Client
	clock   *controllers.Clock
	delays  controllers.Delays
	guests  *Guests
	faults  *controllers.FaultTable
	written simulation.Guard
}

// Reconcile advances an instance until it has to wait.
func (r *instances) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := r.client.Get(ctx, req.NamespacedName, vmi); err != nil {
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if wait := r.written.Wait(vmi); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if r.faults.Has(controllers.NoVirtController, vmi) {
		return ctrl.Result{}, nil
	}
	v, err := r.observe(ctx, vmi)
	if err != nil {
		return ctrl.Result{}, err
	}
	if vmi.DeletionTimestamp != nil {
		return r.stop(ctx, v)
	}
	if err := r.deleteSourcePod(ctx, v); err != nil {
		return ctrl.Result{}, err
	}
	before := vmi.DeepCopy()
	wait, err := r.advance(ctx, v)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !apiequality.Semantic.DeepEqual(before, vmi) {
		if err := r.client.Update(ctx, vmi); controllers.IgnoreStale(err) != nil {
			return ctrl.Result{}, fmt.Errorf("updating instance: %w", err)
		} else if err == nil {
			r.written.Wrote(vmi)
		}
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// instanceState holds everything that the next phase of an instance depends on.
type instanceState struct {
	vmi *kubevirtv1.VirtualMachineInstance
	// pod is the Pod of the instance; target is the Pod that it migrates to.
	pod, target *corev1.Pod
	pods        []corev1.Pod
	// host is the host of the Pod, or of the instance if it has no Pod.
	host *corev1.Node
	// missingClaim is a claim that does not exist, and unbound reports whether a claim is not bound: the instance waits for both.
	missingClaim string
	unbound      bool
}

func (r *instances) observe(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (*instanceState, error) {
	v := &instanceState{vmi: vmi}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(vmi.Namespace), client.MatchingFields{createdByField: string(vmi.UID)}); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	v.pods = pods.Items
	v.sortPods()
	on := vmi.Status.NodeName
	if v.pod != nil {
		on = v.pod.Spec.NodeName
	}
	if on != "" {
		v.host = &corev1.Node{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: on}, v.host); apierrors.IsNotFound(err) {
			v.host = nil
		} else if err != nil {
			return nil, fmt.Errorf("reading host: %w", err)
		}
	}
	return v, r.claims(ctx, v)
}

// sortPods finds the Pod of the instance and the target Pod of its migration.
func (v *instanceState) sortPods() {
	target := ""
	if isMigrating(v.vmi) {
		target = v.vmi.Status.MigrationState.TargetPod
	}
	for i := range v.pods {
		switch pod := &v.pods[i]; {
		case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		case pod.Name == target:
			v.target = pod
		case v.vmi.Status.NodeName == "" || pod.Spec.NodeName == v.vmi.Status.NodeName:
			v.pod = pod
		}
	}
}

// isMigrating reports whether an instance is being migrated.
func isMigrating(vmi *kubevirtv1.VirtualMachineInstance) bool {
	state := vmi.Status.MigrationState
	return state != nil && !state.Completed && !state.Failed
}

func (r *instances) claims(ctx context.Context, v *instanceState) error {
	for _, name := range cluster.ClaimsOf(&v.vmi.Spec) {
		claim := &corev1.PersistentVolumeClaim{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: v.vmi.Namespace, Name: name}, claim)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading volume: %w", err)
		}
		if err != nil {
			v.missingClaim = name
		}
		v.unbound = v.unbound || claim.Status.Phase != corev1.ClaimBound
	}
	return nil
}

// advance moves the instance through its phases until it has to wait. The new status is in v.vmi.
func (r *instances) advance(ctx context.Context, v *instanceState) (time.Duration, error) {
	for {
		phase := v.vmi.Status.Phase
		wait, err := r.reconcilePhase(ctx, v)
		if err != nil || wait > 0 || v.vmi.Status.Phase == phase {
			return wait, err
		}
	}
}

func (r *instances) reconcilePhase(ctx context.Context, v *instanceState) (time.Duration, error) {
	switch v.vmi.Status.Phase {
	case kubevirtv1.VmPhaseUnset, kubevirtv1.Pending:
		return 0, r.pending(ctx, v)
	case kubevirtv1.Scheduling:
		return 0, r.scheduling(ctx, v)
	case kubevirtv1.Scheduled:
		return r.scheduled(ctx, v)
	case kubevirtv1.Running:
		return r.running(ctx, v)
	}
	return 0, nil
}

func (r *instances) scheduled(ctx context.Context, v *instanceState) (time.Duration, error) {
	if v.pod == nil || r.faults.Has(controllers.NoStart, v.vmi) {
		setFinalPhase(v, kubevirtv1.Failed)
		return 0, nil
	}
	if !cluster.HostReady(v.host) {
		return 0, nil
	}
	if wait := r.clock.Remaining(v.vmi.UID, "boot", r.delays.Boot); wait > 0 {
		return wait, nil
	}
	if err := r.guests.Boot(ctx, v.vmi); err != nil {
		return 0, err
	}
	v.vmi.Status.Phase = kubevirtv1.Running
	v.vmi.Status.PhaseTransitionTimestamps = append(v.vmi.Status.PhaseTransitionTimestamps,
		kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp{Phase: kubevirtv1.Running, PhaseTransitionTimestamp: metav1.Now()})
	return 0, nil
}

// hasRun reports whether an instance has ever been Running.
func hasRun(vmi *kubevirtv1.VirtualMachineInstance) bool {
	return slices.ContainsFunc(vmi.Status.PhaseTransitionTimestamps, func(t kubevirtv1.VirtualMachineInstancePhaseTransitionTimestamp) bool {
		return t.Phase == kubevirtv1.Running
	})
}

// running updates the status of a running instance. If its host has no power, it is not running, but no component on the host can
// report that: like its Pod it only becomes not ready, without a reason.
func (r *instances) running(ctx context.Context, v *instanceState) (time.Duration, error) {
	if v.pod != nil && !cluster.HostReady(v.host) {
		controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, "", "")
		return 0, r.guests.Stop(ctx, v.vmi)
	}
	wait, err := r.guest(ctx, v)
	switch {
	case v.vmi.Status.Phase != kubevirtv1.Running:
	case controllers.ConditionOf(v.vmi, kubevirtv1.VirtualMachineInstancePaused) != nil:
		controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, cluster.ReadinessGatesNotReady,
			cluster.ReadinessGateMessage(kubevirtv1.VirtualMachineUnpaused, corev1.ConditionFalse))
	default:
		controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionTrue, "", "")
	}
	return wait, err
}

// guest follows a guest on a responsive host.
func (r *instances) guest(ctx context.Context, v *instanceState) (time.Duration, error) {
	switch {
	case v.pod == nil, r.faults.Has(controllers.Crash, v.vmi):
		setFinalPhase(v, kubevirtv1.Failed)
		return 0, nil
	case r.faults.Has(controllers.PowersOff, v.vmi):
		setFinalPhase(v, kubevirtv1.Succeeded)
		return 0, r.guests.Stop(ctx, v.vmi)
	case r.faults.Has(controllers.Paused, v.vmi):
		controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstancePaused, corev1.ConditionTrue, "PausedIOError", "VMI was paused, due to an IO error")
		return 0, nil
	}
	controllers.RemoveCondition(v.vmi, kubevirtv1.VirtualMachineInstancePaused)
	controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstanceIsMigratable, corev1.ConditionTrue, "", "")
	moving, err := r.migrate(ctx, v)
	if err != nil || moving > 0 {
		return moving, err
	}
	copyHostLabels(v.vmi, v.host)
	answers := r.clock.Remaining(v.vmi.UID, "agent", r.delays.Agent)
	return answers, r.guests.Report(ctx, v.vmi, answers == 0)
}

// migrate moves the instance to the host of its target Pod, once that is scheduled. It returns the remaining time of the
// migration.
func (r *instances) migrate(ctx context.Context, v *instanceState) (time.Duration, error) {
	if v.target == nil || v.target.Spec.NodeName == "" {
		return 0, nil
	}
	host := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: v.target.Spec.NodeName}, host); err != nil {
		return 0, fmt.Errorf("reading host: %w", err)
	}
	state := v.vmi.Status.MigrationState
	if left := r.clock.Remaining(v.vmi.UID, "migration "+string(state.MigrationUID), r.delays.Migration); left > 0 || !cluster.HostReady(host) {
		return left, nil
	}
	state.Completed, state.TargetNode, state.EndTimestamp = true, host.Name, ptr.To(metav1.Now())
	state.SourcePod, v.vmi.Status.NodeName = v.pod.Name, host.Name
	metav1.SetMetaDataLabel(&v.vmi.ObjectMeta, kubevirtv1.NodeNameLabel, host.Name)
	v.pod, v.target, v.host = v.target, nil, host
	return 0, nil
}

// deleteSourcePod deletes the source Pod of a completed migration.
func (r *instances) deleteSourcePod(ctx context.Context, v *instanceState) error {
	state := v.vmi.Status.MigrationState
	for i := range v.pods {
		if state != nil && state.Completed && v.pods[i].Name == state.SourcePod {
			return r.remove(ctx, &v.pods[i])
		}
	}
	return nil
}

// remove force deletes a Pod.
func (r *instances) remove(ctx context.Context, pod *corev1.Pod) error {
	return r.terminate(ctx, pod, client.GracePeriodSeconds(0))
}

// terminate deletes a Pod, which the kubelet of its host ends unless options are given.
func (r *instances) terminate(ctx context.Context, pod *corev1.Pod, options ...client.DeleteOption) error {
	if pod.DeletionTimestamp != nil && len(options) == 0 {
		return nil
	}
	err := r.client.Delete(ctx, pod, append(options, client.Preconditions{UID: &pod.UID})...)
	if controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("deleting pod: %w", err)
	}
	return nil
}

// setFinalPhase sets the final phase of an instance. KubeVirt reports nothing more about it.
func setFinalPhase(v *instanceState, phase kubevirtv1.VirtualMachineInstancePhase) {
	v.vmi.Status.Phase = phase
	notRunning(v)
}

// stop stops a deleted instance. It waits for its Pods, which are kept while their host does not respond.
func (r *instances) stop(ctx context.Context, v *instanceState) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(v.vmi, kubevirtv1.VirtualMachineInstanceFinalizer) {
		return ctrl.Result{}, nil
	}
	if r.faults.Has(controllers.NoShutdown, v.vmi) {
		return ctrl.Result{}, nil
	}
	if wait := r.clock.Remaining(v.vmi.UID, "shutdown", r.delays.Shutdown); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	for i := range v.pods {
		if err := r.terminate(ctx, &v.pods[i]); err != nil {
			return ctrl.Result{}, err
		}
	}
	if len(v.pods) > 0 {
		return ctrl.Result{}, nil // their deletion enqueues it
	}
	if err := r.guests.Stop(ctx, v.vmi); err != nil {
		return ctrl.Result{}, err
	}
	if err := controllers.RemoveFinalizers(ctx, r.client, v.vmi, instanceFinalizers()...); err != nil {
		return ctrl.Result{}, err
	}
	r.guests.Forget(v.vmi)
	r.clock.Forget(v.vmi.UID)
	return ctrl.Result{}, nil
}

// copyHostLabels copies the labels of the host to the instance, which Harvester does for one creator only.
func copyHostLabels(vmi *kubevirtv1.VirtualMachineInstance, host *corev1.Node) {
	if vmi.Labels[creatorLabel] != labelsCopiedFor {
		return
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelHostname} {
		if value, ok := host.Labels[key]; ok {
			metav1.SetMetaDataAnnotation(&vmi.ObjectMeta, key, value)
		}
	}
}

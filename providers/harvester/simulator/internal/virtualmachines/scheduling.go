// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/cluster"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// volumesGate keeps a Pod from being scheduled until its claims are bound.
const volumesGate = "simulator.harvesterhci.io/volumes"

func (r *instances) pending(ctx context.Context, v *instanceState) error {
	v.vmi.Status.Phase = kubevirtv1.Pending
	if v.missingClaim != "" {
		notRunning(v)
		setUnschedulable(v, corev1.PodReasonUnschedulable, fmt.Sprintf("PVC %s/%s does not exist, waiting for it to appear", v.vmi.Namespace, v.missingClaim))
		return nil
	}
	if v.pod == nil {
		if err := r.launch(ctx, v); err != nil {
			return err
		}
	}
	v.vmi.Status.Phase = kubevirtv1.Scheduling
	return nil
}

// notRunning sets condition Ready of an instance that is not running, with or without a Pod.
func notRunning(v *instanceState) {
	reason, message := "GuestNotRunning", "Guest VM is not reported as running"
	if v.pod == nil {
		reason, message = "PodNotExists", "virt-launcher pod has not yet been scheduled"
	}
	controllers.SetCondition(v.vmi, kubevirtv1.VirtualMachineInstanceReady, corev1.ConditionFalse, reason, message)
}

// setUnschedulable sets why an instance is not scheduled. virt-controller keeps the first reason until the instance is scheduled,
// whatever it waits for by then.
func setUnschedulable(v *instanceState, reason, message string) {
	if controllers.ConditionOf(v.vmi, scheduledCondition) == nil {
		controllers.SetCondition(v.vmi, scheduledCondition, corev1.ConditionFalse, reason, message)
	}
}

// launch creates the Pod as soon as the claims exist. A scheduling gate holds the Pod until they are bound, because without
// PersistentVolumes kube-scheduler cannot check that.
func (r *instances) launch(ctx context.Context, v *instanceState) error {
	pod := Pod(v.vmi, string(v.vmi.UID))
	if v.unbound {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: volumesGate}}
	}
	if err := r.client.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating pod: %w", err)
	}
	v.pod = pod
	return nil
}

// scheduling copies kube-scheduler's reason why a Pod is not scheduled to the instance.
func (r *instances) scheduling(ctx context.Context, v *instanceState) error {
	notRunning(v)
	switch {
	case v.pod == nil && len(v.pods) > 0:
		setFinalPhase(v, kubevirtv1.Failed)
	case v.pod == nil:
		return r.launch(ctx, v)
	case len(v.pod.Spec.SchedulingGates) > 0:
		return r.awaitVolumes(ctx, v)
	case v.pod.Spec.NodeName == "":
		for _, condition := range v.pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				setUnschedulable(v, condition.Reason, condition.Message)
			}
		}
	case cluster.HostReady(v.host):
		controllers.RemoveCondition(v.vmi, scheduledCondition)
		v.vmi.Status.Phase, v.vmi.Status.NodeName = kubevirtv1.Scheduled, v.pod.Spec.NodeName
		metav1.SetMetaDataLabel(&v.vmi.ObjectMeta, kubevirtv1.NodeNameLabel, v.pod.Spec.NodeName)
	}
	return nil
}

// awaitVolumes sets kube-scheduler's condition for a Pod with unbound claims, and removes the scheduling gate once they are
// bound.
func (r *instances) awaitVolumes(ctx context.Context, v *instanceState) error {
	if !v.unbound {
		before := v.pod.DeepCopy()
		v.pod.Spec.SchedulingGates = nil
		if err := r.client.Patch(ctx, v.pod, client.MergeFrom(before)); controllers.IgnoreStale(err) != nil {
			return fmt.Errorf("removing the scheduling gate of pod: %w", err)
		}
		return nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing hosts: %w", err)
	}
	why := fmt.Sprintf("0/%d nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/%[1]d nodes are available: "+
		"%[1]d Preemption is not helpful for scheduling.", len(nodes.Items))
	setUnschedulable(v, corev1.PodReasonUnschedulable, why)
	for i := range v.pod.Status.Conditions {
		condition := &v.pod.Status.Conditions[i]
		if condition.Type != corev1.PodScheduled || condition.Message == why {
			continue
		}
		condition.Reason, condition.Message = corev1.PodReasonUnschedulable, why
		if err := r.client.Status().Update(ctx, v.pod); controllers.IgnoreStale(err) != nil {
			return fmt.Errorf("updating pod: %w", err)
		}
	}
	return nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachines

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// volumesGate keeps a Pod from kube-scheduler whose claims are not bound.
const volumesGate = "simulator.harvesterhci.io/volumes"

// awaitVolumes says of a Pod whose claims are not bound what kube-scheduler does, and hands it over when they are.
func (r *instances) awaitVolumes(ctx context.Context, v *situation) error {
	if !v.unbound {
		before := v.pod.DeepCopy()
		v.pod.Spec.SchedulingGates = nil
		if err := r.client.Patch(ctx, v.pod, client.MergeFrom(before)); controllers.Settled(err) != nil {
			return fmt.Errorf("handing pod to the scheduler: %w", err)
		}
		return nil
	}
	nodes := &corev1.NodeList{}
	if err := r.client.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing hosts: %w", err)
	}
	why := fmt.Sprintf("0/%d nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/%[1]d nodes are available: "+
		"%[1]d Preemption is not helpful for scheduling.", len(nodes.Items))
	unplaced(v, corev1.PodReasonUnschedulable, why)
	for i := range v.pod.Status.Conditions {
		condition := &v.pod.Status.Conditions[i]
		if condition.Type != corev1.PodScheduled || condition.Message == why {
			continue
		}
		condition.Reason, condition.Message = corev1.PodReasonUnschedulable, why
		if err := r.client.Status().Update(ctx, v.pod); controllers.Settled(err) != nil {
			return fmt.Errorf("updating pod: %w", err)
		}
	}
	return nil
}

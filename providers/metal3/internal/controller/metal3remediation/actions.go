// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"context"
	"fmt"
	"slices"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	v1beta1conditions "sigs.k8s.io/cluster-api/util/conditions/deprecated/v1beta1"
	capipatch "sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// act executes the step. All actions are idempotent.
func (r *Reconciler) act(ctx context.Context, s *scope, what action) error {
	switch what {
	case powerOff:
		return r.Hosts.PowerOff(ctx, s.host, s.remediation.UID)
	case powerOn:
		return r.Hosts.PowerOn(ctx, s.host, s.remediation.UID)
	case restart:
		return r.Hosts.Restart(ctx, s.host)
	case fence:
		return r.setTaints(ctx, s, append(slices.Clone(s.node.Spec.Taints), outOfService()))
	case backUp:
		return backUpNode(s)
	case deleteNode:
		return r.deleteNode(ctx, s)
	case finish:
		if err := r.unfence(ctx, s); err != nil {
			return err
		}
		if err := r.restore(ctx, s); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(s.remediation, infrav1.RemediationFinalizer)
		return nil
	case replace:
		return r.replace(ctx, s)
	default:
		return nil
	}
}

func (r *Reconciler) unfence(ctx context.Context, s *scope) error {
	if s.node == nil || !slices.ContainsFunc(s.node.Spec.Taints, isOutOfService) {
		return nil
	}
	return r.setTaints(ctx, s, slices.DeleteFunc(slices.Clone(s.node.Spec.Taints), isOutOfService))
}

// setTaints carries the resourceVersion: taints are a single list that Kubernetes writes to as well.
func (r *Reconciler) setTaints(ctx context.Context, s *scope, taints []corev1.Taint) error {
	workload, err := r.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return err
	}
	before := s.node.DeepCopy()
	s.node.Spec.Taints = taints
	if err := workload.Patch(ctx, s.node, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("tainting Node %s: %w", s.node.Name, err))
	}
	return nil
}

// replace excludes the host from use, and then requests that the owner replaces the Machine.
func (r *Reconciler) replace(ctx context.Context, s *scope) error {
	if s.host != nil {
		if err := r.Hosts.MarkUnhealthy(ctx, s.host); err != nil {
			return err
		}
	}
	return r.requestReplacement(ctx, s.machine)
}

// requestReplacement sets the condition with which a MachineHealthCheck, too, requests replacement of a Machine by its owner, in
// both API formats. A condition that the owner has already updated is kept.
func (r *Reconciler) requestReplacement(ctx context.Context, machine *clusterv1.Machine) error {
	helper, err := capipatch.NewHelper(machine, r.Client)
	if err != nil {
		return fmt.Errorf("patching Machine %s: %w", machine.Name, err)
	}
	if !conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedCondition) {
		conditions.Set(machine, metav1.Condition{
			Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse,
			Reason:  clusterv1.MachineOwnerRemediatedWaitingForRemediationReason,
			Message: "Rebooting the host did not help: the Machine must be replaced",
		})
	}
	if !v1beta1conditions.IsFalse(machine, clusterv1.MachineOwnerRemediatedV1Beta1Condition) {
		v1beta1conditions.MarkFalse(machine, clusterv1.MachineOwnerRemediatedV1Beta1Condition,
			clusterv1.WaitingForRemediationV1Beta1Reason, clusterv1.ConditionSeverityWarning, "")
	}
	//nolint:staticcheck // Owners of the older contract go by the older form.
	older := capipatch.WithOwnedV1Beta1Conditions{Conditions: []clusterv1.ConditionType{clusterv1.MachineOwnerRemediatedV1Beta1Condition}}
	owned := capipatch.WithOwnedConditions{Conditions: []string{clusterv1.MachineOwnerRemediatedCondition}}
	if err := helper.Patch(ctx, machine, owned, older); err != nil {
		return fmt.Errorf("patching Machine %s: %w", machine.Name, err)
	}
	return nil
}

// clear restores the hosts, and the Node unless it is deleted with its Machine.
func (r *Reconciler) clear(ctx context.Context, s *scope) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(s.remediation, infrav1.RemediationFinalizer) {
		return 0, nil
	}
	if err := r.powerOnAll(ctx, s); err != nil {
		return 0, err
	}
	stays := s.machine != nil && s.machine.DeletionTimestamp.IsZero() && s.cluster != nil && s.cluster.DeletionTimestamp.IsZero()
	if stays {
		if err := r.findNode(ctx, s); err != nil {
			return 0, err
		}
		if err := r.unfence(ctx, s); err != nil {
			return 0, err
		}
		if left := r.awaitsNode(s); left > 0 {
			return left, r.watchNodes(ctx, s)
		}
		if err := r.restore(ctx, s); err != nil {
			return 0, err
		}
	}
	controllerutil.RemoveFinalizer(s.remediation, infrav1.RemediationFinalizer)
	return 0, nil
}

// powerOnAll also finds a host that the machine has released in the meantime.
func (r *Reconciler) powerOnAll(ctx context.Context, s *scope) error {
	list := &bmov1alpha1.BareMetalHostList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.remediation.Namespace),
		client.MatchingFields{powerOffIndex: string(s.remediation.UID)}); err != nil {
		return fmt.Errorf("listing BareMetalHosts that are kept off: %w", err)
	}
	for i := range list.Items {
		if err := r.Hosts.PowerOn(ctx, &list.Items[i], s.remediation.UID); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if s.host != nil && len(list.Items) == 0 {
		return r.Hosts.PowerOn(ctx, s.host, s.remediation.UID)
	}
	return nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/hosts"
)

// kubelets plays those of all hosts: Pods that have a host run, and end there. It also plays what looks after Pods whose kubelet does not.
type kubelets struct {
	client client.Client
}

// Reconcile makes a Pod run, or ends it. One whose host does not answer stays, also one that is deleted, until the host is back, is put out of
// service or is removed, or somebody deletes the Pod by force.
func (r *kubelets) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.client.Get(ctx, req.NamespacedName, pod); err != nil || pod.Spec.NodeName == "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	host := &corev1.Node{}
	switch err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, host); {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, r.remove(ctx, pod)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("reading host: %w", err)
	case hosts.OutOfService(host) && !hosts.Alive(host):
		return ctrl.Result{}, r.remove(ctx, pod)
	case !hosts.Alive(host):
		return ctrl.Result{}, r.notReady(ctx, pod)
	case pod.DeletionTimestamp != nil:
		return ctrl.Result{}, r.remove(ctx, pod)
	}
	if pod.Status.Phase != corev1.PodPending {
		return ctrl.Result{}, nil
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	if err := r.client.Status().Update(ctx, pod); controllers.Settled(err) != nil {
		return ctrl.Result{}, fmt.Errorf("updating pod: %w", err)
	}
	return ctrl.Result{}, nil
}

// notReady is all that becomes of a Pod whose host does not answer. There is no reason.
func (r *kubelets) notReady(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != corev1.PodReady || condition.Status == corev1.ConditionFalse {
			continue
		}
		condition.Status = corev1.ConditionFalse
		if err := r.client.Status().Update(ctx, pod); controllers.Settled(err) != nil {
			return fmt.Errorf("updating pod: %w", err)
		}
	}
	return nil
}

func (r *kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if controllers.Settled(err) != nil {
		return fmt.Errorf("removing pod: %w", err)
	}
	return nil
}

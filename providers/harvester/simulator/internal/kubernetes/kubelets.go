// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/hosts"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/timing"
)

// kubelets plays those of all hosts: Pods that have a host run, and end there.
type kubelets struct {
	client client.Client
	clock  *timing.Clock
	// reset is until the Pods of a host that has gone are given up.
	reset time.Duration
}

// Reconcile makes a Pod run, or ends it. One whose host is away stays as it is until it is given up.
func (r *kubelets) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.client.Get(ctx, req.NamespacedName, pod); err != nil || pod.Spec.NodeName == "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	host := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, host); err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("reading host: %w", err)
	}
	if !hosts.Alive(host) {
		if wait := r.clock.Left(pod.UID, "reset", r.reset); wait > 0 {
			return ctrl.Result{RequeueAfter: wait}, nil
		}
		return ctrl.Result{}, r.remove(ctx, pod)
	}
	r.clock.Reset(pod.UID, "reset")
	if pod.DeletionTimestamp != nil {
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

func (r *kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	r.clock.Forget(pod.UID)
	err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if controllers.Settled(err) != nil {
		return fmt.Errorf("removing pod: %w", err)
	}
	return nil
}

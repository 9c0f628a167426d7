// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// kubelets simulates the kubelets of all hosts: scheduled Pods run, and end. It also simulates the controllers that clean up Pods
// of unresponsive kubelets.
type kubelets struct {
	client client.Client
	// graceful keeps a deleted Pod until its guest has shut down. The simulated virt-controller instead deletes the Pod after the
	// shutdown.
	graceful bool
}

// Reconcile starts or ends a Pod. A Pod whose host does not respond is kept, even if it is deleted, until the host is back, out
// of service or removed, or the Pod is force deleted.
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
	case OutOfService(host) && !HostReady(host):
		return ctrl.Result{}, r.remove(ctx, pod)
	case !HostReady(host):
		return ctrl.Result{}, r.notReady(ctx, pod)
	case pod.DeletionTimestamp != nil:
		if on, err := r.guestRunning(ctx, pod); on || err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.remove(ctx, pod)
	}
	return ctrl.Result{}, r.run(ctx, pod)
}

// run starts the containers of a Pod. The Pod is ready once the conditions of its readiness gates are true.
func (r *kubelets) run(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodPending && pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	if len(pod.Status.ContainerStatuses) == 0 {
		for i := range pod.Spec.Containers {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image, Ready: true, Started: ptr.To(true),
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			})
		}
	}
	setPodReady(pod)
	if apiequality.Semantic.DeepEqual(before.Status, pod.Status) {
		return nil
	}
	if err := r.client.Status().Update(ctx, pod); controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("updating pod: %w", err)
	}
	return nil
}

// ReadinessGatesNotReady is the reason of a Pod whose containers are ready but whose readiness gates are not.
const ReadinessGatesNotReady = "ReadinessGatesNotReady"

// ReadinessGateMessage returns a kubelet's message about a readiness gate whose condition is not True; "" is the status of a missing
// condition.
func ReadinessGateMessage(gate corev1.PodConditionType, status corev1.ConditionStatus) string {
	if status == "" {
		return fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate)
	}
	return fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate, status)
}

// setPodReady sets condition Ready of a Pod with running containers.
func setPodReady(pod *corev1.Pod) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	var problems []string
	for _, gate := range pod.Spec.ReadinessGates {
		var status corev1.ConditionStatus
		for _, c := range pod.Status.Conditions {
			if c.Type == gate.ConditionType {
				status = c.Status
			}
		}
		if status != corev1.ConditionTrue {
			problems = append(problems, ReadinessGateMessage(gate.ConditionType, status))
		}
	}
	if len(problems) > 0 {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, ReadinessGatesNotReady, strings.Join(problems, ", ")
	}
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, ready)
		return
	}
	known := &pod.Status.Conditions[at]
	known.Status, known.Reason, known.Message = ready.Status, ready.Reason, ready.Message
}

// guestRunning reports whether a deleted Pod must wait for its guest to shut down.
func (r *kubelets) guestRunning(ctx context.Context, pod *corev1.Pod) (bool, error) {
	owner := metav1.GetControllerOf(pod)
	if !r.graceful || owner == nil || owner.Kind != kubevirtv1.VirtualMachineInstanceGroupVersionKind.Kind {
		return false, nil
	}
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: owner.Name}, vmi); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return vmi.UID == owner.UID && vmi.Status.NodeName == pod.Spec.NodeName && (vmi.IsRunning() || vmi.IsScheduled()), nil
}

// podsOf returns the Pods of an instance.
func podsOf(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, vmi client.Object) []reconcile.Request {
		pods := &corev1.PodList{}
		err := c.List(ctx, pods, client.InNamespace(vmi.GetNamespace()), client.MatchingLabels{kubevirtv1.CreatedByLabel: string(vmi.GetUID())})
		return controllers.Requests(ctx, pods, err)
	}
}

// notReady sets the only change of a Pod whose host does not respond: condition Ready becomes False without a reason.
func (r *kubelets) notReady(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != corev1.PodReady || condition.Status == corev1.ConditionFalse {
			continue
		}
		condition.Status = corev1.ConditionFalse
		if err := r.client.Status().Update(ctx, pod); controllers.IgnoreStale(err) != nil {
			return fmt.Errorf("updating pod: %w", err)
		}
	}
	return nil
}

func (r *kubelets) remove(ctx context.Context, pod *corev1.Pod) error {
	err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if controllers.IgnoreStale(err) != nil {
		return fmt.Errorf("removing pod: %w", err)
	}
	return nil
}

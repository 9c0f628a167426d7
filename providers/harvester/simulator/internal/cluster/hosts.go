// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

// PodField indexes Pods by their host.
const PodField = "spec.nodeName"

// IndexPods indexes Pods by their host.
func IndexPods(ctx context.Context, set *controllers.Set) error {
	return set.IndexField(ctx, &corev1.Pod{}, PodField, func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} })
}

// Hosts manages the hosts of a Harvester cluster.
type Hosts struct {
	client client.Client
	now    func() time.Time
}

// NewHosts returns the hosts of a cluster, managed with an administrator's client. now provides the time of changes.
func NewHosts(c client.Client, now func() time.Time) *Hosts { return &Hosts{client: c, now: now} }

// Add adds a healthy host with this status.
func (h *Hosts) Add(ctx context.Context, node *corev1.Node, status corev1.NodeStatus) error {
	taints := node.Spec.Taints
	if err := h.client.Create(ctx, node); err != nil {
		return fmt.Errorf("creating host %s: %w", node.Name, err)
	}
	node.Status = status
	node.Status.Conditions = []corev1.NodeCondition{h.readiness(corev1.ConditionTrue)}
	if err := h.client.Status().Update(ctx, node); err != nil {
		return fmt.Errorf("setting host %s ready: %w", node.Name, err)
	}
	// The API server has added the not-ready taint, which the node lifecycle controller would remove.
	return h.update(ctx, node.Name, func(node *corev1.Node) { node.Spec.Taints = taints })
}

// Remove permanently removes a host from the cluster.
func (h *Hosts) Remove(ctx context.Context, host string) error {
	return h.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host}})
}

// Cordon makes a host unschedulable.
func (h *Hosts) Cordon(ctx context.Context, host string) error {
	return h.update(ctx, host, func(node *corev1.Node) { node.Spec.Unschedulable = true })
}

// Uncordon reverts Cordon.
func (h *Hosts) Uncordon(ctx context.Context, host string) error {
	return h.update(ctx, host, func(node *corev1.Node) { node.Spec.Unschedulable = false })
}

// Label sets a label of a host; an empty value removes it.
func (h *Hosts) Label(ctx context.Context, host, key, value string) error {
	return h.update(ctx, host, func(node *corev1.Node) {
		if value == "" {
			delete(node.Labels, key)
		} else {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
		}
	})
}

// Power switches the power of a host on or off. kube-scheduler uses the host only while its kubelet responds. Pods that were
// running when the power was cut have failed when it is restored.
func (h *Hosts) Power(ctx context.Context, host string, on bool) error {
	if on {
		return errors.Join(h.failPods(ctx, host), h.setKubeletReady(ctx, host, corev1.ConditionTrue), h.update(ctx, host, removeUnreachableTaints))
	}
	return errors.Join(h.update(ctx, host, addUnreachableTaints), h.setKubeletReady(ctx, host, corev1.ConditionUnknown))
}

// failPods marks the Pods of a host without power as failed, as its kubelet does when it starts and finds none of their
// containers.
func (h *Hosts) failPods(ctx context.Context, host string) error {
	node := &corev1.Node{}
	if err := h.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
		return fmt.Errorf("reading host: %w", err)
	}
	if HostReady(node) {
		return nil
	}
	pods := &corev1.PodList{}
	if err := h.client.List(ctx, pods, client.MatchingFields{PodField: host}); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodFailed
		if err := h.client.Status().Patch(ctx, pod, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("ending pod: %w", err)
		}
	}
	return nil
}

// PutOutOfService marks an unresponsive host as out of service.
func (h *Hosts) PutOutOfService(ctx context.Context, host string) error {
	return h.update(ctx, host, addOutOfServiceTaint)
}

func addOutOfServiceTaint(node *corev1.Node) {
	if !OutOfService(node) {
		node.Spec.Taints = append(node.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute})
	}
}

// OutOfService reports whether a host is marked as out of service.
func OutOfService(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// setKubeletReady sets whether the kubelet of a host responds.
func (h *Hosts) setKubeletReady(ctx context.Context, host string, status corev1.ConditionStatus) error {
	return controllers.RetryOnConflict(func() error {
		node := &corev1.Node{}
		if err := h.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
			return fmt.Errorf("reading host: %w", err)
		}
		node.Status.Conditions = []corev1.NodeCondition{h.readiness(status)}
		return h.client.Status().Update(ctx, node)
	})
}

func (h *Hosts) readiness(status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.NewTime(h.now())
	condition := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: "KubeletReady", Message: "kubelet is posting ready status",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
	if status != corev1.ConditionTrue {
		condition.Reason, condition.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	return condition
}

func removeUnreachableTaints(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeOutOfService
	})
}

func addUnreachableTaints(node *corev1.Node) {
	removeUnreachableTaints(node)
	node.Spec.Taints = append(node.Spec.Taints,
		corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
}

func (h *Hosts) update(ctx context.Context, host string, change func(*corev1.Node)) error {
	return controllers.RetryOnConflict(func() error {
		node := &corev1.Node{}
		if err := h.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
			return fmt.Errorf("reading host: %w", err)
		}
		change(node)
		return h.client.Update(ctx, node)
	})
}

// InZone returns the names of the hosts in a zone; it returns an error if there are none.
func (h *Hosts) InZone(ctx context.Context, zone string) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := h.client.List(ctx, nodes, client.MatchingLabels{corev1.LabelTopologyZone: zone}); err != nil {
		return nil, fmt.Errorf("listing hosts: %w", err)
	}
	if len(nodes.Items) == 0 {
		return nil, fmt.Errorf("no host is in zone %q", zone)
	}
	names := make([]string, 0, len(nodes.Items))
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	return names, nil
}

// HostReady reports whether the kubelet of a host responds; false for nil.
func HostReady(host *corev1.Node) bool {
	return host != nil && slices.ContainsFunc(host.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

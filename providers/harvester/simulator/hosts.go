// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cordon lets no further virtual machine start on a host.
func (s *Simulator) Cordon(ctx context.Context, host string) error {
	return s.changeHost(ctx, host, func(node *corev1.Node) { node.Spec.Unschedulable = true })
}

// Uncordon ends Cordon and Drain: virtual machines that Drain has shut down start again.
func (s *Simulator) Uncordon(ctx context.Context, host string) error {
	if err := s.changeHost(ctx, host, func(node *corev1.Node) { node.Spec.Unschedulable = false }); err != nil {
		return err
	}
	return s.restart(ctx, host)
}

// Label sets a label of a host; an empty value takes it away.
func (s *Simulator) Label(ctx context.Context, host, key, value string) error {
	return s.changeHost(ctx, host, func(node *corev1.Node) {
		if value == "" {
			delete(node.Labels, key)
		} else {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
		}
	})
}

// Lose takes the power from a host. Its virtual machines are unknown until Delays.Reset is over; then they have failed, and
// start elsewhere if they may.
func (s *Simulator) Lose(ctx context.Context, host string) error {
	return s.powerHost(ctx, host, false)
}

// Return gives a host its power back.
func (s *Simulator) Return(ctx context.Context, host string) error {
	return s.powerHost(ctx, host, true)
}

// powerHost has kube-scheduler use a host only while its kubelet answers.
func (s *Simulator) powerHost(ctx context.Context, host string, on bool) error {
	if on {
		return errors.Join(s.answers(ctx, host, corev1.ConditionTrue), s.changeHost(ctx, host, reached))
	}
	return errors.Join(s.changeHost(ctx, host, unreached), s.answers(ctx, host, corev1.ConditionUnknown))
}

// answers sets whether the kubelet of a host does.
func (s *Simulator) answers(ctx context.Context, host string, status corev1.ConditionStatus) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := s.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
			return fmt.Errorf("reading host: %w", err)
		}
		node.Status.Conditions = []corev1.NodeCondition{readiness(status, metav1.NewTime(s.settings.now()))}
		return s.client.Status().Update(ctx, node)
	})
}

func reached(node *corev1.Node) {
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
	if _, runs := node.Labels[kubevirtv1.NodeSchedulable]; runs {
		node.Labels[kubevirtv1.NodeSchedulable] = "true"
	}
}

func unreached(node *corev1.Node) {
	reached(node)
	if _, runs := node.Labels[kubevirtv1.NodeSchedulable]; runs {
		node.Labels[kubevirtv1.NodeSchedulable] = "false"
	}
	node.Spec.Taints = append(node.Spec.Taints,
		corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
}

// RemoveHost takes a host out of the cluster for good, with what ran on it.
func (s *Simulator) RemoveHost(ctx context.Context, host string) error {
	return s.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host}})
}

func (s *Simulator) changeHost(ctx context.Context, host string, change func(*corev1.Node)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node := &corev1.Node{}
		if err := s.client.Get(ctx, client.ObjectKey{Name: host}, node); err != nil {
			return fmt.Errorf("reading host: %w", err)
		}
		change(node)
		return s.client.Update(ctx, node)
	})
}

// zoneHosts are the hosts of a zone.
func (s *Simulator) zoneHosts(ctx context.Context, zone string) ([]string, error) {
	nodes := &corev1.NodeList{}
	if err := s.client.List(ctx, nodes, client.MatchingLabels{corev1.LabelTopologyZone: zone}); err != nil {
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

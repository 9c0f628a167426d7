// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
)

// observe collects everything that the next step depends on.
func (r *Reconciler) observe(ctx context.Context, s *scope) (situation, error) {
	spec, state := s.remediation.Spec.Strategy, s.remediation.Status
	now := situation{
		phase: state.Phase, tries: state.RetryCount, limit: orDefault(spec.RetryLimit, infrav1.DefaultRemediationRetryLimit),
		timeout:    time.Duration(orDefault(spec.TimeoutSeconds, infrav1.DefaultRemediationTimeoutSeconds)) * time.Second,
		unfinished: controllerutil.ContainsFinalizer(s.remediation, infrav1.RemediationFinalizer),
	}
	if state.LastRemediated != nil {
		now.elapsed = r.Clock.Since(state.LastRemediated.Time)
	}
	if s.host != nil {
		now.host = hostState{
			found: s.host.DeletionTimestamp.IsZero(), wanted: s.host.Spec.Online, mustRun: s.host.Spec.DisablePowerOff,
			powerOffRequested: hosts.PowerOffRequested(s.host, s.remediation.UID), running: s.host.Status.PoweredOn,
		}
	}
	if !now.needsNode() {
		return now, nil
	}
	var err error
	now.node, err = r.observeNode(ctx, s)
	now.taintUnsupported, now.backedUp = taintUnsupported(s.node), isBackedUp(s.remediation)
	if errors.Is(err, clustercache.ErrClusterNotConnected) {
		now.node, err = nodeUnreachable, nil
	}
	return now, err
}

func orDefault(value, fallback int32) int32 {
	if value == 0 {
		return fallback
	}
	return value
}

// needsNode reports whether the next step depends on the Node, which takes requests to read.
func (s situation) needsNode() bool {
	switch s.phase {
	case infrav1.RemediationRunning:
		return s.host.powerOffRequested && !s.host.running
	case infrav1.RemediationWaiting:
		return s.host.running && !s.host.powerOffRequested && s.unfinished
	default:
		return false
	}
}

// observeNode reads the Node and, if it is out of service, whether its Pods and volumes have been moved.
func (r *Reconciler) observeNode(ctx context.Context, s *scope) (nodeState, error) {
	if err := r.findNode(ctx, s); err != nil {
		return "", err
	}
	switch {
	case s.node == nil:
		return nodeDeleted, nil
	case !slices.ContainsFunc(s.node.Spec.Taints, isOutOfService):
		return nodeInService, nil
	case s.remediation.Status.Phase != infrav1.RemediationRunning:
		return nodeDrained, nil // only relevant in phase Running
	}
	live, err := r.Workloads.GetUncachedClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return "", err
	}
	pods, attachments := &corev1.PodList{}, &storagev1.VolumeAttachmentList{}
	if err := live.List(ctx, pods, client.MatchingFields{"spec.nodeName": s.node.Name}); err != nil {
		return "", fmt.Errorf("listing Pods of Node %s: %w", s.node.Name, err)
	}
	if err := live.List(ctx, attachments); err != nil {
		return "", fmt.Errorf("listing VolumeAttachments: %w", err)
	}
	if drained(s.node.Name, pods.Items, attachments.Items) {
		return nodeDrained, nil
	}
	return nodeDraining, nil
}

// findNode reads the machine's Node from the cache.
func (r *Reconciler) findNode(ctx context.Context, s *scope) error {
	if s.cluster == nil || !s.machine.Status.NodeRef.IsDefined() {
		return nil
	}
	reader, err := r.Workloads.GetReader(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	if err := reader.Get(ctx, client.ObjectKey{Name: s.machine.Status.NodeRef.Name}, node); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading Node %s: %w", s.machine.Status.NodeRef.Name, err)
	}
	s.node = node
	return nil
}

// outOfService returns the taint that makes Kubernetes delete the Pods of a Node that is not running, and detach their volumes.
// Kubernetes ignores the value.
func outOfService() corev1.Taint {
	return corev1.Taint{Key: corev1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: corev1.TaintEffectNoExecute}
}

func isOutOfService(taint corev1.Taint) bool {
	return taint.Key == corev1.TaintNodeOutOfService && taint.Effect == corev1.TaintEffectNoExecute
}

// drained reports whether all Pods and volumes have been removed from an out-of-service Node.
func drained(node string, pods []corev1.Pod, attachments []storagev1.VolumeAttachment) bool {
	for i := range attachments {
		if attachments[i].Spec.NodeName == node {
			return false
		}
	}
	return !slices.ContainsFunc(pods, willBeDeleted)
}

// willBeDeleted reports whether Kubernetes is about to delete a Pod of an out-of-service Node. It keeps mirror Pods, finished
// Pods, and Pods that tolerate the taint.
func willBeDeleted(pod corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return false
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	taint := outOfService()
	stays := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(logr.Discard(), &taint, false)
	})
	return !stays || !pod.DeletionTimestamp.IsZero()
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3remediation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// taintSupportedSince is the first Kubernetes version in which the out-of-service taint is always enabled.
const taintSupportedSince = "1.28.0"

// taintUnsupported compares the version of the kubelet, which is never newer than the control plane of its cluster. An unknown
// version counts as new.
func taintUnsupported(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
	return err == nil && kubelet.LessThan(version.MustParseGeneric(taintSupportedSince))
}

func isBackedUp(remediation *infrav1.Metal3Remediation) bool {
	_, labels := remediation.Annotations[infrav1.NodeLabelsBackupAnnotation]
	_, annotations := remediation.Annotations[infrav1.NodeAnnotationsBackupAnnotation]
	return labels || annotations
}

// backUpNode saves the labels and annotations of the Node on the remediation.
func backUpNode(s *scope) error {
	for key, marks := range map[string]map[string]string{
		infrav1.NodeLabelsBackupAnnotation: s.node.Labels, infrav1.NodeAnnotationsBackupAnnotation: s.node.Annotations,
	} {
		text, err := json.Marshal(marks)
		if err != nil {
			return fmt.Errorf("backing up Node %s: %w", s.node.Name, err)
		}
		metav1.SetMetaDataAnnotation(&s.remediation.ObjectMeta, key, string(text))
	}
	return nil
}

func forgetBackup(remediation *infrav1.Metal3Remediation) {
	delete(remediation.Annotations, infrav1.NodeLabelsBackupAnnotation)
	delete(remediation.Annotations, infrav1.NodeAnnotationsBackupAnnotation)
}

// deleteNode makes Kubernetes delete the Pods of a Node that is not running, and detach their volumes. The precondition on the
// UID protects a new Node of the same name.
func (r *Reconciler) deleteNode(ctx context.Context, s *scope) error {
	workload, err := r.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return err
	}
	if err := workload.Delete(ctx, s.node, client.Preconditions{UID: ptr.To(s.node.UID)}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", s.node.Name, err)
	}
	return nil
}

// restore sets the saved labels and annotations on a Node that came back. Values that the kubelet has set since are newer and
// take precedence.
func (r *Reconciler) restore(ctx context.Context, s *scope) error {
	if !isBackedUp(s.remediation) {
		return nil
	}
	if s.node == nil {
		r.warn(s, NotRestoredReason, "The Node did not come back; its labels were %s", s.remediation.Annotations[infrav1.NodeLabelsBackupAnnotation])
		return nil
	}
	workload, err := r.Workloads.GetClient(ctx, client.ObjectKeyFromObject(s.cluster))
	if err != nil {
		return err
	}
	before := s.node.DeepCopy()
	s.node.Labels = restored(s.remediation.Annotations[infrav1.NodeLabelsBackupAnnotation], s.node.Labels)
	s.node.Annotations = restored(s.remediation.Annotations[infrav1.NodeAnnotationsBackupAnnotation], s.node.Annotations)
	if err := workload.Patch(ctx, s.node, client.StrategicMergeFrom(before)); err != nil {
		return fmt.Errorf("restoring labels of Node %s: %w", s.node.Name, err)
	}
	forgetBackup(s.remediation)
	return nil
}

// restored adds the backup to the current map. A backup that cannot be parsed, because another actor has edited it, adds nothing.
func restored(backup string, now map[string]string) map[string]string {
	var marks map[string]string
	if err := json.Unmarshal([]byte(backup), &marks); err != nil || marks == nil {
		return now
	}
	maps.Copy(marks, now)
	return marks
}

// awaitsNode returns how long the end of a remediation still waits for a deleted Node to come back. The wait is limited, because
// the machine itself may be broken.
func (r *Reconciler) awaitsNode(s *scope) time.Duration {
	if !isBackedUp(s.remediation) || s.node != nil || s.remediation.Status.LastRemediated == nil {
		return 0
	}
	timeout := time.Duration(orDefault(s.remediation.Spec.Strategy.TimeoutSeconds, infrav1.DefaultRemediationTimeoutSeconds)) * time.Second
	return timeout - r.Clock.Since(s.remediation.Status.LastRemediated.Time)
}

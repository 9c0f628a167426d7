// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// readNote reads SyncedLabelsAnnotation. What is not a list of labels is as good as none: nothing is removed for it.
func readNote(text string) labels.Set {
	if text == "" {
		return labels.Set{}
	}
	set, err := labels.ConvertSelectorToLabelsMap(text)
	if err != nil {
		return labels.Set{}
	}
	return set
}

func writeNote(node *corev1.Node, note labels.Set) {
	if len(note) == 0 {
		delete(node.Annotations, SyncedLabelsAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, SyncedLabelsAnnotation, note.String())
}

func isLabelValue(value string) bool {
	return value != "" && len(validation.IsValidLabelValue(value)) == 0
}

// notices remembers what users were told last, so that a cluster of many machines is told once.
type notices struct {
	mu   sync.Mutex
	last map[client.ObjectKey]string
}

func (n *notices) news(key client.ObjectKey, text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last[key] == text {
		return false
	}
	if n.last == nil {
		n.last = map[client.ObjectKey]string{}
	}
	if n.last[key] = text; text == "" {
		delete(n.last, key)
	}
	return text != ""
}

func (r *Reconciler) tell(cluster *infrav1.Metal3Cluster, refused []string) {
	text := strings.Join(refused, ", ")
	if r.told.news(client.ObjectKeyFromObject(cluster), text) {
		r.Recorder.Eventf(cluster, nil, corev1.EventTypeWarning, RefusedPrefixReason, "SyncLabels",
			"Labels with these prefixes are not copied from hosts to Nodes: %s; change the annotation %s", text, infrav1.LabelSyncPrefixesAnnotation)
	}
}

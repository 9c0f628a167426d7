// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
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

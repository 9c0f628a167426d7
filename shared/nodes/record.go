// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// read returns the labels and failure domain recorded in a Node's annotations. An annotation that cannot be parsed counts as
// empty: nothing is removed because of it. A label under its former name counts as recorded if its name is: it stays while a policy
// removes its name.
func read(node *corev1.Node) recorded {
	set, err := labels.ConvertSelectorToLabelsMap(faultlinev1.Value(node.Annotations, faultlinev1.LabelsFromMachineAnnotation))
	if err != nil {
		set = labels.Set{}
	}
	for key := range maps.Clone(set) {
		if value, has := node.Labels[faultlinev1.FormerName(key)]; has {
			set[faultlinev1.FormerName(key)] = value
		}
	}
	return recorded{domain: node.Annotations[faultlinev1.FailureDomainAnnotation], labels: set}
}

func (t recorded) equal(other recorded) bool {
	return t.domain == other.domain && maps.Equal(t.labels, other.labels)
}

func (t recorded) write(node *corev1.Node) {
	delete(node.Annotations, formerRecord())
	for key, value := range map[string]string{
		faultlinev1.LabelsFromMachineAnnotation: t.labels.String(), faultlinev1.FailureDomainAnnotation: t.domain,
	} {
		if value == "" {
			delete(node.Annotations, key)
			continue
		}
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
	}
}

// formerRecord returns the former name of the record. Labels with former names are not renamed: the record lists them, so plan
// removes them.
func formerRecord() string { return faultlinev1.FormerName(faultlinev1.LabelsFromMachineAnnotation) }

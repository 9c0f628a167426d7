// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FormerName returns the name of an annotation or label before it moved to the domain faultline.io, or "" if it did not move.
func FormerName(key string) string {
	switch key {
	case AssignedFailureDomainAnnotation:
		return "infrastructure.cluster.x-k8s.io/assigned-failure-domain"
	case DistributionKeyLabel:
		return "infrastructure.cluster.x-k8s.io/distribution-key"
	case CurrentMoveAnnotation:
		return "infrastructure.cluster.x-k8s.io/current-move"
	case MarkedForMoveAnnotation:
		return "infrastructure.cluster.x-k8s.io/marked-for-move"
	case LabelsFromMachineAnnotation:
		return "infrastructure.cluster.x-k8s.io/labels-from-machine"
	case DistributionClassLabel:
		return "infrastructure.cluster.x-k8s.io/distribution-class"
	case ScaledByAnnotation:
		return "infrastructure.cluster.x-k8s.io/scaled-by"
	case AllowedNamespacesAnnotation:
		return "infrastructure.cluster.x-k8s.io/allowed-namespaces"
	}
	return ""
}

// Lookup returns the value of an annotation or label of Faultline, and whether it is set. It reads the former name if the name is not set.
func Lookup(set map[string]string, key string) (value string, found bool) {
	if value, found = set[key]; !found && FormerName(key) != "" {
		value, found = set[FormerName(key)]
	}
	return value, found
}

// Value returns the value of an annotation or label of Faultline, "" if it is not set. It reads the former name if the name is not set.
func Value(set map[string]string, key string) string {
	value, _ := Lookup(set, key)
	return value
}

// Rename moves the annotations and labels that Faultline writes from their former names to their names. If the object has both, the value
// under the name stays. Rename changes the object in memory only, so the next patch of the object must compare with the object as it was read.
//
// Rename leaves those that users set: their template or manifest would restore the former name, and a change there would have no effect.
func Rename(object metav1.Object) {
	object.SetAnnotations(renamed(object.GetAnnotations(),
		AssignedFailureDomainAnnotation, CurrentMoveAnnotation, MarkedForMoveAnnotation, LabelsFromMachineAnnotation))
	object.SetLabels(renamed(object.GetLabels(), DistributionKeyLabel))
}

// renamed returns a copy of the set without the former names of the keys.
func renamed(set map[string]string, keys ...string) map[string]string {
	result := maps.Clone(set)
	for _, key := range keys {
		former := FormerName(key)
		if value, has := set[former]; has {
			delete(result, former)
			if _, both := set[key]; !both {
				result[key] = value
			}
		}
	}
	return result
}

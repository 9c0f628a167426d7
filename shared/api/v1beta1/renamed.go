// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	domain       = "faultline.io/"
	formerDomain = "infrastructure.cluster.x-k8s.io/"
)

// FormerName returns the name of an annotation or label before it moved to the domain faultline.io, or "" if it did not move. Those of the
// providers are here too, so that one table serves all readers.
func FormerName(key string) string {
	name, ours := strings.CutPrefix(key, domain)
	if !ours {
		return ""
	}
	switch name {
	case "assigned-failure-domain", "distribution-key", "distribution-class", "current-move", "marked-for-move", "labels-from-machine",
		"scaled-by", "allowed-namespaces", "machine-failed", "abandon-configured", "abandon-virtual-machine":
		return formerDomain + name
	case "creating-cluster-module":
		return "vspherecluster." + formerDomain + name
	case "thumbprint":
		return "vspheremachine." + formerDomain + name
	case "metadata-hash":
		return "vspherevm." + formerDomain + name
	}
	return ""
}

// setByUsers reports whether users set the annotation or label.
func setByUsers(key string) bool {
	switch key {
	case DistributionClassLabel, ScaledByAnnotation, AllowedNamespacesAnnotation, domain + "abandon-configured", domain + "abandon-virtual-machine":
		return true
	}
	return false
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
// under the name stays. Rename changes the object in memory only, in place: the next patch of the object must compare with a copy of the object
// as it was read.
//
// Rename leaves those that users set: their template or manifest would restore the former name, and a change there would have no effect.
func Rename(object metav1.Object) {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	rename(annotations, func(key string) bool { return !setByUsers(key) })
	rename(labels, func(key string) bool { return key == DistributionKeyLabel })
	object.SetAnnotations(annotations)
	object.SetLabels(labels)
}

// rename gives the keys that Faultline writes their names instead of their former names.
func rename(set map[string]string, written func(key string) bool) {
	for former, value := range set {
		key := domain + former[strings.LastIndexByte(former, '/')+1:]
		if former == "" || FormerName(key) != former || !written(key) {
			continue
		}
		delete(set, former)
		if _, both := set[key]; !both {
			set[key] = value
		}
	}
}

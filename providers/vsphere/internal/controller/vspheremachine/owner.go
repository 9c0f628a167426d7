// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// withoutCluster removes an owner reference that old releases of upstream set: only the Machine owns the machine.
func withoutCluster(owners []metav1.OwnerReference) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool {
		group, err := schema.ParseGroupVersion(owner.APIVersion)
		return err == nil && group.Group == infrav1.GroupVersion.Group && owner.Kind == "VSphereCluster"
	})
}

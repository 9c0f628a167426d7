// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind of this package.
var GroupVersion = schema.GroupVersion{Group: "k8s.cni.cncf.io", Version: "v1"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// AddToScheme registers every kind of this package, and its list, with s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&NetworkAttachmentDefinition{}, &NetworkAttachmentDefinitionList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

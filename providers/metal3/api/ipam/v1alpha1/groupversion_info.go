// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "ipam.metal3.io", Version: "v1alpha1"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// AddToScheme registers all kinds of this package and their lists with s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&IPAddress{}, &IPAddressList{},
		&IPClaim{}, &IPClaimList{},
		&IPPool{}, &IPPoolList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

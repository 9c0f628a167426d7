// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind of this package.
var GroupVersion = schema.GroupVersion{Group: "loadbalancer.harvesterhci.io", Version: "v1beta1"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// AddToScheme registers every kind of this package, and its list, with s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&IPPool{}, &IPPoolList{},
		&IPPoolBlock{}, &IPPoolBlockList{},
		&LoadBalancer{}, &LoadBalancerList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

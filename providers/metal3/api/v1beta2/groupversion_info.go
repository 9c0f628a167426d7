// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// AddToScheme registers all kinds of this package and their lists with s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Metal3Cluster{}, &Metal3ClusterList{},
		&Metal3ClusterTemplate{}, &Metal3ClusterTemplateList{},
		&Metal3Data{}, &Metal3DataList{},
		&Metal3DataClaim{}, &Metal3DataClaimList{},
		&Metal3DataTemplate{}, &Metal3DataTemplateList{},
		&Metal3Machine{}, &Metal3MachineList{},
		&Metal3MachineTemplate{}, &Metal3MachineTemplateList{},
		&Metal3Remediation{}, &Metal3RemediationList{},
		&Metal3RemediationTemplate{}, &Metal3RemediationTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of all kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// AddToScheme registers all kinds of this package, and their lists, with s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&VSphereCluster{}, &VSphereClusterList{},
		&VSphereClusterIdentity{}, &VSphereClusterIdentityList{},
		&VSphereClusterTemplate{}, &VSphereClusterTemplateList{},
		&VSphereDeploymentZone{}, &VSphereDeploymentZoneList{},
		&VSphereFailureDomain{}, &VSphereFailureDomainList{},
		&VSphereMachine{}, &VSphereMachineList{},
		&VSphereMachineTemplate{}, &VSphereMachineTemplateList{},
		&VSphereVM{}, &VSphereVMList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

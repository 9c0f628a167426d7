// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/manager"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,verbs=patch,resourceNames=vsphereclusters.infrastructure.cluster.x-k8s.io;vsphereclustertemplates.infrastructure.cluster.x-k8s.io;vspheremachines.infrastructure.cluster.x-k8s.io;vspheremachinetemplates.infrastructure.cluster.x-k8s.io;vspherevms.infrastructure.cluster.x-k8s.io;vsphereclusteridentities.infrastructure.cluster.x-k8s.io;vspheredeploymentzones.infrastructure.cluster.x-k8s.io;vspherefailuredomains.infrastructure.cluster.x-k8s.io
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclustertemplates;vspheremachinetemplates;vspherefailuredomains,verbs=get;list;patch

// Migrated returns the kinds that v1beta1 has, too.
func Migrated() []manager.Migrated {
	return []manager.Migrated{
		{Object: &infrav1.VSphereCluster{}, Status: true},
		{Object: &infrav1.VSphereClusterIdentity{}, Status: true},
		{Object: &infrav1.VSphereClusterTemplate{}},
		{Object: &infrav1.VSphereDeploymentZone{}, Status: true},
		{Object: &infrav1.VSphereFailureDomain{}},
		{Object: &infrav1.VSphereMachine{}, Status: true},
		{Object: &infrav1.VSphereMachineTemplate{}},
		{Object: &infrav1.VSphereVM{}, Status: true},
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/manager"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,verbs=patch,resourceNames=metal3clusters.infrastructure.cluster.x-k8s.io;metal3clustertemplates.infrastructure.cluster.x-k8s.io;metal3datas.infrastructure.cluster.x-k8s.io;metal3dataclaims.infrastructure.cluster.x-k8s.io;metal3datatemplates.infrastructure.cluster.x-k8s.io;metal3machines.infrastructure.cluster.x-k8s.io;metal3machinetemplates.infrastructure.cluster.x-k8s.io;metal3remediations.infrastructure.cluster.x-k8s.io;metal3remediationtemplates.infrastructure.cluster.x-k8s.io
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters;metal3clustertemplates;metal3datas;metal3dataclaims;metal3datatemplates;metal3machines;metal3machinetemplates;metal3remediations;metal3remediationtemplates,verbs=get;list;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status;metal3datas/status;metal3dataclaims/status;metal3datatemplates/status;metal3machines/status;metal3remediations/status;metal3remediationtemplates/status,verbs=patch

// Migrated returns all kinds, because v1beta1 has all of them.
func Migrated() []manager.Migrated {
	return []manager.Migrated{
		{Object: &infrav1.Metal3Cluster{}, Status: true},
		{Object: &infrav1.Metal3ClusterTemplate{}},
		{Object: &infrav1.Metal3Data{}, Status: true, Plural: "metal3datas"},
		{Object: &infrav1.Metal3DataClaim{}, Status: true},
		{Object: &infrav1.Metal3DataTemplate{}, Status: true},
		{Object: &infrav1.Metal3Machine{}, Status: true},
		{Object: &infrav1.Metal3MachineTemplate{}},
		{Object: &infrav1.Metal3Remediation{}, Status: true},
		{Object: &infrav1.Metal3RemediationTemplate{}, Status: true},
	}
}

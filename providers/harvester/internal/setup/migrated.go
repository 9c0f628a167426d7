// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/manager"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,verbs=patch,resourceNames=harvesterclusters.infrastructure.cluster.x-k8s.io;harvesterclustertemplates.infrastructure.cluster.x-k8s.io;harvestermachines.infrastructure.cluster.x-k8s.io;harvestermachinetemplates.infrastructure.cluster.x-k8s.io
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters;harvesterclustertemplates;harvestermachines;harvestermachinetemplates,verbs=get;list;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters/status;harvestermachines/status,verbs=patch

// Migrated returns all kinds, as v1alpha1 has each of them.
func Migrated() []manager.Migrated {
	return []manager.Migrated{
		{Object: &infrav1.HarvesterCluster{}, Status: true},
		{Object: &infrav1.HarvesterClusterTemplate{}},
		{Object: &infrav1.HarvesterMachine{}, Status: true},
		{Object: &infrav1.HarvesterMachineTemplate{}},
	}
}

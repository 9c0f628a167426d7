// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/manager"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions;customresourcedefinitions/status,verbs=patch,resourceNames=loadbalancers.loadbalancer.harvesterhci.io
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get;list;patch

// Migrated returns the kind that also has v1alpha1.
func Migrated() []manager.Migrated {
	return []manager.Migrated{{Object: &lbv1.LoadBalancer{}}}
}

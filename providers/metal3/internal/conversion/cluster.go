// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func clusterToHub(src *v1beta1.Metal3Cluster, dst *infrav1.Metal3Cluster) {
	dst.Spec = clusterSpecToHub(src.Spec)
	dst.Status = infrav1.Metal3ClusterStatus{
		Conditions:     v1beta2StatusToHub(src.Status.V1Beta2),
		Initialization: infrav1.Metal3ClusterInitializationStatus{Provisioned: conversion.Pointer(src.Status.Ready)},
		FailureDomains: failureDomainsToHub(src.Status.FailureDomains),
		LastUpdated:    src.Status.LastUpdated,
		Deprecated:     deprecated(src.Status.Conditions, src.Status.FailureReason, src.Status.FailureMessage),
	}
}

func clusterFromHub(src *infrav1.Metal3Cluster, dst *v1beta1.Metal3Cluster) {
	dst.Spec = clusterSpecFromHub(src.Spec)
	dst.Status = v1beta1.Metal3ClusterStatus{
		LastUpdated:    src.Status.LastUpdated,
		Ready:          ptr.Deref(src.Status.Initialization.Provisioned, false),
		FailureDomains: failureDomainsFromHub(src.Status.FailureDomains),
		V1Beta2:        v1beta2StatusFromHub(src.Status.Conditions),
	}
	dst.Status.Conditions, dst.Status.FailureReason, dst.Status.FailureMessage = shown(src.Status.Deprecated)
}

func clusterTemplateToHub(src *v1beta1.Metal3ClusterTemplate, dst *infrav1.Metal3ClusterTemplate) {
	dst.Spec.Template.Spec = clusterSpecToHub(src.Spec.Template.Spec)
}

func clusterTemplateFromHub(src *infrav1.Metal3ClusterTemplate, dst *v1beta1.Metal3ClusterTemplate) {
	dst.Spec.Template.Spec = clusterSpecFromHub(src.Spec.Template.Spec)
}

func clusterSpecToHub(src v1beta1.Metal3ClusterSpec) infrav1.Metal3ClusterSpec {
	dst := infrav1.Metal3ClusterSpec{
		ControlPlaneEndpoint: infrav1.APIEndpoint(src.ControlPlaneEndpoint),
		CloudProviderEnabled: src.CloudProviderEnabled,
		FailureDomains:       failureDomainsToHub(src.FailureDomains),
	}
	if dst.CloudProviderEnabled == nil && src.NoCloudProvider != nil {
		dst.CloudProviderEnabled = ptr.To(!*src.NoCloudProvider)
	}
	return dst
}

func clusterSpecFromHub(src infrav1.Metal3ClusterSpec) v1beta1.Metal3ClusterSpec {
	dst := v1beta1.Metal3ClusterSpec{
		ControlPlaneEndpoint: v1beta1.APIEndpoint(src.ControlPlaneEndpoint),
		CloudProviderEnabled: src.CloudProviderEnabled,
		FailureDomains:       failureDomainsFromHub(src.FailureDomains),
	}
	if src.CloudProviderEnabled != nil {
		dst.NoCloudProvider = ptr.To(!*src.CloudProviderEnabled)
	}
	return dst
}

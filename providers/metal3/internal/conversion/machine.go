// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func machineToHub(src *v1beta1.Metal3Machine, dst *infrav1.Metal3Machine) {
	dst.Spec = machineSpecToHub(src.Spec)
	dst.Status = infrav1.Metal3MachineStatus{
		Conditions:     v1beta2StatusToHub(src.Status.V1Beta2),
		Initialization: infrav1.Metal3MachineInitializationStatus{Provisioned: conversion.Pointer(src.Status.Ready)},
		Addresses:      src.Status.Addresses,
		UserData:       src.Status.UserData, RenderedData: referenceToHub(src.Status.RenderedData),
		MetaData: src.Status.MetaData, NetworkData: src.Status.NetworkData,
		LastUpdated: src.Status.LastUpdated,
		Deprecated:  deprecated(src.Status.Conditions, src.Status.FailureReason, src.Status.FailureMessage),
	}
}

func machineFromHub(src *infrav1.Metal3Machine, dst *v1beta1.Metal3Machine) {
	dst.Spec = machineSpecFromHub(src.Spec)
	dst.Status = v1beta1.Metal3MachineStatus{
		LastUpdated: src.Status.LastUpdated,
		Addresses:   src.Status.Addresses,
		Ready:       ptr.Deref(src.Status.Initialization.Provisioned, false),
		UserData:    src.Status.UserData, RenderedData: referenceFromHub(src.Status.RenderedData),
		MetaData: src.Status.MetaData, NetworkData: src.Status.NetworkData,
		V1Beta2: v1beta2StatusFromHub(src.Status.Conditions),
	}
	dst.Status.Conditions, dst.Status.FailureReason, dst.Status.FailureMessage = shown(src.Status.Deprecated)
}

func machineTemplateToHub(src *v1beta1.Metal3MachineTemplate, dst *infrav1.Metal3MachineTemplate) {
	dst.Spec.NodeReuse = src.Spec.NodeReuse
	dst.Spec.Template.Spec = machineSpecToHub(src.Spec.Template.Spec)
	dst.Status = src.Status
}

func machineTemplateFromHub(src *infrav1.Metal3MachineTemplate, dst *v1beta1.Metal3MachineTemplate) {
	dst.Spec.NodeReuse = src.Spec.NodeReuse
	dst.Spec.Template.Spec = machineSpecFromHub(src.Spec.Template.Spec)
	dst.Status = src.Status
}

func machineSpecToHub(src v1beta1.Metal3MachineSpec) infrav1.Metal3MachineSpec {
	dst := infrav1.Metal3MachineSpec{
		ProviderID: conversion.Value(src.ProviderID),
		Image: infrav1.Image{
			URL: src.Image.URL, Checksum: conversion.Value(src.Image.Checksum),
			ChecksumType: (*infrav1.ChecksumType)(src.Image.ChecksumType), DiskFormat: (*infrav1.DiskFormat)(src.Image.DiskFormat),
		},
		UserData: src.UserData, MetaData: src.MetaData, NetworkData: src.NetworkData,
		HostSelector: infrav1.HostSelector{
			MatchLabels:      src.HostSelector.MatchLabels,
			MatchExpressions: conversion.Each(src.HostSelector.MatchExpressions, requirementToHub),
		},
		DataTemplate:          referenceToHub(src.DataTemplate),
		AutomatedCleaningMode: infrav1.CleaningMode(conversion.Value(src.AutomatedCleaningMode)),
		FailureDomain:         conversion.Value(src.FailureDomain),
	}
	if src.CustomDeploy != nil {
		dst.CustomDeploy = infrav1.CustomDeploy(*src.CustomDeploy)
	}
	return dst
}

func machineSpecFromHub(src infrav1.Metal3MachineSpec) v1beta1.Metal3MachineSpec {
	dst := v1beta1.Metal3MachineSpec{
		ProviderID: conversion.Pointer(src.ProviderID),
		Image: v1beta1.Image{
			URL: src.Image.URL, Checksum: conversion.Pointer(src.Image.Checksum),
			ChecksumType: (*string)(src.Image.ChecksumType), DiskFormat: (*string)(src.Image.DiskFormat),
		},
		UserData: src.UserData, MetaData: src.MetaData, NetworkData: src.NetworkData,
		HostSelector: v1beta1.HostSelector{
			MatchLabels:      src.HostSelector.MatchLabels,
			MatchExpressions: conversion.Each(src.HostSelector.MatchExpressions, requirementFromHub),
		},
		DataTemplate:          referenceFromHub(src.DataTemplate),
		AutomatedCleaningMode: conversion.Pointer(string(src.AutomatedCleaningMode)),
		FailureDomain:         conversion.Pointer(src.FailureDomain),
	}
	if src.CustomDeploy != (infrav1.CustomDeploy{}) {
		dst.CustomDeploy = ptr.To(v1beta1.CustomDeploy(src.CustomDeploy))
	}
	return dst
}

func requirementToHub(src v1beta1.HostSelectorRequirement) infrav1.HostSelectorRequirement {
	return infrav1.HostSelectorRequirement(src)
}

// requirementFromHub always sets values, which v1beta1 requires.
func requirementFromHub(src infrav1.HostSelectorRequirement) v1beta1.HostSelectorRequirement {
	dst := v1beta1.HostSelectorRequirement(src)
	if dst.Values == nil {
		dst.Values = []string{}
	}
	return dst
}

func referenceToHub(src *corev1.ObjectReference) *infrav1.Metal3ObjectRef {
	if src == nil {
		return nil
	}
	return &infrav1.Metal3ObjectRef{Name: src.Name, Namespace: src.Namespace}
}

func referenceFromHub(src *infrav1.Metal3ObjectRef) *corev1.ObjectReference {
	if src == nil {
		return nil
	}
	return &corev1.ObjectReference{Name: src.Name, Namespace: src.Namespace}
}

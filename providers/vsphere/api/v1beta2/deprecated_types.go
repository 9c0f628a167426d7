// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// DeprecatedStatus holds the status of older API versions. It is derived from the conditions of this version.
type DeprecatedStatus struct {
	// v1beta1 holds the status fields that only the v1beta1 API version has.
	// +optional
	V1Beta1 *V1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// V1Beta1DeprecatedStatus holds the status fields that only the v1beta1 API version has.
type V1Beta1DeprecatedStatus struct {
	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what objects of v1beta1 carry
}

// MachineDeprecatedStatus is the DeprecatedStatus of the kinds that represent a machine.
type MachineDeprecatedStatus struct {
	// v1beta1 holds the status fields that only the v1beta1 API version has.
	// +optional
	V1Beta1 *MachineV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// MachineV1Beta1DeprecatedStatus holds the status fields of a machine that only the v1beta1 API version has.
type MachineV1Beta1DeprecatedStatus struct {
	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what objects of v1beta1 carry

	// failureReason is a one-word reason for a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=10240
	FailureMessage *string `json:"failureMessage,omitempty"`
}

func deprecated(conditions clusterv1.Conditions) *DeprecatedStatus { //nolint:staticcheck // it is what objects of v1beta1 carry
	if len(conditions) == 0 {
		return nil
	}
	return &DeprecatedStatus{V1Beta1: &V1Beta1DeprecatedStatus{Conditions: conditions}}
}

func machineDeprecated(conditions clusterv1.Conditions) *MachineDeprecatedStatus { //nolint:staticcheck // it is what objects of v1beta1 carry
	if len(conditions) == 0 {
		return nil
	}
	return &MachineDeprecatedStatus{V1Beta1: &MachineV1Beta1DeprecatedStatus{Conditions: conditions}}
}

// SetV1Beta1Conditions sets the v1beta1 conditions.
func (c *VSphereCluster) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	c.Status.Deprecated = deprecated(conditions)
}

// SetV1Beta1Conditions sets the v1beta1 conditions.
func (i *VSphereClusterIdentity) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	i.Status.Deprecated = deprecated(conditions)
}

// SetV1Beta1Conditions sets the v1beta1 conditions.
func (z *VSphereDeploymentZone) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	z.Status.Deprecated = deprecated(conditions)
}

// SetV1Beta1Conditions sets the v1beta1 conditions. It clears failureReason and failureMessage, as no failure is terminal.
func (m *VSphereMachine) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	m.Status.Deprecated = machineDeprecated(conditions)
}

// SetV1Beta1Conditions sets the v1beta1 conditions. It clears failureReason and failureMessage, as no failure is terminal.
func (v *VSphereVM) SetV1Beta1Conditions(conditions clusterv1.Conditions) { //nolint:staticcheck // it is what objects of v1beta1 carry
	v.Status.Deprecated = machineDeprecated(conditions)
}

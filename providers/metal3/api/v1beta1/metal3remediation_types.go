// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3RemediationSpec defines how a machine is remediated.
type Metal3RemediationSpec struct {
	// strategy of the remediation.
	// +optional
	Strategy *RemediationStrategy `json:"strategy,omitempty"`
}

// RemediationStrategy defines how a machine is remediated.
type RemediationStrategy struct {
	// type of the remediation. Defaults to Reboot, the only type.
	// +optional
	Type string `json:"type,omitempty"`

	// retryLimit is the maximum number of attempts. Defaults to 1.
	// +optional
	RetryLimit int32 `json:"retryLimit,omitempty"`

	// timeout is the time to wait for the Node after each attempt. Defaults to 600s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Metal3RemediationStatus defines the observed state of a Metal3Remediation.
type Metal3RemediationStatus struct {
	// phase is Running, Waiting, Deleting machine or Failed.
	// +optional
	Phase string `json:"phase,omitempty"`

	// retryCount is the number of attempts so far.
	// +optional
	RetryCount int32 `json:"retryCount,omitempty"`

	// lastRemediated is the time of the last attempt.
	// +optional
	LastRemediated *metav1.Time `json:"lastRemediated,omitempty"`
}

// Metal3Remediation remediates the Machine of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3remediations,scope=Namespaced,categories=cluster-api,shortName=m3r;m3remediation
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Retry limit",type=string,JSONPath=".spec.strategy.retryLimit",description="Maximum number of attempts"
// +kubebuilder:printcolumn:name="Retry count",type=string,JSONPath=".status.retryCount",description="Number of attempts"
// +kubebuilder:printcolumn:name="Last Remediated",type=string,JSONPath=".status.lastRemediated",description="Time of the last attempt"
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=".spec.strategy.type",description="Remediation strategy"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=".status.phase",description="Phase of the remediation"
type Metal3Remediation struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines how the machine is remediated.
	// +optional
	Spec Metal3RemediationSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the remediation.
	// +optional
	Status Metal3RemediationStatus `json:"status,omitempty,omitzero"`
}

// Metal3RemediationList is a list of Metal3Remediations.
//
// +kubebuilder:object:root=true
type Metal3RemediationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Remediation `json:"items"`
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemediationType is the kind of remediation.
// +kubebuilder:validation:Enum=Reboot
type RemediationType string

// RebootRemediation powers the host off and on again.
const RebootRemediation RemediationType = "Reboot"

const (
	// DefaultRemediationRetryLimit is the default of retryLimit.
	DefaultRemediationRetryLimit int32 = 1

	// DefaultRemediationTimeoutSeconds is the default of timeoutSeconds.
	DefaultRemediationTimeoutSeconds int32 = 600

	// MinRemediationTimeoutSeconds is the minimum of timeoutSeconds; a server does not boot faster.
	MinRemediationTimeoutSeconds int32 = 100
)

// RemediationPhase is the phase of a remediation.
// +kubebuilder:validation:Enum=Running;Waiting;Deleting machine;Failed
type RemediationPhase string

const (
	// RemediationRunning is the phase in which the host is rebooted.
	RemediationRunning RemediationPhase = "Running"

	// RemediationWaiting is the phase in which the remediation waits for the Node to come back.
	RemediationWaiting RemediationPhase = "Waiting"

	// RemediationDeletingMachine is the phase after the Node did not come back: the owner of the Machine must replace it.
	RemediationDeletingMachine RemediationPhase = "Deleting machine"

	// RemediationFailed is the phase of a host that cannot be remediated, for example because it is powered off on purpose.
	RemediationFailed RemediationPhase = "Failed"
)

// Metal3RemediationSpec defines how a machine is remediated.
type Metal3RemediationSpec struct {
	// strategy of the remediation.
	// +optional
	Strategy RemediationStrategy `json:"strategy,omitempty,omitzero"`
}

// RemediationStrategy defines how a machine is remediated.
type RemediationStrategy struct {
	// type of the remediation. Defaults to Reboot, the only type.
	// +optional
	Type RemediationType `json:"type,omitempty"`

	// retryLimit is the maximum number of attempts. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	RetryLimit int32 `json:"retryLimit,omitempty"`

	// timeoutSeconds is the time to wait for the Node after each attempt. Defaults to 600.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:default=600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Metal3RemediationStatus defines the observed state of a Metal3Remediation.
type Metal3RemediationStatus struct {
	// phase is Running, Waiting, Deleting machine or Failed.
	// +optional
	Phase RemediationPhase `json:"phase,omitempty"`

	// retryCount is the number of attempts so far.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryCount int32 `json:"retryCount,omitempty"`

	// lastRemediated is the time of the last attempt.
	// +optional
	LastRemediated *metav1.Time `json:"lastRemediated,omitempty"`
}

// Metal3Remediation remediates the Machine of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3remediations,scope=Namespaced,categories=cluster-api,shortName=m3r;m3remediation
// +kubebuilder:storageversion
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

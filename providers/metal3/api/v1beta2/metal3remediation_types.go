// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemediationType is a way to heal a machine.
// +kubebuilder:validation:Enum=Reboot
type RemediationType string

// RebootRemediation powers the host off and on again.
const RebootRemediation RemediationType = "Reboot"

const (
	// DefaultRemediationRetryLimit is the retry limit when none is given.
	DefaultRemediationRetryLimit int32 = 1

	// DefaultRemediationTimeoutSeconds is the timeout when none is given.
	DefaultRemediationTimeoutSeconds int32 = 600

	// MinRemediationTimeoutSeconds is the shortest timeout; a server does not
	// boot faster.
	MinRemediationTimeoutSeconds int32 = 100
)

// RemediationPhase is how far a remediation is.
// +kubebuilder:validation:Enum=Running;Waiting;Deleting machine;Failed
type RemediationPhase string

const (
	// RemediationRunning is the phase in which the host is rebooted.
	RemediationRunning RemediationPhase = "Running"

	// RemediationWaiting is the phase in which the Node has yet to come back.
	RemediationWaiting RemediationPhase = "Waiting"

	// RemediationDeletingMachine is the phase after the Node did not come back:
	// the owner of the Machine is to replace it.
	RemediationDeletingMachine RemediationPhase = "Deleting machine"

	// RemediationFailed is the phase of a host that cannot be remediated, such
	// as one that is meant to be powered off.
	RemediationFailed RemediationPhase = "Failed"
)

// Metal3RemediationSpec is how a machine is healed.
type Metal3RemediationSpec struct {
	// strategy is how the machine is healed.
	// +optional
	Strategy RemediationStrategy `json:"strategy,omitempty,omitzero"`
}

// RemediationStrategy is how a machine is healed.
type RemediationStrategy struct {
	// type of the remediation: Reboot, which is the default.
	// +optional
	Type RemediationType `json:"type,omitempty"`

	// retryLimit is how often it is tried. Defaults to 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	RetryLimit int32 `json:"retryLimit,omitempty"`

	// timeoutSeconds is how long the Node may take to come back each time.
	// Defaults to 600.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:default=600
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Metal3RemediationStatus is how far the remediation is.
type Metal3RemediationStatus struct {
	// phase is Running, Waiting, Deleting machine or Failed.
	// +optional
	Phase RemediationPhase `json:"phase,omitempty"`

	// retryCount is how often it was tried.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryCount int32 `json:"retryCount,omitempty"`

	// lastRemediated is when it was last tried.
	// +optional
	LastRemediated *metav1.Time `json:"lastRemediated,omitempty"`
}

// Metal3Remediation heals the Machine of the same name.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3remediations,scope=Namespaced,categories=cluster-api,shortName=m3r;m3remediation
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Retry limit",type=string,JSONPath=".spec.strategy.retryLimit",description="How often it is tried"
// +kubebuilder:printcolumn:name="Retry count",type=string,JSONPath=".status.retryCount",description="How often it was tried"
// +kubebuilder:printcolumn:name="Last Remediated",type=string,JSONPath=".status.lastRemediated",description="When it was last tried"
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=".spec.strategy.type",description="How the machine is healed"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=".status.phase",description="How far the remediation is"
type Metal3Remediation struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is how the machine is healed.
	// +optional
	Spec Metal3RemediationSpec `json:"spec,omitempty,omitzero"`

	// status is how far the remediation is.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DomainHealth is the health of a failure domain after the grace and hold periods are applied.
// +kubebuilder:validation:Enum=Pending;Healthy;Unhealthy
type DomainHealth string

const (
	// DomainPending is the health of a domain that has never been seen healthy. It becomes Healthy the first time it is, without
	// a hold period.
	DomainPending DomainHealth = "Pending"
	// DomainHealthy is the health of a domain that has been seen healthy and has not been unhealthy for longer than the grace
	// period since.
	DomainHealthy DomainHealth = "Healthy"
	// DomainUnhealthy is the health of a domain that was unhealthy for longer than the grace period and has not been healthy for
	// the hold period since.
	DomainUnhealthy DomainHealth = "Unhealthy"
)

// DistributionStatus is the observed state of the failure domains of a cluster and of the machines in them.
type DistributionStatus struct {
	// failureDomains lists every failure domain of the cluster, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []DomainStatus `json:"failureDomains,omitempty"`

	// controlPlaneNeedsDomain reports whether a control-plane machine must name a failure domain, because a domain is, or was,
	// meant for control planes. A control-plane machine that names none then waits, because otherwise it would be placed
	// anywhere.
	// +optional
	ControlPlaneNeedsDomain *bool `json:"controlPlaneNeedsDomain,omitempty"`

	// controlPlaneSkew is the difference between the highest and the lowest number of control-plane machines in the Active
	// domains meant for control planes. Unset while there is no such domain.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ControlPlaneSkew *int32 `json:"controlPlaneSkew,omitempty"`

	// failureDomainsSince is the time since which the failure domains and their states have been unchanged.
	// +optional
	FailureDomainsSince metav1.Time `json:"failureDomainsSince,omitempty,omitzero"`

	// controlPlane is the observed state of the distribution of control-plane machines.
	// +optional
	ControlPlane ControlPlaneDistributionStatus `json:"controlPlane,omitempty,omitzero"`

	// workers reports, for each MachineDeployment that names no failure domain, how its machines are spread.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Workers []WorkersDistributionStatus `json:"workers,omitempty"`
}

// ControlPlaneDistributionStatus is the observed state of the distribution of control-plane machines.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneDistributionStatus struct {
	// plan lists, in order, the moves that would spread the machines as they should be. Empty if no move is needed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Plan []PlannedMove `json:"plan,omitempty"`

	// currentMove is the move in progress.
	// +optional
	CurrentMove *MachineMove `json:"currentMove,omitempty"`

	// lastMove is the most recently finished move.
	// +optional
	LastMove *MachineMove `json:"lastMove,omitempty"`
}

// WorkersDistributionStatus reports how the machines of one MachineDeployment are spread.
// +kubebuilder:validation:MinProperties=1
type WorkersDistributionStatus struct {
	// name is the name of the MachineDeployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// class is the class of the machines' logical failure domains. Unset if there are none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Class string `json:"class,omitempty"`

	// failureDomains counts the machines in each failure domain, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []DomainMachines `json:"failureDomains,omitempty"`

	// logicalFailureDomains counts the machines in each logical failure domain, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	LogicalFailureDomains []DomainMachines `json:"logicalFailureDomains,omitempty"`

	// waiting is the number of machines that have not been assigned a failure domain yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Waiting *int32 `json:"waiting,omitempty"`

	// plan lists, in order, the moves that would spread the machines as they should be. Empty if no move is needed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Plan []PlannedMove `json:"plan,omitempty"`

	// currentMove is the move in progress.
	// +optional
	CurrentMove *MachineMove `json:"currentMove,omitempty"`

	// lastMove is the most recently finished move.
	// +optional
	LastMove *MachineMove `json:"lastMove,omitempty"`
}

// DomainMachines counts machines in one domain.
type DomainMachines struct {
	// name is the name of the domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// machines is the number of machines.
	// +required
	// +kubebuilder:validation:Minimum=0
	Machines int32 `json:"machines"`
}

// PlannedMove is a machine that should be replaced by one in another domain.
type PlannedMove struct {
	// machine is the name of the Machine to replace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Machine string `json:"machine,omitempty"`

	// from is the current domain of the machine. Unset if it has none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	From string `json:"from,omitempty"`

	// to is the domain of its replacement.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	To string `json:"to,omitempty"`
}

// MovePhase is the phase of a move.
// +kubebuilder:validation:Enum=Started;Replacing;Deleting;Drainable;Drained;Terminable;Completed;Aborted
type MovePhase string

const (
	// MoveStarted is the phase of a move whose machine is being marked.
	MoveStarted MovePhase = "Started"
	// MoveReplacing is the phase of a move whose machine is marked and waits for its replacement.
	MoveReplacing MovePhase = "Replacing"
	// MoveDeleting is the phase of a move whose machine is being deleted and may not be drained yet.
	MoveDeleting MovePhase = "Deleting"
	// MoveDrainable is the phase of a move whose machine is being drained.
	MoveDrainable MovePhase = "Drainable"
	// MoveDrained is the phase of a move whose machine is drained and held by a hook before it is terminated.
	MoveDrained MovePhase = "Drained"
	// MoveTerminable is the phase of a move whose machine is no longer held by a hook.
	MoveTerminable MovePhase = "Terminable"
	// MoveCompleted is the phase of a move whose machine has been deleted.
	MoveCompleted MovePhase = "Completed"
	// MoveAborted is the phase of a move that was reverted before there was a replacement.
	MoveAborted MovePhase = "Aborted"
)

// MachineMove is a machine that is being, or was, replaced by one in another domain.
type MachineMove struct {
	PlannedMove `json:",inline"`

	// phase is the phase of the move.
	// +required
	Phase MovePhase `json:"phase,omitempty"`

	// replacement is the name of the Machine that replaces it. Unset while none exists.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Replacement string `json:"replacement,omitempty"`

	// reason is the reason, as one CamelCase word, for which the move was aborted. Unset otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message states what the move waits for, or why it was aborted.
	// +optional
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`

	// planned is the number of moves that were planned when the move began, including this one. Unset for control planes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Planned *int32 `json:"planned,omitempty"`

	// inVain is the number of consecutive moves before this one that did not reduce the number of planned moves. Unset for
	// control planes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InVain *int32 `json:"inVain,omitempty"`

	// started is when the move began.
	// +optional
	Started metav1.Time `json:"started,omitempty,omitzero"`

	// finished is when the move ended.
	// +optional
	Finished metav1.Time `json:"finished,omitempty,omitzero"`
}

// DomainStatus is the observed state of one failure domain. It also holds the history that is needed to evaluate its health.
type DomainStatus struct {
	// name is the name of the failure domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// state is the current state of the domain, derived from intent and health.
	// +required
	State DomainState `json:"state,omitempty"`

	// reason is the reason, as one CamelCase word, for which the domain is not Active, or may stop being Active. Otherwise it
	// is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message explains reason.
	// +optional
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`

	// since is when state last changed.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// controlPlane reports whether the domain was last published as one that takes control-plane machines.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// health is the health of the domain after the grace and hold periods are applied.
	// +optional
	Health DomainHealth `json:"health,omitempty"`

	// healthySince is the time since which the domain has been seen healthy without interruption. Time during which it could not
	// be checked does not count.
	// +optional
	HealthySince metav1.Time `json:"healthySince,omitempty,omitzero"`

	// unhealthySince is the time since which the domain has been seen unhealthy without interruption. Time during which it could
	// not be checked does not count.
	// +optional
	UnhealthySince metav1.Time `json:"unhealthySince,omitempty,omitzero"`

	// unhealthySeconds is how long the domain was seen unhealthy before unhealthySince, since it was last healthy for the whole
	// hold period. It counts towards the grace period, so that a domain which is only healthy for a moment now and then does not
	// count as healthy.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UnhealthySeconds *int32 `json:"unhealthySeconds,omitempty"`

	// removedSince is the time since which the domain no longer belongs to the cluster. It is still listed, as Cordoned, because
	// it was among the last that took control-plane machines: without any, they would be placed anywhere.
	// +optional
	RemovedSince metav1.Time `json:"removedSince,omitempty,omitzero"`

	// staleSince is the time since which the domain could not be looked up. Its last known state is kept meanwhile.
	// +optional
	StaleSince metav1.Time `json:"staleSince,omitempty,omitzero"`

	// machines counts the cluster's machines in the domain.
	// +optional
	Machines *MachineCounts `json:"machines,omitempty"`

	// capacity is how many more machines the domain can take. Unset if no limit is known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Capacity *int32 `json:"capacity,omitempty"`
}

// MachineCounts counts machines by role.
type MachineCounts struct {
	// controlPlane is the number of control-plane machines.
	// +required
	// +kubebuilder:validation:Minimum=0
	ControlPlane int32 `json:"controlPlane"`

	// workers is the number of worker machines.
	// +required
	// +kubebuilder:validation:Minimum=0
	Workers int32 `json:"workers"`
}

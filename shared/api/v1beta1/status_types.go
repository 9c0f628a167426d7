// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DomainHealth is what the health of a failure domain counts as, after grace
// and hold period.
// +kubebuilder:validation:Enum=Pending;Healthy;Unhealthy
type DomainHealth string

const (
	// DomainPending is the health of a domain that has never been seen healthy.
	// It becomes Healthy the first time it is, without a hold period.
	DomainPending DomainHealth = "Pending"
	// DomainHealthy is the health of a domain that has been seen healthy and
	// has not been unhealthy for longer than the grace period since.
	DomainHealthy DomainHealth = "Healthy"
	// DomainUnhealthy is the health of a domain that was unhealthy for longer
	// than the grace period and has not been healthy for the hold period since.
	DomainUnhealthy DomainHealth = "Unhealthy"
)

// DistributionStatus is what is known about the failure domains of a cluster
// and about the machines in them.
type DistributionStatus struct {
	// failureDomains lists every failure domain of the cluster, by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []DomainStatus `json:"failureDomains,omitempty"`

	// controlPlaneNeedsDomain says whether a control-plane machine must name a
	// failure domain: one is meant for them, or was before. A control-plane
	// machine that names none then waits, because it would be put anywhere.
	// +optional
	ControlPlaneNeedsDomain *bool `json:"controlPlaneNeedsDomain,omitempty"`

	// controlPlaneSkew is the difference between the most and the fewest
	// control-plane machines in an Active domain meant for control planes.
	// Unset while there is no such domain.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ControlPlaneSkew *int32 `json:"controlPlaneSkew,omitempty"`

	// failureDomainsSince is since when the failure domains are the ones they are, in the states they are in.
	// +optional
	FailureDomainsSince metav1.Time `json:"failureDomainsSince,omitempty,omitzero"`

	// controlPlane is what has been decided about the control-plane machines.
	// +optional
	ControlPlane ControlPlaneDistributionStatus `json:"controlPlane,omitempty,omitzero"`

	// workers is how the machines of each MachineDeployment are spread that names no failure domain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Workers []WorkersDistributionStatus `json:"workers,omitempty"`
}

// ControlPlaneDistributionStatus is what has been decided about the control-plane machines.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneDistributionStatus struct {
	// plan lists the moves that would spread the machines as they should be, in their order. It is empty when they are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Plan []PlannedMove `json:"plan,omitempty"`

	// currentMove is the move that is under way.
	// +optional
	CurrentMove *MachineMove `json:"currentMove,omitempty"`

	// lastMove is the move that ended last.
	// +optional
	LastMove *MachineMove `json:"lastMove,omitempty"`
}

// WorkersDistributionStatus is how the machines of one MachineDeployment are spread.
// +kubebuilder:validation:MinProperties=1
type WorkersDistributionStatus struct {
	// name is the name of the MachineDeployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// class is what the logical failure domains of the machines are of. Unset when there are none.
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

	// waiting is the number of machines that have been given no failure domain yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Waiting *int32 `json:"waiting,omitempty"`

	// plan lists the moves that would spread the machines as they should be, in their order. It is empty when they are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Plan []PlannedMove `json:"plan,omitempty"`

	// currentMove is the move that is under way.
	// +optional
	CurrentMove *MachineMove `json:"currentMove,omitempty"`

	// lastMove is the move that ended last.
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

	// from is the domain it is in. Unset when it is in none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	From string `json:"from,omitempty"`

	// to is the domain that its replacement belongs to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	To string `json:"to,omitempty"`
}

// MovePhase is how far a move has come.
// +kubebuilder:validation:Enum=Started;Replacing;Deleting;Drainable;Drained;Terminable;Completed;Aborted
type MovePhase string

const (
	// MoveStarted is the phase of a move whose machine is being marked.
	MoveStarted MovePhase = "Started"
	// MoveReplacing is the phase of a move whose machine is marked and whose replacement is awaited.
	MoveReplacing MovePhase = "Replacing"
	// MoveDeleting is the phase of a move whose machine is being deleted and may not be drained yet.
	MoveDeleting MovePhase = "Deleting"
	// MoveDrainable is the phase of a move whose machine is being drained.
	MoveDrainable MovePhase = "Drainable"
	// MoveDrained is the phase of a move whose machine is drained, and held by a hook before it is terminated.
	MoveDrained MovePhase = "Drained"
	// MoveTerminable is the phase of a move whose machine is held by nothing any more.
	MoveTerminable MovePhase = "Terminable"
	// MoveCompleted is the phase of a move whose machine is gone.
	MoveCompleted MovePhase = "Completed"
	// MoveAborted is the phase of a move that was taken back before there was a replacement.
	MoveAborted MovePhase = "Aborted"
)

// MachineMove is a machine that is, or was, replaced by one in another domain.
type MachineMove struct {
	PlannedMove `json:",inline"`

	// phase is how far the move has come.
	// +required
	Phase MovePhase `json:"phase,omitempty"`

	// replacement is the name of the Machine that replaces it. Unset while there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Replacement string `json:"replacement,omitempty"`

	// reason says in one word why the move was aborted. Unset while it was not.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message says what the move waits for, or why it was aborted.
	// +optional
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`

	// planned is the number of moves that were planned when the move began, with this one. Unset for control planes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Planned *int32 `json:"planned,omitempty"`

	// inVain is the number of moves in a row before this one after which no fewer moves were planned than before. Unset for control planes.
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

// DomainStatus is what is known about one failure domain. It also holds all that
// has to be remembered of the domain's past to judge it.
type DomainStatus struct {
	// name is the name of the failure domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// state is what the domain is used for now, from intent and health.
	// +required
	State DomainState `json:"state,omitempty"`

	// reason says in one word why the domain is not Active, or what threatens
	// that it will not be. Empty while all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// message explains reason.
	// +optional
	// +kubebuilder:validation:MaxLength=10240
	Message string `json:"message,omitempty"`

	// since is when state changed last.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`

	// controlPlane says whether the domain was last published as one that takes
	// control-plane machines.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// health is what the domain's health counts as, after grace and hold period.
	// +optional
	Health DomainHealth `json:"health,omitempty"`

	// healthySince is since when the domain has been seen healthy without
	// interruption. Time during which it could not be seen does not count.
	// +optional
	HealthySince metav1.Time `json:"healthySince,omitempty,omitzero"`

	// unhealthySince is since when the domain has been seen unhealthy without
	// interruption. Time during which it could not be seen does not count.
	// +optional
	UnhealthySince metav1.Time `json:"unhealthySince,omitempty,omitzero"`

	// unhealthySeconds is for how long the domain has been seen unhealthy before
	// unhealthySince, since it was last healthy for the whole hold period. It
	// counts for the grace period, so that a domain which is healthy for a moment
	// now and then is not taken for a healthy one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UnhealthySeconds *int32 `json:"unhealthySeconds,omitempty"`

	// removedSince is since when the domain is none of the cluster's any more. It
	// is listed nonetheless, as Cordoned, because it was among the last that took
	// control-plane machines: without any, they would be put anywhere.
	// +optional
	RemovedSince metav1.Time `json:"removedSince,omitempty,omitzero"`

	// staleSince is since when the domain could not be looked up. What was known
	// before is kept meanwhile.
	// +optional
	StaleSince metav1.Time `json:"staleSince,omitempty,omitzero"`

	// machines counts the cluster's machines in the domain.
	// +optional
	Machines *MachineCounts `json:"machines,omitempty"`

	// capacity is how many more machines the domain can take. Unset when no
	// limit is known.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"
)

const (
	// DefaultGracePeriodSeconds is the default of gracePeriodSeconds.
	DefaultGracePeriodSeconds int32 = 120
	// DefaultHoldPeriodSeconds is the default of holdPeriodSeconds.
	DefaultHoldPeriodSeconds int32 = 600
	// DefaultStabilizationSeconds is the default of controlPlane.stabilizationSeconds.
	DefaultStabilizationSeconds int32 = 300
)

// ControlPlaneRebalance defines what happens when the machines of a control plane are not spread as they should be.
// +kubebuilder:validation:Enum=Off;Advise;SurgeOne;RolloutAfter
type ControlPlaneRebalance string

const (
	// ControlPlaneRebalanceOff disables rebalancing and its condition.
	ControlPlaneRebalanceOff ControlPlaneRebalance = "Off"
	// ControlPlaneRebalanceAdvise only reports which machines should be moved.
	ControlPlaneRebalanceAdvise ControlPlaneRebalance = "Advise"
	// ControlPlaneRebalanceSurgeOne makes the control plane replace one machine at a time, and create the new one first.
	ControlPlaneRebalanceSurgeOne ControlPlaneRebalance = "SurgeOne"
	// ControlPlaneRebalanceRolloutAfter makes the control plane replace all existing machines, one at a time. It only uses
	// rollout.after, which is part of Cluster API's contract.
	ControlPlaneRebalanceRolloutAfter ControlPlaneRebalance = "RolloutAfter"
)

// WorkersRebalance defines what happens when the machines of a MachineDeployment are not spread as they should be.
// +kubebuilder:validation:Enum=Off;DeleteOne
type WorkersRebalance string

const (
	// WorkersRebalanceOff does not move existing machines.
	WorkersRebalanceOff WorkersRebalance = "Off"
	// WorkersRebalanceDeleteOne deletes one machine at a time, each while all machines of its MachineDeployment are available.
	// The MachineSet creates the replacement.
	WorkersRebalanceDeleteOne WorkersRebalance = "DeleteOne"
)

// TopologyKeyZone is the topology key of the failure domains themselves.
const TopologyKeyZone = "topology.kubernetes.io/zone"

// DomainState defines how a failure domain is used.
// +kubebuilder:validation:Enum=Active;Cordoned;Evicting
type DomainState string

const (
	// DomainActive is the state of a domain that may receive machines.
	DomainActive DomainState = "Active"
	// DomainCordoned is the state of a domain that keeps its machines and receives none.
	DomainCordoned DomainState = "Cordoned"
	// DomainEvicting is the state of a domain that must be emptied.
	DomainEvicting DomainState = "Evicting"
)

// Distribution is the desired use of the failure domains of a cluster.
// +kubebuilder:validation:MinProperties=1
type Distribution struct {
	// failureDomains sets the desired state of individual failure domains. A domain that is not listed defaults to Active. An
	// entry never creates a domain, and Active does not override the domain's health: an unhealthy domain is still cordoned.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []FailureDomainIntent `json:"failureDomains,omitempty"`

	// gracePeriodSeconds is how long a domain must have been unhealthy before it is Cordoned. 0 cordons it immediately. Defaults
	// to 120.
	// +optional
	// +kubebuilder:default=120
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// holdPeriodSeconds is how long a domain that was cordoned for its health must have been healthy before it is Active again. 0
	// activates it immediately. Defaults to 600.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	HoldPeriodSeconds *int32 `json:"holdPeriodSeconds,omitempty"`

	// controlPlane configures how control-plane machines are handled when failure domains change.
	// +optional
	ControlPlane ControlPlaneDistribution `json:"controlPlane,omitempty,omitzero"`

	// workers configures how the machines of MachineDeployments that name no failure domain are spread.
	// +optional
	Workers WorkersDistribution `json:"workers,omitempty,omitzero"`
}

// ControlPlaneDistribution configures how control-plane machines are handled when failure domains change.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneDistribution struct {
	// rebalance defines what happens when the machines are not spread as they should be. Off: nothing. Advise: the
	// ControlPlaneBalanced condition reports which machines should be moved. SurgeOne: the control plane replaces one machine at
	// a time, and creates the new one first. RolloutAfter: the control plane replaces all of its machines, one at a time.
	// Defaults to Advise.
	// +optional
	// +kubebuilder:default=Advise
	Rebalance ControlPlaneRebalance `json:"rebalance,omitempty"`

	// stabilizationSeconds is how long the failure domains must have been unchanged before a machine is moved. 0 moves it
	// immediately. Defaults to 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	StabilizationSeconds *int32 `json:"stabilizationSeconds,omitempty"`

	// protectQuorum holds each control-plane machine that is being deleted, by the annotation
	// pre-terminate.delete.hook.machine.cluster.x-k8s.io/faultline-quorum, until enough others are healthy, and releases one at a
	// time. It is for control planes without a pre-terminate hook of their own: machines of a KubeadmControlPlane or an
	// RKE2ControlPlane, and machines that have another pre-terminate hook, never get it. Set it to false before you uninstall
	// Faultline, or machines that are deleted later wait forever. Defaults to false.
	// +optional
	ProtectQuorum *bool `json:"protectQuorum,omitempty"`
}

// WorkersDistribution configures how the machines of MachineDeployments that name no failure domain are spread. A
// MachineDeployment that names a failure domain is not changed.
// +kubebuilder:validation:MinProperties=1
type WorkersDistribution struct {
	// enabled assigns a failure domain to each machine of a MachineDeployment that names none. Replica counts are never changed.
	// Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// rebalance defines what happens when existing machines are not spread as they should be. Off: nothing. DeleteOne: one
	// machine at a time is deleted, each while all machines of its MachineDeployment are available. Defaults to Off.
	// +optional
	// +kubebuilder:default=Off
	Rebalance WorkersRebalance `json:"rebalance,omitempty"`

	// desiredFailureDomains is the number of logical failure domains over which the machines of a class are spread, independent
	// of the number of failure domains. Each machine, and its Node, has the label
	// faultline.io/distribution-key with the value <class>-0 to <class>-(desiredFailureDomains - 1). The class
	// is the value of the machine's label faultline.io/distribution-class, or else the name of its
	// MachineDeployment in the topology, or else the name of its MachineDeployment. If unset, machines are spread over the
	// failure domains themselves.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	DesiredFailureDomains *int32 `json:"desiredFailureDomains,omitempty"`

	// topologyKey is the label of Nodes that names their physical failure domain. The supported labels depend on the provider.
	// topology.kubernetes.io/zone (the failure domains of the cluster) and topology.kubernetes.io/region (the regions in
	// status.failureDomains) are always supported. Defaults to topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey,omitempty"`

	// required never places machines of two logical failure domains of a class in the same physical one: a machine waits until
	// another one is available. If false, they share a physical one when no other is available. Defaults to false.
	// +optional
	Required *bool `json:"required,omitempty"`
}

// FailureDomainIntent is the desired state of one failure domain.
type FailureDomainIntent struct {
	// name is the name of the failure domain, as in status.failureDomains of the infrastructure cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// state is the desired state: Active, Cordoned (keeps its machines and receives none) or Evicting (must be emptied).
	// +required
	State DomainState `json:"state,omitempty"`
}

// GracePeriod returns gracePeriodSeconds as a duration, or its default.
func (d Distribution) GracePeriod() time.Duration {
	return seconds(d.GracePeriodSeconds, DefaultGracePeriodSeconds)
}

// HoldPeriod returns holdPeriodSeconds as a duration, or its default.
func (d Distribution) HoldPeriod() time.Duration {
	return seconds(d.HoldPeriodSeconds, DefaultHoldPeriodSeconds)
}

// Rebalance returns controlPlane.rebalance, or its default.
func (d Distribution) Rebalance() ControlPlaneRebalance {
	if d.ControlPlane.Rebalance == "" {
		return ControlPlaneRebalanceAdvise
	}
	return d.ControlPlane.Rebalance
}

// Stabilization returns controlPlane.stabilizationSeconds as a duration, or its default.
func (d Distribution) Stabilization() time.Duration {
	return seconds(d.ControlPlane.StabilizationSeconds, DefaultStabilizationSeconds)
}

// ProtectsQuorum reports whether control-plane machines are held until enough others are healthy.
func (d Distribution) ProtectsQuorum() bool {
	return d.ControlPlane.ProtectQuorum != nil && *d.ControlPlane.ProtectQuorum
}

// SpreadsWorkers reports whether machines of MachineDeployments are assigned failure domains.
func (d Distribution) SpreadsWorkers() bool { return d.Workers.Enabled != nil && *d.Workers.Enabled }

// LogicalDomains returns workers.desiredFailureDomains, or 0 if machines are spread over the failure domains themselves.
func (d Distribution) LogicalDomains() int {
	if d.Workers.DesiredFailureDomains == nil {
		return 0
	}
	return int(*d.Workers.DesiredFailureDomains)
}

// Intent returns the state that the user wants the named domain to have. It defaults to Active.
func (d Distribution) Intent(name string) DomainState {
	for _, intent := range d.FailureDomains {
		if intent.Name == name && intent.State != "" {
			return intent.State
		}
	}
	return DomainActive
}

func seconds(value *int32, fallback int32) time.Duration {
	if value == nil {
		value = &fallback
	}
	return time.Duration(*value) * time.Second
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"
)

const (
	// DefaultGracePeriodSeconds is the grace period when none is given.
	DefaultGracePeriodSeconds int32 = 120
	// DefaultHoldPeriodSeconds is the hold period when none is given.
	DefaultHoldPeriodSeconds int32 = 600
	// DefaultStabilizationSeconds is the stabilization window when none is given.
	DefaultStabilizationSeconds int32 = 300
)

// ControlPlaneRebalance says what happens when the machines of a control plane are not spread as they should be.
// +kubebuilder:validation:Enum=Off;Advise;SurgeOne;RolloutAfter
type ControlPlaneRebalance string

const (
	// ControlPlaneRebalanceOff does nothing and says nothing.
	ControlPlaneRebalanceOff ControlPlaneRebalance = "Off"
	// ControlPlaneRebalanceAdvise says what should be moved and touches nothing.
	ControlPlaneRebalanceAdvise ControlPlaneRebalance = "Advise"
	// ControlPlaneRebalanceSurgeOne has the control plane replace one machine after the other, the new one first.
	ControlPlaneRebalanceSurgeOne ControlPlaneRebalance = "SurgeOne"
	// ControlPlaneRebalanceRolloutAfter has the control plane replace all machines that are there, one after the other. It uses
	// nothing but rollout.after, which is part of Cluster API's contract.
	ControlPlaneRebalanceRolloutAfter ControlPlaneRebalance = "RolloutAfter"
)

// WorkersRebalance says what happens when the machines of a MachineDeployment are not spread as they should be.
// +kubebuilder:validation:Enum=Off;DeleteOne
type WorkersRebalance string

const (
	// WorkersRebalanceOff leaves machines where they are.
	WorkersRebalanceOff WorkersRebalance = "Off"
	// WorkersRebalanceDeleteOne deletes one machine after the other, each while all of its MachineDeployment are available. Its
	// MachineSet makes the next one.
	WorkersRebalanceDeleteOne WorkersRebalance = "DeleteOne"
)

// TopologyKeyZone is the topology key of failure domains themselves.
const TopologyKeyZone = "topology.kubernetes.io/zone"

// DomainState says what a failure domain is used for.
// +kubebuilder:validation:Enum=Active;Cordoned;Evicting
type DomainState string

const (
	// DomainActive is the state of a domain that may receive machines.
	DomainActive DomainState = "Active"
	// DomainCordoned is the state of a domain that keeps the machines it has
	// and receives none.
	DomainCordoned DomainState = "Cordoned"
	// DomainEvicting is the state of a domain that must be emptied.
	DomainEvicting DomainState = "Evicting"
)

// Distribution is what the user wants of the failure domains of a cluster.
// +kubebuilder:validation:MinProperties=1
type Distribution struct {
	// failureDomains states what single failure domains may be used for.
	// A domain that is not listed is meant to be Active. An entry never creates
	// a domain, and Active never overrides bad health.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []FailureDomainIntent `json:"failureDomains,omitempty"`

	// gracePeriodSeconds is for how long a domain must have been unhealthy
	// before it is treated as Cordoned. 0 cordons it at once.
	// Defaults to 120.
	// +optional
	// +kubebuilder:default=120
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// holdPeriodSeconds is for how long a domain that was cordoned for its
	// health must have been healthy before it is Active again. 0 activates it
	// at once.
	// Defaults to 600.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	HoldPeriodSeconds *int32 `json:"holdPeriodSeconds,omitempty"`

	// controlPlane is what happens to the control-plane machines when failure domains come and go.
	// +optional
	ControlPlane ControlPlaneDistribution `json:"controlPlane,omitempty,omitzero"`

	// workers is how the machines of MachineDeployments are spread that name no failure domain.
	// +optional
	Workers WorkersDistribution `json:"workers,omitempty,omitzero"`
}

// ControlPlaneDistribution is what happens to the control-plane machines when failure domains come and go.
// +kubebuilder:validation:MinProperties=1
type ControlPlaneDistribution struct {
	// rebalance says what happens when the machines are not spread as they should be. Off: nothing. Advise: the condition
	// ControlPlaneBalanced tells what should be moved. SurgeOne: the control plane replaces one machine after the other, the new
	// one first. RolloutAfter: the control plane replaces all of its machines, one after the other.
	// Defaults to Advise.
	// +optional
	// +kubebuilder:default=Advise
	Rebalance ControlPlaneRebalance `json:"rebalance,omitempty"`

	// stabilizationSeconds is for how long the failure domains must have been as they are before a machine is moved. 0 moves
	// it at once.
	// Defaults to 300.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	StabilizationSeconds *int32 `json:"stabilizationSeconds,omitempty"`

	// protectQuorum holds each machine of the control plane that is being deleted, by the annotation
	// pre-terminate.delete.hook.machine.cluster.x-k8s.io/faultline-quorum, until enough others are healthy, and lets one go at a
	// time. It is for control planes that bring no pre-terminate hook of their own: machines of a KubeadmControlPlane, and such with
	// a hook of somebody else, never get it. Set it to false before Faultline is uninstalled, or machines wait for ever.
	// Defaults to false.
	// +optional
	ProtectQuorum *bool `json:"protectQuorum,omitempty"`
}

// WorkersDistribution is how the machines of MachineDeployments are spread that name no failure domain. A MachineDeployment
// that names one is left alone.
// +kubebuilder:validation:MinProperties=1
type WorkersDistribution struct {
	// enabled gives each machine of a MachineDeployment that names no failure domain one of its own. Replica counts are never
	// written.
	// Defaults to false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// rebalance says what happens when the machines that are there are not spread as they should be. Off: nothing. DeleteOne:
	// one machine after the other is deleted, each while all of its MachineDeployment are available.
	// Defaults to Off.
	// +optional
	// +kubebuilder:default=Off
	Rebalance WorkersRebalance `json:"rebalance,omitempty"`

	// desiredFailureDomains is the number of logical failure domains over which the machines of a class are spread, whatever
	// number of failure domains there is: each machine, and its Node, has the label
	// infrastructure.cluster.x-k8s.io/distribution-key with the value <class>-0 to <class>-(desiredFailureDomains - 1). The class
	// is that of the label infrastructure.cluster.x-k8s.io/distribution-class of the machine, else the name of its
	// MachineDeployment in the topology, else the name of its MachineDeployment. Without this, machines are spread over the failure
	// domains themselves.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	DesiredFailureDomains *int32 `json:"desiredFailureDomains,omitempty"`

	// topologyKey is the label of Nodes that tells which physical failure domain they are in. Which ones there are depends on
	// the provider; topology.kubernetes.io/zone, the failure domains of the cluster, is always one, and so is
	// topology.kubernetes.io/region: the regions that they say in status.failureDomains.
	// Defaults to topology.kubernetes.io/zone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	TopologyKey string `json:"topologyKey,omitempty"`

	// required keeps the machines of two logical failure domains of a class out of one physical one at all costs: a machine
	// waits until there is another. Otherwise they share one when there is no other.
	// Defaults to false.
	// +optional
	Required *bool `json:"required,omitempty"`
}

// FailureDomainIntent is what the user wants one failure domain to be used for.
type FailureDomainIntent struct {
	// name is the name of the failure domain, as in status.failureDomains of
	// the infrastructure cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// state is what the domain may be used for: Active, Cordoned (keeps its
	// machines and receives none) or Evicting (must be emptied).
	// +required
	State DomainState `json:"state,omitempty"`
}

// GracePeriod is gracePeriodSeconds as a duration, or its default.
func (d Distribution) GracePeriod() time.Duration {
	return seconds(d.GracePeriodSeconds, DefaultGracePeriodSeconds)
}

// HoldPeriod is holdPeriodSeconds as a duration, or its default.
func (d Distribution) HoldPeriod() time.Duration {
	return seconds(d.HoldPeriodSeconds, DefaultHoldPeriodSeconds)
}

// Rebalance is controlPlane.rebalance, or its default.
func (d Distribution) Rebalance() ControlPlaneRebalance {
	if d.ControlPlane.Rebalance == "" {
		return ControlPlaneRebalanceAdvise
	}
	return d.ControlPlane.Rebalance
}

// Stabilization is controlPlane.stabilizationSeconds as a duration, or its default.
func (d Distribution) Stabilization() time.Duration {
	return seconds(d.ControlPlane.StabilizationSeconds, DefaultStabilizationSeconds)
}

// ProtectsQuorum reports whether machines of the control plane are held until enough others are healthy.
func (d Distribution) ProtectsQuorum() bool {
	return d.ControlPlane.ProtectQuorum != nil && *d.ControlPlane.ProtectQuorum
}

// SpreadsWorkers reports whether machines of MachineDeployments are given failure domains.
func (d Distribution) SpreadsWorkers() bool { return d.Workers.Enabled != nil && *d.Workers.Enabled }

// LogicalDomains is workers.desiredFailureDomains, 0 when machines are spread over the failure domains themselves.
func (d Distribution) LogicalDomains() int {
	if d.Workers.DesiredFailureDomains == nil {
		return 0
	}
	return int(*d.Workers.DesiredFailureDomains)
}

// Intent is the state the user wants the named domain to have: Active unless
// failureDomains says otherwise.
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

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
)

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

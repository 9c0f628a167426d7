// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"errors"
	"time"
)

// State defines how a domain is used.
type State string

const (
	// Active is the state of a domain that may receive machines.
	Active State = "Active"
	// Cordoned is the state of a domain that keeps its machines and receives none.
	Cordoned State = "Cordoned"
	// Evicting is the state of a domain that must be emptied.
	Evicting State = "Evicting"
)

// Domain is one failure domain.
type Domain struct {
	// Name identifies the domain. It must not be empty.
	Name string
	// State is the use of the domain; "" means Active.
	State State
	// Capacity is how many more machines the domain can take; nil means no known limit.
	Capacity *int
}

// Machine is one machine. Names are expected to be unique.
type Machine struct {
	// Name identifies the machine.
	Name string
	// Domain is the domain in which the machine is, or the requested one while that is unknown; "" means no domain.
	Domain string
	// Deleting is true if the machine is being deleted.
	Deleting bool
	// Unhealthy is true if the machine fails a health check.
	Unhealthy bool
	// Outdated is true if a rollout in progress replaces the machine.
	Outdated bool
	// Created is when the machine was created. The zero time is the oldest.
	Created time.Time
}

// Move is a planned replacement of a machine by one in another domain.
type Move struct {
	// Machine is the name of the machine to replace.
	Machine string
	// From is the domain in which the machine is; "" means no domain.
	From string
	// To is the domain of its replacement.
	To string
}

// Blocked is a reason for which Plan.Moves is empty or shorter than ideal.
type Blocked struct {
	// Reason is one of the Reason constants.
	Reason string
	// Message names what blocks the moves.
	Message string
}

// Reasons for Blocked. All but ReasonNoCapacity stop every move.
const (
	// ReasonMachineDeleting surfaces when a machine is being deleted.
	ReasonMachineDeleting = "MachineDeleting"
	// ReasonMachineUnhealthy surfaces when a machine is unhealthy.
	ReasonMachineUnhealthy = "MachineUnhealthy"
	// ReasonScaling surfaces when the number of machines that are not deleting differs from the replicas.
	ReasonScaling = "Scaling"
	// ReasonNoCapacity surfaces when domains that should receive machines have no capacity, or when no domain may receive any.
	// The plan contains the moves that fit.
	ReasonNoCapacity = "NoCapacity"
)

// Plan is the result of Balance.
type Plan struct {
	// Targets maps each listed domain to the number of machines that it should hold in the end.
	Targets map[string]int
	// Moves lists the moves in the order in which to perform them.
	Moves []Move
	// Blocked lists why Moves is empty or shorter than ideal, one entry per reason.
	Blocked []Blocked
}

// Binding records that a machine of a logical domain is in a physical one.
type Binding struct {
	// Machine is the name of the machine.
	Machine string
	// Key is the logical domain, <class>-<index>.
	Key string
	// Physical is the name of the physical domain.
	Physical string
}

var (
	// ErrNoDomain is returned if no domain may receive the machine.
	ErrNoDomain = errors.New("no active failure domain")
	// ErrNoCapacity is returned if the domains that may receive the machine have no capacity for it.
	ErrNoCapacity = errors.New("no failure domain with capacity")
	// ErrNoMachine is returned if there is no machine to choose from.
	ErrNoMachine = errors.New("no machine to remove")
)

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"errors"
	"time"
)

// State says what a domain is used for.
type State string

const (
	// Active is the state of a domain that may receive machines.
	Active State = "Active"
	// Cordoned is the state of a domain that keeps what it has and receives none.
	Cordoned State = "Cordoned"
	// Evicting is the state of a domain that must be emptied.
	Evicting State = "Evicting"
)

// Domain is one failure domain.
type Domain struct {
	// Name identifies the domain. It must not be empty.
	Name string
	// State is what the domain is used for; "" means Active.
	State State
	// Capacity is how many more machines the domain can take; nil means no known
	// limit.
	Capacity *int
}

// Machine is one machine. Names are expected to be unique.
type Machine struct {
	// Name identifies the machine.
	Name string
	// Domain is where the machine is, or was asked to be when that is not yet
	// known; "" means nowhere.
	Domain string
	// Deleting says that the machine is on its way out.
	Deleting bool
	// Unhealthy says that the machine fails a health check.
	Unhealthy bool
	// Outdated says that a rollout that is under way replaces the machine.
	Outdated bool
	// Created is when the machine was created. The zero time is the oldest.
	Created time.Time
}

// Move says that a machine should be replaced by one in another domain.
type Move struct {
	// Machine is the name of the machine to replace.
	Machine string
	// From is the domain the machine is in; "" means nowhere.
	From string
	// To is the domain that its replacement belongs to.
	To string
}

// Blocked is one reason why Plan.Moves is empty or shorter than the ideal.
type Blocked struct {
	// Reason is one of the Reason constants.
	Reason string
	// Message names what blocks.
	Message string
}

// Reasons for Blocked. All but ReasonNoCapacity stop every move.
const (
	// ReasonMachineDeleting: a machine is being deleted.
	ReasonMachineDeleting = "MachineDeleting"
	// ReasonMachineUnhealthy: a machine is unhealthy.
	ReasonMachineUnhealthy = "MachineUnhealthy"
	// ReasonScaling: the number of machines that are not deleting differs from
	// the replicas.
	ReasonScaling = "Scaling"
	// ReasonNoCapacity: domains that should receive machines have no room, or no
	// domain may receive any. The moves that fit are in the plan.
	ReasonNoCapacity = "NoCapacity"
)

// Plan is the outcome of Balance.
type Plan struct {
	// Targets is the number of machines each listed domain should hold in the
	// end.
	Targets map[string]int
	// Moves are the moves to get there, in the order in which to carry them out.
	Moves []Move
	// Blocked says why Moves is empty or shorter than the ideal, one entry for
	// each reason.
	Blocked []Blocked
}

// Binding says that a machine of a logical domain is in a physical one.
type Binding struct {
	// Machine is the name of the machine.
	Machine string
	// Key is the logical domain, <class>-<index>.
	Key string
	// Physical is the name of the physical domain.
	Physical string
}

var (
	// ErrNoDomain says that no domain may receive the machine.
	ErrNoDomain = errors.New("no active failure domain")
	// ErrNoCapacity says that the domains that may receive the machine have no
	// room for it.
	ErrNoCapacity = errors.New("no failure domain with room")
	// ErrNoMachine says that there is no machine to choose from.
	ErrNoMachine = errors.New("no machine to remove")
)

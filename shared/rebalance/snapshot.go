// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now           time.Time
	Mode          faultlinev1.ControlPlaneRebalance
	Stabilization time.Duration
	// Since is the time since which the failure domains have been unchanged; zero if unknown.
	Since        time.Time
	Intents      []faultlinev1.FailureDomainIntent
	Domains      []Domain
	Cluster      Cluster
	ControlPlane machines.ControlPlane
	// MachineKind is the kind of the provider's infrastructure machines.
	MachineKind string
	// Machines lists the machines of the control plane.
	Machines []Machine
	// Move is the recorded move in progress; nil if none exists.
	Move *Move
	// Removed states why annotations written in this reconcile were removed; "" if they were kept.
	Removed string
	// Last is the most recently finished move.
	Last *faultlinev1.MachineMove
}

// Domain is one failure domain.
type Domain struct {
	Name  string
	State failuredomain.State
	// ControlPlane is true if the domain is published for control planes. Listed is true if the Cluster lists it as such, which
	// is where the control plane reads it.
	ControlPlane, Listed bool
	// Healthy is false while the domain is observed as unhealthy, or not observed, whatever its state is.
	Healthy bool
	// Capacity is how many more machines it can take; nil if no limit is known.
	Capacity *int
	// Unsuited is why no machine of the control plane could run in the domain; "" if one could, or if that is unknown.
	Unsuited string
}

// Cluster is the relevant state of the Cluster and its infrastructure cluster.
type Cluster struct {
	Name             string
	Paused, Deleting bool
	// Upgrade is the version in its topology that has not been passed on to the control plane yet; "" if none exists.
	Upgrade string
}

// Machine is one control-plane Machine with its infrastructure machine.
type Machine struct {
	Name    string
	UID     types.UID
	Created time.Time
	// Requested is the requested domain, Observed the actual one; "" if none exists.
	Requested, Observed string
	Ready, HasNode      bool
	Deleting            bool
	// Deletion is the phase of its deletion, and DeletingReason the reason of its Deleting condition.
	Deletion       faultlinev1.MovePhase
	DeletingReason string
	// Unhealthy is true if it fails a health check, or waits for remediation.
	Unhealthy bool
	// Waits is why it is not Ready; "" if it is Ready, or if its condition gives no reason.
	Waits string
	// Outdated is true if the control plane has reported it as not up to date.
	Outdated bool
	Mark     machines.Mark
	// Triggered is when the marked machine was first changed to trigger the control plane, and Triggers is how often it was changed.
	Triggered time.Time
	Triggers  int
	// Infrastructure is true if its infrastructure machine exists and is of this provider's kind.
	Infrastructure bool
	// ClonedFrom is cloned-from-name of the infrastructure machine; "" if that annotation is missing, or if cloned-from-groupkind
	// is missing or is not the template's kind.
	ClonedFrom string
}

// Domain returns the domain in which the machine counts: the actual one, or the requested one while that is unknown.
func (m *Machine) Domain() string {
	if m.Observed != "" {
		return m.Observed
	}
	return m.Requested
}

// isOurs reports whether Faultline's annotations must be removed from a machine that is not being moved.
func (m *Machine) isOurs() bool { return len(m.Mark.Annotations()) > 0 }

// outdatedName returns the value to which cloned-from-name is changed, so that it differs from every template in use.
func outdatedName(clonedFrom string) string { return clonedFrom + outdatedSuffix }

const outdatedSuffix = "-rebalance"

// machineOfMove returns the machine of the recorded move; nil if it no longer exists.
func (s *Snapshot) machineOfMove() *Machine {
	for i := range s.Machines {
		if s.moving(&s.Machines[i]) {
			return &s.Machines[i]
		}
	}
	return nil
}

// moving reports whether the machine is that of the recorded move.
func (s *Snapshot) moving(m *Machine) bool { return s.Move != nil && s.Move.UID == m.UID }

// replaced reports whether there are more machines than desired replicas, so that the control plane deletes one.
func (s *Snapshot) replaced() bool {
	return s.ControlPlane.Kind != nil && len(s.Machines) > s.ControlPlane.Replicas
}

func (s *Snapshot) domain(name string) *Domain {
	for i := range s.Domains {
		if s.Domains[i].Name == name {
			return &s.Domains[i]
		}
	}
	return nil
}

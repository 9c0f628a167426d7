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

// Snapshot is all that Decide knows.
type Snapshot struct {
	Now           time.Time
	Mode          faultlinev1.ControlPlaneRebalance
	Stabilization time.Duration
	// Since is since when the failure domains are as they are; zero while that is not known.
	Since        time.Time
	Intents      []faultlinev1.FailureDomainIntent
	Domains      []Domain
	Cluster      Cluster
	ControlPlane ControlPlane
	// MachineKind is the kind of the provider's infrastructure machines.
	MachineKind string
	// Machines are those of the control plane.
	Machines []Machine
	// Move is the one that is recorded as under way, nil when there is none.
	Move *Move
	// Removed is why what this reconcile has written is not there; "" when it is.
	Removed string
	// Last is the move that ended last.
	Last *faultlinev1.MachineMove
}

// Domain is one failure domain.
type Domain struct {
	Name  string
	State failuredomain.State
	// ControlPlane says that it is published for control planes, Listed that the Cluster has it so, from where a control plane
	// takes it.
	ControlPlane, Listed bool
	// Healthy is false while the domain is seen unhealthy, or not seen, whatever its state.
	Healthy bool
	// Capacity is how many more machines it can take; nil when no limit is known.
	Capacity *int
	// Unsuited is why no machine of the control plane could run there; "" when one could, as far as is known.
	Unsuited string
}

// Cluster is what matters of the Cluster and its infrastructure cluster.
type Cluster struct {
	Name             string
	Paused, Deleting bool
	// Upgrade is the version that its topology has and has not passed on to the control plane yet; "" when there is none.
	Upgrade string
}

// Kind is what a control plane is.
type Kind string

const (
	// NoControlPlane is the kind of a Cluster that names none, or one that does not exist.
	NoControlPlane Kind = ""
	// Kubeadm is the kind that can move machines.
	Kubeadm Kind = "KubeadmControlPlane"
	// Other is any other kind.
	Other Kind = "Other"
)

// ControlPlane is what matters of a control plane.
type ControlPlane struct {
	Kind             Kind
	Name             string // with its own kind, as people write it; also of one that is named and does not exist
	Paused, Deleting bool
	Replicas         int
	// Observed says that its status is about its current spec.
	Observed bool
	MaxSurge int
	// Remediation is the note of the machine that it deleted last because the machine failed.
	Remediation Remediation
	// UpToDate says that all machines are known to be, RollingOut that some are known not to be.
	UpToDate, RollingOut, Scaling, Remediating bool
	EtcdHealthy, ComponentsHealthy             bool
	// ExternalEtcd says that no member of etcd runs on its machines, of which there may be an even number then.
	ExternalEtcd bool
	// RolloutAfter is rollout.after; zero when it is not set.
	RolloutAfter time.Time
	// Changed is when it reported something else than before.
	Changed time.Time
	// Template is the name of the infrastructure template that machines are cloned from.
	Template string
	// Version is that of the provider that runs it; "" when it is not known. It is only looked for in mode SurgeOne.
	Version string
}

// Remediation is what a control plane notes when it deletes a machine that fails. It removes the note when it creates a machine, and
// remediates no other machine as long as it has the note.
type Remediation struct {
	Noted bool
	// Machine is the one that it deleted, At when; "" and zero in a note that cannot be read.
	Machine string
	At      time.Time
}

// Machine is one control-plane Machine with its infrastructure machine.
type Machine struct {
	Name    string
	UID     types.UID
	Created time.Time
	// Asked is the domain that the Machine names, Observed the one where it is; "" where there is none.
	Asked, Observed string
	Ready, HasNode  bool
	Deleting        bool
	// Deletion is how far its deletion has come, and DeletingReason the reason of its condition Deleting.
	Deletion       faultlinev1.MovePhase
	DeletingReason string
	// Unhealthy says that it fails a health check, or waits to be remediated.
	Unhealthy bool
	// Waits is why it is not Ready; "" when it is, or when its condition does not have the reason.
	Waits string
	// Outdated says that the control plane is known to find it not up to date.
	Outdated bool
	Mark     machines.Mark
	// Woken is when the control plane was first told to look at a machine that is marked, Wakes how often it was told since.
	Woken time.Time
	Wakes int
	// Infrastructure says that its infrastructure machine is there, and of the kind that this provider has.
	Infrastructure bool
	// ClonedFrom is cloned-from-name of the infrastructure machine; "" when that, or cloned-from-groupkind, is missing or not of
	// the template's kind.
	ClonedFrom string
}

// Domain is where the machine counts: where it is, or was asked to be as long as that is not known.
func (m *Machine) Domain() string {
	if m.Observed != "" {
		return m.Observed
	}
	return m.Asked
}

// isOurs reports whether anything is to be taken off a machine that is not moved.
func (m *Machine) isOurs() bool { return len(m.Mark.Annotations()) > 0 }

// outdatedName is what cloned-from-name of a machine is changed to, so that it differs from every template's that is in use.
func outdatedName(clonedFrom string) string { return clonedFrom + outdatedSuffix }

const outdatedSuffix = "-rebalance"

// victim is the machine of the recorded move, nil when it is gone.
func (s *Snapshot) victim() *Machine {
	for i := range s.Machines {
		if s.moving(&s.Machines[i]) {
			return &s.Machines[i]
		}
	}
	return nil
}

// moving reports whether the machine is that of the recorded move.
func (s *Snapshot) moving(m *Machine) bool { return s.Move != nil && s.Move.UID == m.UID }

// replaced reports whether there is a machine more than there are to be, so that the control plane is going to delete one.
func (s *Snapshot) replaced() bool {
	return s.ControlPlane.Kind == Kubeadm && len(s.Machines) > s.ControlPlane.Replicas
}

func (s *Snapshot) domain(name string) *Domain {
	for i := range s.Domains {
		if s.Domains[i].Name == name {
			return &s.Domains[i]
		}
	}
	return nil
}

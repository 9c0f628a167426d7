// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import "time"

// Snapshot is the input of Decide.
type Snapshot struct {
	// Wanted is true if the infrastructure cluster sets protectQuorum.
	Wanted bool
	// Undone states which hooks another writer removes, and how to fix it; "" if none are removed.
	Undone string
	// Problem is why hooks cannot be managed; "" if they can.
	Problem      string
	Cluster      Cluster
	ControlPlane ControlPlane
	// Machines lists all control-plane Machines of the Cluster.
	Machines []Machine
}

// Cluster is the relevant state of the Cluster and its infrastructure cluster.
type Cluster struct {
	Name string
	// Leaving is true if the Cluster, or its infrastructure cluster, is being deleted or does not exist.
	Leaving bool
}

// ControlPlane is the relevant state of the Cluster's control plane.
type ControlPlane struct {
	// Name is its kind and name; "" if the Cluster names none.
	Name string
	// ProtectsQuorum is true if it holds its machines with a hook of its own.
	ProtectsQuorum bool
	// Leaving is true if it is being deleted or does not exist.
	Leaving bool
	// Replicas is the desired number of machines; nil if it is not set.
	Replicas *int
}

// Etcd is the state that a control plane reports for the etcd member on a machine.
type Etcd string

const (
	// Unreported means that it reports nothing.
	Unreported Etcd = ""
	// Voting is the state of a healthy member.
	Voting Etcd = "Voting"
	// NotVoting is the state of a member that is not healthy, or not known to be.
	NotVoting Etcd = "NotVoting"
)

// Machine is the relevant state of one control-plane Machine. It is comparable: an event that does not change it is dropped.
type Machine struct {
	Name string
	// Owner is the kind and name of its controller.
	Owner string
	// Hooked is true if it has Faultline's hook, Why is the value of the hook, and OthersHook names another pre-terminate hook.
	Hooked     bool
	Why        string
	OthersHook string
	// Deleted is its deletion time; zero if it is not being deleted.
	Deleted time.Time
	// Waiting is true if its deletion only waits for pre-terminate hooks.
	Waiting            bool
	HasNode, NodeReady bool
	// Failing is true if it fails a health check, or waits for remediation.
	Failing bool
	Etcd    Etcd
}

func (m *Machine) deleting() bool { return !m.Deleted.IsZero() }

// member reports whether the machine has joined the control plane.
func (m *Machine) member() bool { return m.HasNode || m.Etcd == Voting }

// leaving reports whether the machine is a member that is being deleted without being held.
func (m *Machine) leaving() bool { return m.deleting() && !m.Hooked && m.member() }

// held reports whether the machine is being deleted and waits for Faultline's hook.
func (m *Machine) held() bool { return m.deleting() && m.Hooked }

// unfit returns why a member's vote does not count; "" if it does.
func (s *Snapshot) unfit(m *Machine) string {
	switch {
	case m.leaving():
		return "it is being removed from the control plane"
	case s.reportsEtcd() && m.Etcd != Voting:
		return "its condition EtcdMemberHealthy is not True"
	case m.Failing:
		return "it fails a health check"
	case !m.NodeReady:
		return "its condition NodeReady is not True"
	}
	return ""
}

// reportsEtcd reports whether the control plane reports the etcd member of any machine.
func (s *Snapshot) reportsEtcd() bool {
	for i := range s.Machines {
		if s.Machines[i].Etcd != Unreported {
			return true
		}
	}
	return false
}

// size returns the number of members from which the quorum is computed: the existing or the desired ones, whichever is greater.
func (s *Snapshot) size() int {
	size := 0
	for i := range s.Machines {
		if s.Machines[i].member() {
			size++
		}
	}
	if s.ControlPlane.Replicas != nil {
		size = max(size, *s.ControlPlane.Replicas)
	}
	return size
}

// needed returns how many votes must remain when a member leaves. The majority is computed from all members including the leaving
// one, because its etcd member may never have been removed. Two members have no majority without it, so only the other one is
// required.
func needed(size int) int { return max(0, min(size/2+1, size-1)) }

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import "time"

// Snapshot is all that Decide knows.
type Snapshot struct {
	// Wanted says that the infrastructure cluster asks for it.
	Wanted bool
	// Undone is who takes hooks off again, and what to do; "" when nobody does.
	Undone string
	// Problem is why hooks cannot be seen to; "" when they can.
	Problem      string
	Cluster      Cluster
	ControlPlane ControlPlane
	// Machines are all control-plane Machines of the Cluster.
	Machines []Machine
}

// Cluster is what matters of the Cluster and its infrastructure cluster.
type Cluster struct {
	Name string
	// Leaving says that the Cluster, or its infrastructure cluster, is being deleted or gone.
	Leaving bool
}

// ControlPlane is what matters of the control plane that the Cluster names.
type ControlPlane struct {
	// Name is its kind and name; "" when the Cluster names none.
	Name string
	// Kubeadm says that it is a KubeadmControlPlane, which sees to its quorum itself.
	Kubeadm bool
	// Leaving says that it is being deleted or gone.
	Leaving bool
	// Replicas is how many machines it is to have; nil when it does not say.
	Replicas *int
}

// Etcd is what a control plane says of the etcd member on a machine.
type Etcd string

const (
	// Unreported is the state of which it says nothing.
	Unreported Etcd = ""
	// Voting is the state of a healthy member.
	Voting Etcd = "Voting"
	// NotVoting is the state of a member that is not healthy, or not known to be.
	NotVoting Etcd = "NotVoting"
)

// Machine is what matters of one control-plane Machine. It is comparable: an event that does not change it does not matter.
type Machine struct {
	Name string
	// Owner is kind and name of what controls it.
	Owner string
	// Hooked says that our hook is on it, Why is what the hook says, and OthersHook names another pre-terminate hook.
	Hooked     bool
	Why        string
	OthersHook string
	// Deleted is since when it is being deleted; zero when it is not.
	Deleted time.Time
	// Waiting says that its deletion waits for pre-terminate hooks and for nothing before them.
	Waiting            bool
	HasNode, NodeReady bool
	// Failing says that it fails a health check, or waits to be remediated.
	Failing bool
	Etcd    Etcd
}

func (m *Machine) deleting() bool { return !m.Deleted.IsZero() }

// member reports whether the machine has become one of the control plane.
func (m *Machine) member() bool { return m.HasNode || m.Etcd == Voting }

// leaving reports whether the machine is a member that nobody holds any more.
func (m *Machine) leaving() bool { return m.deleting() && !m.Hooked && m.member() }

// held reports whether the machine is being deleted and waits for us.
func (m *Machine) held() bool { return m.deleting() && m.Hooked }

// unfit is why a member has no vote that counts, "" when it has.
func (s *Snapshot) unfit(m *Machine) string {
	switch {
	case m.leaving():
		return "it is leaving"
	case s.reportsEtcd() && m.Etcd != Voting:
		return "its condition EtcdMemberHealthy is not True"
	case m.Failing:
		return "it fails a health check"
	case !m.NodeReady:
		return "its condition NodeReady is not True"
	}
	return ""
}

// reportsEtcd reports whether the control plane says of any machine how its etcd member is.
func (s *Snapshot) reportsEtcd() bool {
	for i := range s.Machines {
		if s.Machines[i].Etcd != Unreported {
			return true
		}
	}
	return false
}

// size is how many members the quorum is counted of: those that there are, or that there are to be.
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

// needed is how many votes must be left when a member goes. The majority is that of all members, the one that goes included: nobody may
// have removed it from etcd. Of two there is no majority without it; what can be asked for is the other one.
func needed(size int) int { return max(0, min(size/2+1, size-1)) }

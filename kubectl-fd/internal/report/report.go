// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds what is known of the failure domains of clusters and of the machines in them, as plain values, and computes from
// these which machines should be in other domains, what the loss of domains would do, and what has happened to them. Pure.
package report

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Cluster is what is known of one cluster. With -o json and -o yaml it is printed as it is.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Infrastructure is the infrastructure cluster.
	Infrastructure Reference `json:"infrastructure,omitzero"`
	// Topology says that the cluster is made of a ClusterClass.
	Topology bool `json:"topology,omitempty"`
	// Problem says why less is known than should be, and what to do.
	Problem string `json:"problem,omitempty"`
	// Replicas is the number of control-plane machines that is wanted; nil when the cluster does not say.
	Replicas *int32 `json:"controlPlaneReplicas,omitempty"`
	// Domains are the cluster's failure domains by name, and after them those that machines are in although the cluster has none
	// of the name.
	Domains []Domain `json:"failureDomains,omitempty"`
	// Larger is what logical failure domains are kept apart by, where that is larger than a failure domain: see package spread.
	Larger map[string]string `json:"-"`
	// Wanted is spec.distribution of the infrastructure cluster.
	Wanted faultlinev1.Distribution `json:"wanted,omitzero"`
	// Skew, ControlPlane and Workers are those of status.distribution.
	Skew         *int32                                     `json:"controlPlaneSkew,omitempty"`
	ControlPlane faultlinev1.ControlPlaneDistributionStatus `json:"controlPlane,omitzero"`
	Workers      []faultlinev1.WorkersDistributionStatus    `json:"workers,omitempty"`
	// Room is how many more machines that suit only some places each failure domain takes, by what they ask for; it is only known where it is
	// asked.
	Room map[string]map[string]int `json:"-"`
	// Conditions are those of the infrastructure cluster that are about failure domains.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reference names an object.
type Reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Domain is one failure domain of a cluster and the machines in it.
type Domain struct {
	// Name is "" for the machines that are in none.
	Name string `json:"name"`
	// Listed says that the cluster has a failure domain of the name.
	Listed bool `json:"listed"`
	// State is what the domain is used for, "" when nobody says.
	State faultlinev1.DomainState `json:"state,omitempty"`
	// Wanted is the state that is asked for, where that is not "Active".
	Wanted faultlinev1.DomainState `json:"wanted,omitempty"`
	// ControlPlane says that the domain is published as one for control-plane machines.
	ControlPlane bool        `json:"controlPlane"`
	Reason       string      `json:"reason,omitempty"`
	Message      string      `json:"message,omitempty"`
	Since        metav1.Time `json:"since,omitzero"`
	// StaleSince is since when the domain could not be looked up.
	StaleSince metav1.Time `json:"staleSince,omitzero"`
	// Capacity is how many more machines fit; nil when no limit is known.
	Capacity *int32    `json:"capacity,omitempty"`
	Machines []Machine `json:"machines,omitempty"`
}

// MachineState says how a machine does.
type MachineState string

const (
	// Waiting is the state of a machine that the infrastructure has not made yet.
	Waiting MachineState = "Waiting"
	// Joining is the state of a machine that runs and has no Node yet.
	Joining MachineState = "Joining"
	// Running is the state of a machine that has a Node of which nothing bad is known.
	Running MachineState = "Running"
	// Unhealthy is the state of a machine whose Node is not known to be healthy, or whose health check fails.
	Unhealthy MachineState = "Unhealthy"
)

// Machine is one machine of a cluster.
type Machine struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	// Deployment is the MachineDeployment it is of, "" when it is of none.
	Deployment string `json:"machineDeployment,omitempty"`
	// Class is what its logical failure domain is of, Key that domain; "" where there are none.
	Class string `json:"class,omitempty"`
	Key   string `json:"distributionKey,omitempty"`
	// Infrastructure is its infrastructure machine, and Suits what one in its place asks of a place: see Cluster.Room. It is "" for one that suits
	// wherever there is room.
	Infrastructure Reference `json:"-"`
	Suits          string    `json:"-"`
	// Named is the failure domain in its spec. A machine without one may have been given one, or not.
	Named string `json:"named,omitempty"`
	// State is one of the MachineStates; for a machine that is being deleted, how far that has come, in the words of a move.
	State MachineState `json:"state"`
	// Deleting says that the machine is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// Joined says that the machine has a Node.
	Joined bool `json:"joined,omitempty"`
	// Healthy says that it has a Node of which nothing bad is known. A machine that is being deleted can still be healthy.
	Healthy bool        `json:"healthy,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	Created metav1.Time `json:"created,omitzero"`
}

// Works reports whether the machine runs and stays.
func (m Machine) Works() bool { return m.State == Running }

// Votes reports whether a control-plane machine has a vote: from when it has a Node until it is Terminable, when its control plane
// has removed it from etcd.
func (m Machine) Votes() bool {
	return m.ControlPlane && m.Joined && m.State != MachineState(faultlinev1.MoveTerminable)
}

// Count returns how many machines of each role are in the domain.
func (d Domain) Count() (controlPlane, workers int) {
	for _, machine := range d.Machines {
		if machine.ControlPlane {
			controlPlane++
		} else {
			workers++
		}
	}
	return controlPlane, workers
}

// Count returns how many machines of each role the cluster has.
func (c Cluster) Count() (controlPlane, workers int) {
	for _, domain := range c.Domains {
		first, second := domain.Count()
		controlPlane, workers = controlPlane+first, workers+second
	}
	return controlPlane, workers
}

// Domain returns the failure domain of the name that the cluster lists, or nil.
func (c Cluster) Domain(name string) *Domain {
	for i := range c.Domains {
		if c.Domains[i].Listed && c.Domains[i].Name == name {
			return &c.Domains[i]
		}
	}
	return nil
}

// DomainNames returns the names of the failure domains that the cluster lists.
func (c Cluster) DomainNames() []string {
	var names []string
	for _, domain := range c.Domains {
		if domain.Listed {
			names = append(names, domain.Name)
		}
	}
	return names
}

// Places returns the names of the failure domains that the cluster lists or has machines in.
func (c Cluster) Places() []string {
	var names []string
	for _, domain := range c.Domains {
		if domain.Name != "" {
			names = append(names, domain.Name)
		}
	}
	return names
}

// Condition returns the condition of the infrastructure cluster, or nil.
func (c Cluster) Condition(conditionType string) *metav1.Condition {
	for i := range c.Conditions {
		if c.Conditions[i].Type == conditionType {
			return &c.Conditions[i]
		}
	}
	return nil
}

// Moves returns the moves that are under way: that of the control plane first, then those of workers.
func (c Cluster) Moves() []faultlinev1.MachineMove {
	var moves []faultlinev1.MachineMove
	if c.ControlPlane.CurrentMove != nil {
		moves = append(moves, *c.ControlPlane.CurrentMove)
	}
	for _, workers := range c.Workers {
		if workers.CurrentMove != nil {
			moves = append(moves, *workers.CurrentMove)
		}
	}
	return moves
}

// Sort orders clusters by namespace and name.
func Sort(clusters []Cluster) {
	slices.SortFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

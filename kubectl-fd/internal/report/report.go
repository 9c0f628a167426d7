// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds the observed state of failure domains and their machines as plain values. From these it computes which
// machines should be in other domains, the effect of losing domains, and the history. It is pure.
package report

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Cluster is the observed state of one cluster. It is the output of -o json and -o yaml.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Infrastructure is the infrastructure cluster.
	Infrastructure Reference `json:"infrastructure,omitzero"`
	// Topology is true if the cluster uses a ClusterClass.
	Topology bool `json:"topology,omitempty"`
	// Problem states why the report is incomplete, and how to fix it.
	Problem string `json:"problem,omitempty"`
	// Replicas is the desired number of control-plane machines; nil if the cluster does not state it.
	Replicas *int32 `json:"controlPlaneReplicas,omitempty"`
	// Domains lists the cluster's failure domains by name, followed by those in which machines are although the cluster does not
	// list them.
	Domains []Domain `json:"failureDomains,omitempty"`
	// Parents maps failure domains to the larger domains that separate logical failure domains; see package spread.
	Parents map[string]string `json:"-"`
	// Wanted is spec.distribution of the infrastructure cluster.
	Wanted faultlinev1.Distribution `json:"wanted,omitzero"`
	// Skew, ControlPlane and Workers are copied from status.distribution.
	Skew         *int32                                     `json:"controlPlaneSkew,omitempty"`
	ControlPlane faultlinev1.ControlPlaneDistributionStatus `json:"controlPlane,omitzero"`
	Workers      []faultlinev1.WorkersDistributionStatus    `json:"workers,omitempty"`
	// Capacity maps the requirements of machines that do not suit every host to the capacity of each failure domain for them. It is
	// only set by read.Capacity.
	SuitableCapacity map[string]map[string]int `json:"-"`
	// Conditions are the conditions of the infrastructure cluster about failure domains.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reference identifies an object.
type Reference struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name,omitempty"`
}

// Domain is one failure domain of a cluster with its machines.
type Domain struct {
	// Name is "" for the machines that are in no domain.
	Name string `json:"name"`
	// Listed is true if the cluster has a failure domain with the name.
	Listed bool `json:"listed"`
	// State is the use of the domain, "" if it is not reported.
	State faultlinev1.DomainState `json:"state,omitempty"`
	// Wanted is the desired state if it is not "Active".
	Wanted faultlinev1.DomainState `json:"wanted,omitempty"`
	// ControlPlane is true if the domain is published for control-plane machines.
	ControlPlane bool        `json:"controlPlane"`
	Reason       string      `json:"reason,omitempty"`
	Message      string      `json:"message,omitempty"`
	Since        metav1.Time `json:"since,omitzero"`
	// Request records who has set the desired state, and why; nil if that is not recorded.
	Request *Request `json:"request,omitempty"`
	// StaleSince is the time since which the domain could not be looked up.
	StaleSince metav1.Time `json:"staleSince,omitzero"`
	// Capacity is how many more machines fit; nil if no limit is known.
	Capacity *int32    `json:"capacity,omitempty"`
	Machines []Machine `json:"machines,omitempty"`
}

// MachineState is the state of a machine.
type MachineState string

const (
	// Waiting is the state of a machine that the infrastructure has not created yet.
	Waiting MachineState = "Waiting"
	// Joining is the state of a machine that runs and has no Node yet.
	Joining MachineState = "Joining"
	// Running is the state of a machine with a Node and without known problems.
	Running MachineState = "Running"
	// Unhealthy is the state of a machine whose Node is not known to be healthy, or whose health check fails.
	Unhealthy MachineState = "Unhealthy"
)

// Machine is one machine of a cluster.
type Machine struct {
	Name         string `json:"name"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	// Deployment is its MachineDeployment, "" if it has none.
	Deployment string `json:"machineDeployment,omitempty"`
	// Class is the class of its logical failure domain, Key is that domain; "" if there are none.
	Class string `json:"class,omitempty"`
	Key   string `json:"distributionKey,omitempty"`
	// Infrastructure is its infrastructure machine, and Suits the key of its replacement's requirements in Cluster.Capacity; "" if it
	// suits every host.
	Infrastructure Reference `json:"-"`
	Suits          string    `json:"-"`
	// Named is the failure domain in its spec. A machine without one may have been assigned one.
	Named string `json:"named,omitempty"`
	// State is a MachineState, or, for a machine that is being deleted, the MovePhase of its deletion.
	State MachineState `json:"state"`
	// Deleting is true if the machine is being deleted.
	Deleting bool `json:"deleting,omitempty"`
	// Joined is true if the machine has a Node.
	Joined bool `json:"joined,omitempty"`
	// Healthy is true if it has a Node and no known problems. A machine that is being deleted can still be healthy.
	Healthy bool        `json:"healthy,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	Created metav1.Time `json:"created,omitzero"`
}

// Works reports whether the machine runs and is not being deleted.
func (m Machine) Works() bool { return m.State == Running }

// Votes reports whether a control-plane machine has a vote: from the time it has a Node until it is Terminable, when its control
// plane has removed it from etcd.
func (m Machine) Votes() bool {
	return m.ControlPlane && m.Joined && m.State != MachineState(faultlinev1.MoveTerminable)
}

// Count returns the number of machines of each role in the domain.
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

// Count returns the number of machines of each role in the cluster.
func (c Cluster) Count() (controlPlane, workers int) {
	for _, domain := range c.Domains {
		first, second := domain.Count()
		controlPlane, workers = controlPlane+first, workers+second
	}
	return controlPlane, workers
}

// Domain returns the failure domain with the name, or nil if the cluster does not list it.
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

// AllDomainNames returns the names of the failure domains that the cluster lists or in which it has machines.
func (c Cluster) AllDomainNames() []string {
	var names []string
	for _, domain := range c.Domains {
		if domain.Name != "" {
			names = append(names, domain.Name)
		}
	}
	return names
}

// Condition returns a condition of the infrastructure cluster, or nil.
func (c Cluster) Condition(conditionType string) *metav1.Condition {
	for i := range c.Conditions {
		if c.Conditions[i].Type == conditionType {
			return &c.Conditions[i]
		}
	}
	return nil
}

// Moves returns the moves in progress: that of the control plane first, then those of workers.
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

// Sort sorts clusters by namespace and name.
func Sort(clusters []Cluster) {
	slices.SortFunc(clusters, func(a, b Cluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

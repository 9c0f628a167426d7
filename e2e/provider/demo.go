// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

// DemoNamespace is the namespace of the demo's cluster.
const DemoNamespace = "default"

// DemoProvider is a provider that can run in the demo.
type DemoProvider interface {
	Provider

	// Simulate starts the provider's infrastructure in this process. The folder programs has the programs of the Description, etcd and
	// kube-apiserver.
	Simulate(programs string) (Simulation, error)
}

// SeveralInfrastructures is implemented by DemoProviders whose clusters can have each failure domain on an infrastructure of its own.
type SeveralInfrastructures interface {
	DemoProvider

	// SimulateSeveral is Simulate with an infrastructure for each failure domain, for the templates of Description.Several. Break takes
	// one away, with all of its machines.
	SimulateSeveral() (SeveralSimulation, error)
}

// SeveralSimulation is the Simulation of several infrastructures.
type SeveralSimulation interface {
	Simulation
	// Server returns the address of the infrastructure of a failure domain.
	Server(domain string) string
}

// Infrastructure is an infrastructure that is simulated in this process, with failure domains that can be broken.
type Infrastructure interface {
	// Setup returns the settings of the provider's manager and its templates for the infrastructure. It may write files that the manager
	// needs into dir.
	Setup(dir string) (Setup, error)
	// Join adds the infrastructure's objects to the running management cluster. Unless run is nil, the caller runs it until its context
	// ends.
	Join(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) (run func(context.Context) error, err error)
	// Break makes a failure domain unusable, and returns what it did.
	Break(ctx context.Context, domain string) (what string, err error)
	// Repair undoes Break and ReleaseHost, and returns what it did.
	Repair(ctx context.Context, domain string) (what string, err error)
	// Close stops the infrastructure.
	Close()
}

// Simulation is the Infrastructure of the demo's cluster.
type Simulation interface {
	Infrastructure
	// Machines returns all machines in the infrastructure, regardless of their origin. Objects that were there from the start, such as VM
	// templates, do not count.
	Machines(ctx context.Context) ([]Placement, error)
	// ReleaseHost does what a user must do before a machine that is being deleted can leave a host of a broken domain. It returns what it
	// did and why, if anything.
	ReleaseHost(ctx context.Context, host string) (notes []string, err error)
	// Leftovers returns something that differs from the state before there were machines; "" if nothing does.
	Leftovers(ctx context.Context) (string, error)
}

// Setup holds the settings that connect a management cluster to a Simulation.
type Setup struct {
	// ManagerArgs and ManagerVariables are additions to the provider's component.
	ManagerArgs      []string
	ManagerVariables map[string]string
	// Variables are the variables of the provider's templates that describe the infrastructure.
	Variables map[string]string
	// Access holds shell commands with which a user who keeps the demo reaches the infrastructure.
	Access []string
}

// Placement is the placement of a machine in the infrastructure.
type Placement struct {
	// Name is the name of the infrastructure machine.
	Name string
	// Domain is the failure domain of the machine; "" if in none.
	Domain string
	// Host is the host that the machine runs on.
	Host string
	// Running reports whether the machine is powered on.
	Running bool
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

// DemoNamespace is where the demo has its cluster.
const DemoNamespace = "default"

// Demonstrated is a provider that can be shown.
type Demonstrated interface {
	// Simulate starts its infrastructure in this process. A folder has the programs of the Description, etcd and kube-apiserver.
	Simulate(programs string) (Simulation, error)
}

// Simulation is an infrastructure that is simulated in this process, with failure
// domains that can be broken.
type Simulation interface {
	// Setup says how the provider's manager and its templates are told of the
	// infrastructure. Files that the manager needs may be put into dir.
	Setup(dir string) (Setup, error)
	// Join puts into the management cluster, which runs, what of the infrastructure
	// belongs there. Unless run is nil, it keeps that going until its context ends.
	Join(ctx context.Context, in *managementcluster.Cluster, workloads *workload.Simulator) (run func(context.Context) error, err error)
	// Machines are those that the infrastructure itself knows of, wherever they
	// came from; what it was delivered with, such as templates, does not count.
	Machines(ctx context.Context) ([]Placement, error)
	// Break makes a failure domain unusable, and says what it did.
	Break(ctx context.Context, domain string) (what string, err error)
	// Abandon does what a person has to do before a machine that is being deleted
	// can go from a host of a broken domain, and says why and what, if anything.
	Abandon(ctx context.Context, host string) (notes []string, err error)
	// Repair undoes Break and Abandon, and says what it did.
	Repair(ctx context.Context, domain string) (what string, err error)
	// Remains names something that is not as it was before there were machines; ""
	// when all is.
	Remains(ctx context.Context) (string, error)
	// Close ends the simulation.
	Close()
}

// Counter is a Simulation with an API of its own.
type Counter interface {
	// Calls counts the calls to that API by what was called.
	Calls() map[string]int
}

// Setup is how a management cluster is tied to a Simulation.
type Setup struct {
	// ManagerArgs and ManagerVariables complete the provider's component.
	ManagerArgs      []string
	ManagerVariables map[string]string
	// Variables are those of the provider's templates that describe the
	// infrastructure.
	Variables map[string]string
	// Access tells a person who keeps the demo how to reach the
	// infrastructure, as lines for a shell.
	Access []string
}

// Placement is where a machine is, as the infrastructure says.
type Placement struct {
	// Name is that of the infrastructure machine.
	Name string
	// Domain is the failure domain it is in; "" when in none.
	Domain string
	// Host it runs on.
	Host string
	// Running tells whether it is switched on.
	Running bool
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/plane"
	"github.com/faultline-io/faultline/e2e/workload"
)

// Infrastructure is what a provider brings along to be shown in the playground:
// a simulated infrastructure with failure domains that can be broken.
type Infrastructure interface {
	// Setup says how the provider's manager and its templates are told of the
	// infrastructure. Files that the manager needs may be put into dir.
	Setup(dir string) (Setup, error)
	// Join puts into the management plane, which runs, what of the infrastructure
	// belongs there. Unless run is nil, it keeps that going until its context ends.
	Join(ctx context.Context, in *plane.Plane, workloads *workload.Simulator) (run func(context.Context) error, err error)
	// Machines are those that the infrastructure itself knows of, wherever they
	// came from; what it was delivered with, such as templates, does not count.
	Machines(ctx context.Context) ([]Placement, error)
	// Break makes a failure domain unusable, and says what it did.
	Break(ctx context.Context, domain string) (what string, err error)
	// Abandon does what a person has to do before a machine that is being deleted
	// can go from a host of a broken domain, and says why and what, if anything.
	Abandon(ctx context.Context, host string) (notes []string, err error)
	// Mend undoes Break and Abandon, and says what it did.
	Mend(ctx context.Context, domain string) (what string, err error)
	// Remains names something that is not as it was before there were machines; ""
	// when all is.
	Remains(ctx context.Context) (string, error)
	// Close ends the simulation.
	Close()
}

// counter is an Infrastructure with an API of its own.
type counter interface {
	// Calls counts the calls to that API by what was called.
	Calls() map[string]int
}

// Setup is how the rest of the playground is tied to an Infrastructure.
type Setup struct {
	// System is what the infrastructure is called in what people read.
	System string
	// Domains are the names of its failure domains, sorted.
	Domains []string
	// DomainKind is the kind of the objects, named like the domains, whose Ready
	// condition tells of their health; nil if the provider has none.
	DomainKind *DomainKind
	// BreakStops tells that what runs in a domain stops when it breaks.
	BreakStops bool
	// Objects are created before the provider's manager runs.
	Objects []*unstructured.Unstructured
	// ManagerArgs and ManagerVariables complete the provider's component.
	ManagerArgs      []string
	ManagerVariables map[string]string
	// Variables are those of the provider's templates that describe the
	// infrastructure.
	Variables map[string]string
	// Access tells a person who keeps the playground how to reach the
	// infrastructure, as lines for a shell.
	Access []string
}

// DomainKind is the apiVersion and kind of failure domain objects.
type DomainKind struct{ APIVersion, Kind string }

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

// infrastructures start the simulated infrastructures there are.
func infrastructures() map[string]func() (Infrastructure, error) {
	return map[string]func() (Infrastructure, error){
		"metal3":  func() (Infrastructure, error) { return newMetal3(), nil },
		"vsphere": func() (Infrastructure, error) { return newVSphere() },
	}
}

func providers() []string { return slices.Sorted(maps.Keys(infrastructures())) }

// complete adds what the infrastructure asks for to the provider's component.
func (s Setup) complete(c plane.Component) plane.Component {
	c.Args = append(c.Args, s.ManagerArgs...)
	c.Objects = append(c.Objects, s.Objects...)
	variables := map[string]string{}
	for _, source := range []map[string]string{c.Variables, s.ManagerVariables} {
		for name, value := range source {
			variables[name] = value
		}
	}
	c.Variables = variables
	return c
}

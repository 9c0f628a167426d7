// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"fmt"

	"github.com/faultline-io/faultline/e2e/plane"
)

// Infrastructure is what a provider brings along to be shown in the playground:
// a simulated infrastructure with failure domains that can be broken.
type Infrastructure interface {
	// Setup says how the provider's manager and its templates are told of the
	// infrastructure. Files that the manager needs may be put into dir.
	Setup(dir string) (Setup, error)
	// Machines are those that the infrastructure itself knows of, wherever they
	// came from; what it was delivered with, such as templates, does not count.
	Machines() []Placement
	// Break makes a failure domain unusable, and says what it did.
	Break(domain string) (what string, err error)
	// Mend undoes Break, and says what it did.
	Mend(domain string) (what string, err error)
	// Calls counts the calls to the infrastructure's API by what was called.
	Calls() map[string]int
	// Close ends the simulation.
	Close()
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

// newInfrastructure starts the simulated infrastructure of a provider. A further
// provider is one more case.
func newInfrastructure(provider string) (Infrastructure, error) {
	switch provider {
	case "vsphere":
		return newVSphere()
	default:
		return nil, fmt.Errorf("starting the playground: there is no simulated infrastructure for provider %q; there is vsphere", provider)
	}
}

// complete adds what the infrastructure asks for to the provider's component.
func (s Setup) complete(c plane.Component) plane.Component {
	c.Args = append(c.Args, s.ManagerArgs...)
	variables := map[string]string{}
	for _, source := range []map[string]string{c.Variables, s.ManagerVariables} {
		for name, value := range source {
			variables[name] = value
		}
	}
	c.Variables = variables
	return c
}

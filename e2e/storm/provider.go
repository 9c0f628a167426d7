// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/alone"
	"github.com/faultline-io/faultline/e2e/plane"
)

// Mode is a way in which the outside system behaves.
type Mode struct {
	Name string
	// Is says what it is, in a sentence.
	Is string
}

// provider is a provider with its simulated infrastructure.
type provider struct {
	alone alone.Provider
	modes []Mode
	// layOut makes an infrastructure that behaves as the mode says, and a cluster on it.
	layOut func(ctx context.Context, g ground) (infrastructure, error)
}

// providers are those that a storm can be about.
func providers() map[string]provider {
	return map[string]provider{"metal3": metal3Provider(), "vsphere": vSphereProvider()}
}

// ground is what an infrastructure is laid out on.
type ground struct {
	mode   string
	seed   uint64
	plane  *plane.Plane
	client client.WithWatch
	// machines is how many there are at a time at most.
	machines int
}

// infrastructure is an outside system with a cluster on it.
type infrastructure interface {
	// Cluster is the one that the machines belong to, and Domains are its failure
	// domains.
	Cluster() *alone.Cluster
	Domains() []string
	// Machine is the provider's object for a Machine, to be created.
	Machine(meta metav1.ObjectMeta) client.Object
	// Look reads the provider's objects for Machines and what the outside system has.
	Look(ctx context.Context) (sight, error)
	// Disturb does what the mode does to the outside system from time to time.
	Disturb(ctx context.Context, random *rand.Rand) error
	// Calm takes back what Disturb left in disorder.
	Calm(ctx context.Context) error
	// Remains names what is left of machines, outside and in objects.
	Remains(ctx context.Context) ([]Fault, error)
	Close()
}

// sight is what there is at a moment.
type sight struct {
	machines map[string]seen
	// holdings are what the outside system has that is, or should be, a machine's.
	holdings []holding
	// faults are what was found beyond that.
	faults []Fault
}

// seen is a provider's object for a Machine.
type seen struct {
	ready      bool
	conditions []metav1.Condition
	// faults are what its own fields say that the outside system does not.
	faults []string
}

// holding is a virtual machine, or a host that somebody claims.
type holding struct {
	// name is what people call it: "VM x", "host y".
	name string
	// owner is the machine whose it is, "" when there is none.
	owner string
	// domain is the failure domain that it is in, "" when that does not show yet.
	domain string
	// running says that it does what a machine that is ready does.
	running bool
	// disorder is what is wrong with it whatever machine it belongs to, "" for nothing.
	disorder string
}

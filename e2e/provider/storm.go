// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// Mode is a way in which the outside system behaves.
type Mode struct {
	Name string
	// Is says what it is, in a sentence.
	Is string
}

// Behaviour is what a provider has for each of its modes. It embeds the Mode, which is its description.
type Behaviour interface{ describe() Mode }

func (m Mode) describe() Mode { return m }

// ModesOf returns what behaviours are called, in their order.
func ModesOf[B Behaviour](all []B) []Mode {
	modes := make([]Mode, len(all))
	for i := range all {
		modes[i] = all[i].describe()
	}
	return modes
}

// BehaviourOf returns the behaviour of a mode, which must be one of ModesOf.
func BehaviourOf[B Behaviour](all []B, mode string) B {
	return all[slices.IndexFunc(all, func(b B) bool { return b.describe().Name == mode })]
}

// StormProvider is a provider whose manager can be killed while machines are made and deleted.
type StormProvider interface {
	// Modes are the ways in which its infrastructure can behave, the obedient one first.
	Modes() []Mode
	// NewTarget makes an infrastructure that behaves as the mode says, and a cluster on it.
	NewTarget(ctx context.Context, o TargetOptions) (Target, error)
}

// TargetOptions say what a Target is made with.
type TargetOptions struct {
	// Mode is the name of one of the provider's.
	Mode string
	// Cluster is the name of the cluster and of its namespace.
	Cluster string
	// Programs is a folder with those of the Description, etcd and kube-apiserver.
	Programs string
	// Seed is what is random is drawn from.
	Seed       uint64
	Management *managementcluster.Cluster
	Client     client.WithWatch
	// Room is how many machines each of some failure domains is to have room for.
	Room func(domains int) int
	// Others is whether other clusters come and go at the same time.
	Others bool
}

// Target is an outside system with a cluster on it.
type Target interface {
	// Cluster is the one that the machines belong to, and Domains are its failure
	// domains.
	Cluster() *Cluster
	Domains() []string
	// Machine is the provider's object for a Machine, to be created.
	Machine(meta metav1.ObjectMeta) client.Object
	// Look reads the provider's objects for Machines and what the outside system has.
	Look(ctx context.Context) (Snapshot, error)
	// Disturb does what the mode does to the outside system from time to time.
	Disturb(ctx context.Context, random *rand.Rand) error
	// Calm takes back what Disturb left in disorder.
	Calm(ctx context.Context) error
	// Remains names what is left of machines, outside and in objects.
	Remains(ctx context.Context) ([]Fault, error)
	Close()
}

// Soaked is a Target that is made with Others.
type Soaked interface {
	Target
	// Add makes a cluster of this name with a failure domain that has room for a machine. What it has outside is its own.
	Add(ctx context.Context, name string) (Guest, error)
	// Remove deletes what a cluster that has gone has had outside, and in no namespace.
	Remove(ctx context.Context, name string) error
	// Open is how many watches or sessions the manager has open outside.
	Open() int
}

// Guest is a cluster that comes and goes.
type Guest struct {
	*Cluster

	// Infrastructure is the provider's object that stands for it.
	Infrastructure client.Object
	// Domain is one of its failure domains.
	Domain string
}

// Snapshot is what there is at a moment.
type Snapshot struct {
	Machines map[string]Seen
	// Holdings are what the outside system has that is, or should be, a machine's.
	Holdings []Holding
	// Faults are what was found beyond that.
	Faults []Fault
}

// Seen is a provider's object for a Machine.
type Seen struct {
	Ready      bool
	Conditions []metav1.Condition
	// Faults are what its own fields say that the outside system does not.
	Faults []string
}

// Holding is a virtual machine, or a host that somebody claims.
type Holding struct {
	// Name is what people call it: "VM x", "host y".
	Name string
	// Owner is the machine whose it is, "" when there is none.
	Owner string
	// Domain is the failure domain that it is in, "" when that does not show yet.
	Domain string
	// Running says that it does what a machine that is ready does.
	Running bool
	// Disorder is what is wrong with it whatever machine it belongs to, "" for nothing.
	Disorder string
}

// Fault is something that is not as it must be.
type Fault struct {
	// Object is what it is about, and What is wrong with it.
	Object, What string
}

func (f Fault) String() string { return f.Object + ": " + f.What }

// Random draws the same for the same seed and purpose.
func Random(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Pick draws one of several.
func Pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// Pause waits, unless ctx ends before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

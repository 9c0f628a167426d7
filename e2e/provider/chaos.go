// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/shared/faults"
)

// Mode is a behavior of the outside system.
type Mode struct {
	Name string
	// Is describes the mode in a sentence.
	Is string
	// NewTarget creates an infrastructure with the behavior, and a cluster on it.
	NewTarget func(ctx context.Context, o TargetOptions) (Target, error)
}

// FaultModes returns the obedient mode, with its description, and one mode for each fault whose Chaos is set. Function newTarget creates an
// infrastructure with a fault.
func FaultModes[S, O, T any](
	obedient string, all []faults.Fault[S, O, T], newTarget func(context.Context, TargetOptions, *faults.Fault[S, O, T]) (Target, error),
) []Mode {
	var modes []Mode
	for _, fault := range append([]faults.Fault[S, O, T]{{Name: "obedient", Is: obedient, Chaos: &faults.Chaos[T]{}}}, all...) {
		if fault.Chaos != nil {
			modes = append(modes, Mode{Name: fault.Name, Is: fault.Is, NewTarget: func(ctx context.Context, o TargetOptions) (Target, error) {
				return newTarget(ctx, o, &fault)
			}})
		}
	}
	return modes
}

// ChaosProvider is a provider whose manager can be killed while machines are created and deleted.
type ChaosProvider interface {
	Provider

	// Modes returns the modes of its infrastructure, beginning with the obedient one.
	Modes() []Mode
}

// TargetOptions configure a Target.
type TargetOptions struct {
	// Cluster is the name of the cluster and of its namespace.
	Cluster string
	// Programs is a folder with the programs of the Description, etcd and kube-apiserver.
	Programs string
	// Seed is the seed of random decisions.
	Seed       uint64
	Management *managementcluster.Cluster
	Client     client.WithWatch
	// Capacity returns the capacity of each failure domain for a number of domains.
	Capacity func(domains int) int
}

// Target is an outside system with a cluster on it.
type Target interface {
	// Cluster returns the cluster of the machines, and Domains its failure domains.
	Cluster() *Cluster
	Domains() []string
	// Machine returns a new infrastructure machine.
	Machine(meta metav1.ObjectMeta) client.Object
	// Observe reads the infrastructure machines and the resources of the outside system.
	Observe(ctx context.Context) (Snapshot, error)
	Disturber
	// Leftovers returns what is left of machines, in the outside system and in objects.
	Leftovers(ctx context.Context) ([]Fault, error)
	Soak
	Close()
}

// Disturber disturbs the outside system as the mode requires. A Disturbance implements it.
type Disturber interface {
	Disturb(random *rand.Rand) error
	// EndDisturbances undoes what would otherwise stay.
	EndDisturbances() error
}

// Soak creates and deletes clusters during a run.
type Soak interface {
	// Add creates a cluster of this name with a failure domain for one machine. It has its own resources in the outside system.
	Add(ctx context.Context, name string) (SoakCluster, error)
	// Remove deletes the outside resources and cluster-scoped objects of a cluster of Add that is deleted.
	Remove(ctx context.Context, name string) error
	// Open returns the number of watches or sessions that the manager has open to the outside system.
	Open() int
}

// SoakCluster is a cluster that is created and deleted during the run.
type SoakCluster struct {
	*Cluster

	// Infrastructure is the infrastructure cluster.
	Infrastructure client.Object
	// Domain is one of its failure domains.
	Domain string
}

// Snapshot is the state at one moment.
type Snapshot struct {
	Machines map[string]MachineState
	// Resources are the resources of the outside system that belong, or should belong, to a machine.
	Resources []Resource
	// Faults are additional faults that were found.
	Faults []Fault
}

// MachineState is the state of an infrastructure machine.
type MachineState struct {
	Ready      bool
	Conditions []metav1.Condition
	// Faults are contradictions between its fields and the outside system.
	Faults []string
}

// StateOf returns the state of an infrastructure machine with a provider ID, "" if none yet, that must be the expected one unless the machine is
// being deleted.
func StateOf(machine WithConditions, ready bool, providerID, expected string) MachineState {
	is := MachineState{Ready: ready, Conditions: machine.GetConditions()}
	if providerID != "" && providerID != expected && machine.GetDeletionTimestamp().IsZero() {
		is.Faults = append(is.Faults, fmt.Sprintf("has provider ID %s, but that of its resource is %q", providerID, expected))
	}
	return is
}

// Resource is a virtual machine, or a claimed host.
type Resource struct {
	// Name is the name for people: "VM x", "host y".
	Name string
	// Owner is the machine that it belongs to, "" if none.
	Owner string
	// Domain is its failure domain, "" if not known yet.
	Domain string
	// Running reports whether it runs like a ready machine.
	Running bool
	// Inconsistency is a fault of the resource itself, regardless of its machine; "" if none.
	Inconsistency string
}

// Fault is a violation of an expectation.
type Fault struct {
	// Object is the object concerned, and What describes the fault.
	Object, What string
}

func (f Fault) String() string { return f.Object + ": " + f.What }

// Random returns a generator that depends only on the seed and the purpose.
func Random(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Pick returns a random element.
func Pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// Pause waits for d. It returns the cause if ctx ends before.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

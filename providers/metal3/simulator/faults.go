// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/shared/faults"
)

// Fault is a way in which hosts or their operator break a rule that clients may rely on. The chaos runs and cmd/hostsim of e2e,
// SetFault and the tests of all faults read them from Faults; chaos runs apply them to hosts.
type Fault = faults.Fault[*Simulator, Option, types.NamespacedName]

// Chaos configures how a fault is applied at random while machines are created and deleted.
type Chaos = faults.Chaos[types.NamespacedName]

// Quick returns short delays that still leave time for other events in between.
func Quick() Delays {
	return Delays{Provisioning: 300 * time.Millisecond, Deprovisioning: 300 * time.Millisecond, Retry: 500 * time.Millisecond, Jitter: 0.5}
}

func slow() Delays {
	return Delays{
		Preparing: 500 * time.Millisecond, Provisioning: 2 * time.Second, Deprovisioning: 1500 * time.Millisecond,
		Cleaning: 500 * time.Millisecond, Power: 300 * time.Millisecond, Retry: time.Second, Jitter: 0.5,
	}
}

// Faults returns all faults. Add an entry to add a fault.
func Faults() []Fault {
	return []Fault{
		{
			Name: "slow", Is: "every operation of a host takes seconds", Breaks: "Operations complete immediately.",
			Options: []Option{WithDelays(slow())}, Chaos: &Chaos{},
		},
		{
			Name: "failing", Is: "operations of hosts fail or get stuck for a while", Breaks: "Operations complete and succeed.",
			Takes: []string{"how", "state", "namespace", "host"}, Options: []Option{WithDelays(Quick())}, Set: setFailing,
			Chaos: &Chaos{Targets: failures, AtOnce: []int{2}},
		},
		{
			Name: "hung", Is: "the operating system of a host ignores shutdown requests", Breaks: "A host that should be off shuts down.",
			Takes: []string{"namespace", "host"}, Set: setHung,
		},
		{
			Name: "invalid", Is: "the operator's webhook rejects every update of a host except its deletion", Breaks: "A host that was accepted can be updated.",
			Takes: []string{"namespace", "host"}, Set: setInvalid,
		},
		{
			Name: "lost-webhook", Is: "the operator's webhook does not respond, so hosts of the namespace cannot be created or updated",
			Breaks: "A host can be updated whether or not its operator is running.", Takes: []string{"namespace"}, Set: setLostWebhook,
		},
		{
			Name: "lost-domains", Is: "the hosts of the failure domain and their BMCs have no power; only a condition shows it",
			Breaks: "A host that should be on is on, or has an error.", Takes: []string{"domain"}, Set: setDomain((*Simulator).LoseDomain),
		},
		{
			Name: "power-errors", Is: "the hosts of the failure domain are off; powering them on, like every other operation, fails with an error",
			Breaks: "A host that should be on is on.", Takes: []string{"domain"}, Set: setDomain((*Simulator).FailPower),
		},
	}
}

// SetFault sets or clears the named fault.
func (s *Simulator) SetFault(ctx context.Context, name string, on bool, args ...string) error {
	fault, err := faults.Named(Faults(), name)
	if err != nil {
		return err
	}
	return fault.Make(ctx, s, on, args...)
}

// How an operation fails.
const (
	endsInError = "error"
	getsStuck   = "stuck"
)

// failures returns the failing states of a host that a cluster passes through.
func failures(host types.NamespacedName) [][]string {
	var targets [][]string
	for _, state := range []bmov1alpha1.ProvisioningState{
		bmov1alpha1.StateAvailable, bmov1alpha1.StatePreparing, bmov1alpha1.StateProvisioning, bmov1alpha1.StateDeprovisioning,
	} {
		targets = append(targets,
			[]string{endsInError, string(state), host.Namespace, host.Name}, []string{getsStuck, string(state), host.Namespace, host.Name})
	}
	return targets
}

// setFailing clears all other faults of the host when it is switched off.
func setFailing(_ context.Context, s *Simulator, on bool, args ...string) error {
	state, host := bmov1alpha1.ProvisioningState(args[1]), hostOf(args[2:])
	switch {
	case args[0] != endsInError && args[0] != getsStuck:
		return fmt.Errorf("failure must be %s or %s, not %q", endsInError, getsStuck, args[0])
	case !on:
		s.Heal(host)
	case args[0] == endsInError:
		s.Fail(state, host, "the BMC does not respond")
	default:
		s.Stick(state, host)
	}
	return nil
}

func setHung(_ context.Context, s *Simulator, on bool, args ...string) error {
	if on {
		s.Hang(hostOf(args))
	} else {
		s.Heal(hostOf(args))
	}
	return nil
}

func setInvalid(ctx context.Context, s *Simulator, on bool, args ...string) error {
	if on {
		return s.RefuseUpdates(ctx, hostOf(args), "the host is invalid")
	}
	return s.AcceptUpdates(ctx, hostOf(args))
}

func setLostWebhook(ctx context.Context, s *Simulator, on bool, args ...string) error {
	if on {
		return s.LoseWebhook(ctx, args[0])
	}
	return s.RestoreWebhook(ctx, args[0])
}

func setDomain(lose func(*Simulator, context.Context, string) error) func(context.Context, *Simulator, bool, ...string) error {
	return func(ctx context.Context, s *Simulator, on bool, args ...string) error {
		if on {
			return lose(s, ctx, args[0])
		}
		return s.RestoreDomain(ctx, args[0])
	}
}

func hostOf(args []string) types.NamespacedName {
	return types.NamespacedName{Namespace: args[0], Name: args[1]}
}

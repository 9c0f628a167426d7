// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
	"github.com/faultline-io/faultline/shared/faults"
)

// Fault is a way in which a Harvester cluster breaks a rule that clients may rely on. Chaos tests, the flags of programs, SetFault
// and the tests of all faults read them from Faults; chaos tests apply them to hosts.
type Fault = faults.Fault[*Simulator, Option, Host]

// Chaos configures how a fault is applied at random while machines are created and deleted.
type Chaos = faults.Chaos[Host]

// The shares of requests that fail in chaos tests: high enough to occur often, and low enough to make progress.
const (
	failingShare  = 0.2
	losingShare   = 0.2
	conflictShare = 0.5
	requestDelay  = 300 * time.Millisecond
)

// Quick returns short delays that still leave time for other events in between.
func Quick() Delays {
	return Delays{
		Volume: 100 * time.Millisecond, Boot: 200 * time.Millisecond, Agent: 200 * time.Millisecond,
		Shutdown: 300 * time.Millisecond, Migration: 200 * time.Millisecond, Reset: 500 * time.Millisecond, Backoff: 500 * time.Millisecond,
	}
}

func slow() Delays {
	return Delays{
		Import: 2 * time.Second, Volume: time.Second, Boot: 2 * time.Second, Agent: time.Second,
		Shutdown: 1500 * time.Millisecond, Migration: 2 * time.Second, Reset: 2 * time.Second, Backoff: 2 * time.Second,
	}
}

// Faults returns all faults. Add an entry to add a fault.
func Faults() []Fault { return slices.Concat(apiFaults(), hostFaults(), machineFaults()) }

// apiFaults returns the faults of the connection to Harvester.
func apiFaults() []Fault {
	return []Fault{
		{
			Name: "down", Is: "Harvester refuses new connections and closes existing ones", Breaks: "Harvester is reachable.", Set: setDown, Chaos: brief(),
		},
		{
			Name: "delayed", Is: "each request is delayed by 300 ms", Breaks: "Harvester responds immediately.",
			Set: onProxy(func(s *Simulator, on bool) { s.Delay(valueIf(on, requestDelay)) }), Chaos: &Chaos{},
		},
		{
			Name: "failing", Is: "20 % of the requests are rejected with 503", Breaks: "A valid and permitted request succeeds.",
			Set: onProxy(func(s *Simulator, on bool) { s.Fail(valueIf(on, failingShare)) }), Chaos: &Chaos{},
		},
		{
			Name: "lost-answers", Is: "20 % of the changes are executed, but the connection is closed before the response",
			Breaks: "A change without a response was not executed.",
			Set:    onProxy(func(s *Simulator, on bool) { s.LoseAnswers(valueIf(on, losingShare)) }), Chaos: &Chaos{},
		},
		{
			Name: "conflicts", Is: "50 % of the updates and patches of a resource, such as ippools, are rejected with 409",
			Breaks: "No other client changes the same objects.", Takes: []string{"resource"},
			Set: func(_ context.Context, s *Simulator, on bool, args ...string) error {
				s.Conflict(args[0], valueIf(on, conflictShare))
				return nil
			},
		},
		{
			Name: "silent", Is: "watches stay open and deliver no events", Breaks: "Watches deliver changes.",
			Set: onProxy((*Simulator).Silence), Chaos: brief(),
		},
		{
			Name: "stuck-watches", Is: "existing watches stay open and deliver no events; new watches do", Breaks: "All watches deliver the same events.",
			Set: onProxy(func(s *Simulator, on bool) {
				if on {
					s.StickWatches()
				}
			}),
		},
		{
			Name: "cut-watches", Is: "all watches are closed", Breaks: "A watch stays open.", Set: onProxy(func(s *Simulator, on bool) {
				if on {
					s.CutWatches()
				}
			}), Chaos: brief(),
		},
	}
}

// hostFaults returns the faults of hosts.
func hostFaults() []Fault {
	return []Fault{
		{
			Name: "lost-hosts", Is: "the host loses power", Breaks: "A host is available.", Takes: []string{"host"},
			Options: []Option{WithDelays(Quick())}, Set: onHost((*Simulator).PowerOffHost, (*Simulator).PowerOnHost),
			Chaos: &Chaos{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1}},
		},
		{
			Name: "lost-zone", Is: "the hosts of the zone lose power", Breaks: "A zone is available.", Takes: []string{"zone"},
			Options: []Option{WithDelays(Quick())}, Set: setLostZone,
			Chaos: &Chaos{Targets: func(h Host) [][]string { return [][]string{{h.Labels[corev1.LabelTopologyZone]}} }, AtOnce: []int{1}},
		},
		{
			Name: "full-zone", Is: "the hosts of the zone are cordoned, so that new virtual machines that require the zone are Unschedulable",
			Breaks: "A zone has capacity for new virtual machines.", Takes: []string{"zone"}, Set: setFullZone,
			Chaos: &Chaos{Targets: func(h Host) [][]string { return [][]string{{h.Labels[corev1.LabelTopologyZone]}} }, AtOnce: []int{1, 2}},
		},
		{
			Name: "cordoned", Is: "the host is cordoned", Breaks: "An available host is schedulable.",
			Takes: []string{"host"}, Set: onHost((*Simulator).Cordon, (*Simulator).Uncordon),
			Chaos: &Chaos{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1, 2}},
		},
		{
			Name: "drained", Is: "the host is drained for an upgrade; virtual machines that fit on no other host by their node affinity are shut down",
			Breaks: "A virtual machine runs until its run strategy changes.", Takes: []string{"host"},
			Options: []Option{WithDelays(Quick())}, Set: onHost((*Simulator).Drain, (*Simulator).Uncordon),
			Chaos: &Chaos{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1}},
		},
		{
			Name: "no-reset", Is: "Harvester's setting vm-force-reset-policy is disabled, as during an upgrade of Harvester",
			Breaks: "Virtual machines of a lost host are restarted elsewhere after a while.", Set: forAll(controllers.NoReset),
		},
		{
			Name: "no-scheduler", Is: "kube-scheduler is suspended", Breaks: "A virtual machine is scheduled, or has a condition with the reason why not.",
			Set: func(_ context.Context, s *Simulator, on bool, _ ...string) error { return s.scheduler.Pause(on) }, Chaos: brief(),
		},
	}
}

// machineFaults returns the faults of virtual machines and their dependencies. A fault with a namespace and a name ends with that
// object.
func machineFaults() []Fault {
	return []Fault{
		{
			Name: "slow", Is: "every operation takes seconds", Breaks: "Operations complete immediately.",
			Options: []Option{WithDelays(slow())}, Chaos: &Chaos{},
		},
		{
			Name: "no-volumes", Is: "Longhorn does not bind PVCs", Breaks: "PVCs are bound.", Set: forAll(controllers.NoVolumes), Chaos: brief(),
		},
		{
			Name: "paused", Is: "running virtual machines are paused, as after an I/O error of their volumes", Breaks: "A running virtual machine keeps running.",
			Set: forAll(controllers.Paused), Chaos: brief(),
		},
		{
			Name: "no-images", Is: "images are not imported", Breaks: "Images are imported.", Set: forAll(controllers.NoImports),
		},
		{
			Name: "no-agents", Is: "guest agents do not respond", Breaks: "The addresses of a running virtual machine are reported.", Set: forAll(controllers.NoAgents), Chaos: brief(),
		},
		{
			Name: "no-leases", Is: "DHCP servers do not lease addresses", Breaks: "A running virtual machine has an address.", Set: forAll(controllers.NoLeases), Chaos: brief(),
		},
		{
			Name: "no-vips", Is: "kube-vip does not announce addresses", Breaks: "A load balancer has an address.", Set: forAll(controllers.NoAddresses),
		},
		{
			Name: "no-load-balancer", Is: "pools and load balancers are not reconciled, as when their manager is stopped before another takes over",
			Breaks: "A pool allocates addresses.", Set: forAll(controllers.NoLoadBalancer),
		},
		{
			Name: "crashing", Is: "the virtual machine fails as soon as it runs, and is restarted immediately", Breaks: "A running virtual machine keeps running.",
			Takes: []string{"namespace", "vm"}, Options: []Option{WithDelays(Quick())}, Set: forVM(controllers.Crash),
		},
		{
			Name: "no-start", Is: "the virtual machine repeatedly fails before it runs", Breaks: "A scheduled virtual machine starts.",
			Takes: []string{"namespace", "vm"}, Options: []Option{WithDelays(Quick())}, Set: forVM(controllers.NoStart),
		},
		{
			Name: "powered-off", Is: "the guest shuts itself down", Breaks: "A virtual machine runs until it is stopped.",
			Takes: []string{"namespace", "vm"}, Set: forVM(controllers.PowersOff),
		},
		{
			Name: "no-virt-controller", Is: "virt-controller does not process the virtual machine, as while it is down",
			Breaks: "A virtual machine has a status, and its instance a phase.", Takes: []string{"namespace", "vm"}, Set: forVM(controllers.NoVirtController),
		},
		{
			Name: "no-cleanup", Is: "Harvester does not remove its finalizer from the deleted virtual machine, as when a snapshot of it is missing",
			Breaks: "A deleted virtual machine that has stopped is removed.", Takes: []string{"namespace", "vm"}, Set: forVM(controllers.NoCleanup),
		},
		{
			Name: "hung", Is: "the virtual machine does not stop", Breaks: "A virtual machine that must stop stops.",
			Takes: []string{"namespace", "vm"}, Set: forVM(controllers.NoShutdown),
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

// brief returns the Chaos of a brief fault without targets, which affects everything that exists at the time.
func brief() *Chaos {
	return &Chaos{Targets: func(Host) [][]string { return [][]string{{}} }, AtOnce: []int{1}, Brief: true}
}

// valueIf returns the value if the fault is on, else the zero value.
func valueIf[T any](on bool, value T) T {
	var off T
	if on {
		return value
	}
	return off
}

type setter = func(ctx context.Context, s *Simulator, on bool, args ...string) error

func onProxy(set func(*Simulator, bool)) setter {
	return func(_ context.Context, s *Simulator, on bool, _ ...string) error {
		set(s, on)
		return nil
	}
}

func setDown(ctx context.Context, s *Simulator, on bool, _ ...string) error {
	if on {
		s.Down()
		return nil
	}
	return s.Up(ctx)
}

func onHost(begin, end func(*Simulator, context.Context, string) error) setter {
	return func(ctx context.Context, s *Simulator, on bool, args ...string) error {
		if on {
			return begin(s, ctx, args[0])
		}
		return end(s, ctx, args[0])
	}
}

func setLostZone(ctx context.Context, s *Simulator, on bool, args ...string) error {
	hosts, err := s.hosts.InZone(ctx, args[0])
	if err != nil {
		return err
	}
	for _, host := range hosts {
		if err := s.hosts.Power(ctx, host, !on); err != nil {
			return err
		}
	}
	return nil
}

func setFullZone(ctx context.Context, s *Simulator, on bool, args ...string) error {
	hosts, err := s.hosts.InZone(ctx, args[0])
	if err != nil {
		return err
	}
	set := (*Simulator).Uncordon
	if on {
		set = (*Simulator).Cordon
	}
	for _, host := range hosts {
		if err := set(s, ctx, host); err != nil {
			return err
		}
	}
	return nil
}

func forAll(what controllers.Fault) setter {
	return func(_ context.Context, s *Simulator, on bool, _ ...string) error {
		s.faults.Set(what, client.ObjectKey{}, on)
		return nil
	}
}

func forVM(what controllers.Fault) setter {
	return func(_ context.Context, s *Simulator, on bool, args ...string) error {
		s.faults.Set(what, client.ObjectKey{Namespace: args[0], Name: args[1]}, on)
		return nil
	}
}

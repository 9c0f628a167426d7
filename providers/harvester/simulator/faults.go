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

// Fault is a way in which a Harvester cluster breaks a rule that clients may rely on. Storms, the switches of programs, SetFault
// and the tests of all faults read them from Faults; storms apply them to hosts.
type Fault = faults.Fault[*Simulator, Option, Host]

// Storm configures how a fault is applied at random while machines are created and deleted.
type Storm = faults.Storm[Host]

// The shares of requests that fail in storms: high enough to occur often, and low enough to make progress.
const (
	failingShare  = 0.2
	losingShare   = 0.2
	conflictShare = 0.5
	slowness      = 300 * time.Millisecond
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
			Name: "down", Is: "Harvester refuses connections and ends those it has", Breaks: "Harvester is there.", Set: setDown, Storm: now(),
		},
		{
			Name: "delayed", Is: "each request waits for 300 ms", Breaks: "Harvester answers at once.",
			Set: network(func(s *Simulator, on bool) { s.Delay(pick(on, slowness)) }), Storm: &Storm{},
		},
		{
			Name: "failing", Is: "a fifth of the requests is refused with 503", Breaks: "What is allowed and valid is done.",
			Set: network(func(s *Simulator, on bool) { s.Fail(pick(on, failingShare)) }), Storm: &Storm{},
		},
		{
			Name: "lost-answers", Is: "a fifth of the changes is made and the connection ends before the answer",
			Breaks: "A change that was not confirmed was not made.",
			Set:    network(func(s *Simulator, on bool) { s.LoseAnswers(pick(on, losingShare)) }), Storm: &Storm{},
		},
		{
			Name: "conflicts", Is: "half of the updates and patches of a resource, such as ippools, is refused with 409",
			Breaks: "Nobody else changes what we change.", Takes: []string{"resource"},
			Set: func(_ context.Context, s *Simulator, on bool, args ...string) error {
				s.Conflict(args[0], pick(on, conflictShare))
				return nil
			},
		},
		{
			Name: "silent", Is: "watches stay open and bring nothing", Breaks: "A change is told to those who watch.",
			Set: network((*Simulator).Silence), Storm: now(),
		},
		{
			Name: "stuck-watches", Is: "the watches of now stay open and bring nothing; new ones do", Breaks: "A watch is as good as another.",
			Set: network(func(s *Simulator, on bool) {
				if on {
					s.StickWatches()
				}
			}),
		},
		{
			Name: "cut-watches", Is: "all watches end", Breaks: "A watch goes on.", Set: network(func(s *Simulator, on bool) {
				if on {
					s.CutWatches()
				}
			}), Storm: now(),
		},
	}
}

// hostFaults returns the faults of hosts.
func hostFaults() []Fault {
	return []Fault{
		{
			Name: "lost-hosts", Is: "the host has no power", Breaks: "A host works.", Takes: []string{"host"},
			Options: []Option{WithDelays(Quick())}, Set: onHost((*Simulator).Lose, (*Simulator).Return),
			Storm: &Storm{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1}},
		},
		{
			Name: "lost-zone", Is: "the hosts of the zone have no power", Breaks: "A zone works.", Takes: []string{"zone"},
			Options: []Option{WithDelays(Quick())}, Set: setLostZone,
			Storm: &Storm{Targets: func(h Host) [][]string { return [][]string{{h.Labels[corev1.LabelTopologyZone]}} }, AtOnce: []int{1}},
		},
		{
			Name: "full-zone", Is: "the hosts of the zone take no further virtual machine, so that those which are to be there are Unschedulable",
			Breaks: "There is room for what is asked for.", Takes: []string{"zone"}, Set: setFullZone,
			Storm: &Storm{Targets: func(h Host) [][]string { return [][]string{{h.Labels[corev1.LabelTopologyZone]}} }, AtOnce: []int{1, 2}},
		},
		{
			Name: "cordoned", Is: "the host takes no further virtual machine", Breaks: "A host that works can be used.",
			Takes: []string{"host"}, Set: onHost((*Simulator).Cordon, (*Simulator).Uncordon),
			Storm: &Storm{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1, 2}},
		},
		{
			Name: "drained", Is: "the host is emptied for an upgrade; what only it suits is shut down",
			Breaks: "A virtual machine runs as long as it is to.", Takes: []string{"host"},
			Options: []Option{WithDelays(Quick())}, Set: onHost((*Simulator).Drain, (*Simulator).Uncordon),
			Storm: &Storm{Targets: func(h Host) [][]string { return [][]string{{h.Name}} }, AtOnce: []int{1}},
		},
		{
			Name: "no-reset", Is: "Harvester's setting vm-force-reset-policy is off, as it is while Harvester is upgraded",
			Breaks: "What is on a host that has gone is given up after a while.", Set: everywhere(controllers.NoReset),
		},
		{
			Name: "no-scheduler", Is: "kube-scheduler stands still", Breaks: "A virtual machine has a host, or a reason why not.",
			Set: func(_ context.Context, s *Simulator, on bool, _ ...string) error { return s.scheduler.Pause(on) }, Storm: now(),
		},
	}
}

// machineFaults returns the faults of virtual machines and their dependencies. A fault with a namespace and a name ends with that
// object.
func machineFaults() []Fault {
	return []Fault{
		{
			Name: "slow", Is: "everything takes seconds", Breaks: "What is asked for is done at once.",
			Options: []Option{WithDelays(slow())}, Storm: &Storm{},
		},
		{
			Name: "no-volumes", Is: "Longhorn binds no PVC", Breaks: "A PVC is bound.", Set: everywhere(controllers.NoVolumes), Storm: now(),
		},
		{
			Name: "paused", Is: "virtual machines that run stand still, as when their volumes have failed", Breaks: "What has begun to run goes on.",
			Set: everywhere(controllers.Standstill), Storm: now(),
		},
		{
			Name: "no-images", Is: "no image is imported", Breaks: "An image becomes usable.", Set: everywhere(controllers.NoImports),
		},
		{
			Name: "no-agents", Is: "no guest agent answers", Breaks: "The addresses of a virtual machine that runs are known.", Set: everywhere(controllers.NoAgents), Storm: now(),
		},
		{
			Name: "no-leases", Is: "DHCP servers give nothing", Breaks: "A virtual machine that runs has an address.", Set: everywhere(controllers.NoLeases), Storm: now(),
		},
		{
			Name: "no-vips", Is: "kube-vip announces nothing", Breaks: "A load balancer has an address.", Set: everywhere(controllers.NoAddresses),
		},
		{
			Name: "no-load-balancer", Is: "nobody works on pools and load balancers, as when their manager is stopped for another to take over",
			Breaks: "A pool gives addresses.", Set: everywhere(controllers.NoBalancing),
		},
		{
			Name: "crashing", Is: "the virtual machine ends when it has begun to run, and is started again at once", Breaks: "What has begun to run goes on.",
			Takes: []string{"namespace", "vm"}, Options: []Option{WithDelays(Quick())}, Set: ofOne(controllers.NoBoot),
		},
		{
			Name: "no-start", Is: "the virtual machine fails before it runs, again and again", Breaks: "What has a host runs.",
			Takes: []string{"namespace", "vm"}, Options: []Option{WithDelays(Quick())}, Set: ofOne(controllers.NoStart),
		},
		{
			Name: "powered-off", Is: "the guest shuts itself down", Breaks: "What runs goes on until it is to stop.",
			Takes: []string{"namespace", "vm"}, Set: ofOne(controllers.PowersOff),
		},
		{
			Name: "no-cleanup", Is: "Harvester keeps the virtual machine, which is deleted, by its finalizer, as when it finds a snapshot of it no more",
			Breaks: "What is deleted and has stopped goes.", Takes: []string{"namespace", "vm"}, Set: ofOne(controllers.NoCleanup),
		},
		{
			Name: "hung", Is: "the virtual machine does not stop", Breaks: "What is to stop stops.",
			Takes: []string{"namespace", "vm"}, Set: ofOne(controllers.NoShutdown),
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

// now returns the Storm of a brief fault without targets, which affects everything that exists at the time.
func now() *Storm {
	return &Storm{Targets: func(Host) [][]string { return [][]string{{}} }, AtOnce: []int{1}, Brief: true}
}

// pick returns the value if the fault is on, else the zero value.
func pick[T any](on bool, value T) T {
	var off T
	if on {
		return value
	}
	return off
}

type setter = func(ctx context.Context, s *Simulator, on bool, args ...string) error

func network(set func(*Simulator, bool)) setter {
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

func everywhere(what controllers.Trouble) setter {
	return func(_ context.Context, s *Simulator, on bool, _ ...string) error {
		s.troubles.Set(what, client.ObjectKey{}, on)
		return nil
	}
}

func ofOne(what controllers.Trouble) setter {
	return func(_ context.Context, s *Simulator, on bool, args ...string) error {
		s.troubles.Set(what, client.ObjectKey{Namespace: args[0], Name: args[1]}, on)
		return nil
	}
}

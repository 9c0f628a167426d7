// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// Option adjusts a Simulator before it starts.
type Option func(*Simulator)

// WithDelays sets how long hosts stay in their states. The default is no time at all.
func WithDelays(delays Delays) Option {
	return func(s *Simulator) { s.delays = delays }
}

// WithSeed sets what the jitter of the delays is drawn from. Runs with the same seed draw the same.
func WithSeed(seed uint64) Option {
	return func(s *Simulator) { s.seed = seed }
}

// WithNamespace limits the Simulator to the hosts of one namespace. It matters to Run and Start, which make a manager.
func WithNamespace(namespace string) Option {
	return func(s *Simulator) { s.namespace = namespace }
}

// WithHooks tells of machines that boot and of those that stop.
func WithHooks(hooks Hooks) Option {
	return func(s *Simulator) { s.hooks = hooks }
}

// WithInventory sets what inspections find. The default is StandardInventory.
func WithInventory(inventory Inventory) Option {
	return func(s *Simulator) { s.inventory = inventory }
}

// WithWorkers sets how many hosts are worked on at the same time. The default is 20. A hook occupies a worker.
func WithWorkers(workers int) Option {
	return func(s *Simulator) { s.workers = workers }
}

// WithoutEvents writes no Events, for those who count what an API server has to do.
func WithoutEvents() Option {
	return func(s *Simulator) { s.quiet = true }
}

// WithClock replaces the time that is written to statuses and that delays are measured with.
func WithClock(now func() time.Time) Option {
	return func(s *Simulator) { s.now = now }
}

// Delays are how long a host stays in its states. Zero is no time at all, and yet every state is written.
type Delays = operator.Delays

// Hooks hear of machines that run a system of their user; those that run nothing are not reported. A hook may be called
// again for what it has done already, when the process was restarted in between. Its error becomes a power management
// error of the host, and the hook is called again later.
type Hooks = operator.Hooks

// Boot is what a machine boots from.
type Boot = operator.Boot

// Inventory returns what an inspection finds in a host.
type Inventory func(*bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails

// StandardInventory is a server with two network cards, of which the first has the host's boot MAC address and an IP
// address that follows from it: hosts with different MAC addresses have different IP addresses, as long as the last
// three bytes differ.
func StandardInventory(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	return operator.StandardHardware(host)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// Option configures a Simulator.
type Option func(*Simulator)

// WithDelays sets how long hosts stay in their states. By default they change at once.
func WithDelays(delays Delays) Option {
	return func(s *Simulator) { s.delays = delays }
}

// WithSeed sets the seed of the jitter. Runs with the same seed use the same jitter.
func WithSeed(seed uint64) Option {
	return func(s *Simulator) { s.seed = seed }
}

// WithNamespace restricts the Simulator to the hosts of one namespace. It only affects Run and Start, which create a manager.
func WithNamespace(namespace string) Option {
	return func(s *Simulator) { s.namespace = namespace }
}

// WithHooks sets the hooks for machines that boot or stop.
func WithHooks(hooks Hooks) Option {
	return func(s *Simulator) { s.hooks = hooks }
}

// WithInventory sets the result of inspections. The default is StandardInventory.
func WithInventory(inventory Inventory) Option {
	return func(s *Simulator) { s.inventory = inventory }
}

// WithWorkers sets the number of hosts processed in parallel. The default is 20. A hook occupies a worker.
func WithWorkers(workers int) Option {
	return func(s *Simulator) { s.workers = workers }
}

// WithoutEvents emits no Events, for measurements of API server load.
func WithoutEvents() Option {
	return func(s *Simulator) { s.quiet = true }
}

// WithClock replaces the clock that is used for statuses and delays.
func WithClock(now func() time.Time) Option {
	return func(s *Simulator) { s.now = now }
}

// Delays are the times that a host stays in its states. With zero delays every state is still written.
type Delays = operator.Delays

// Hooks are called for machines with a provisioned operating system; other machines are not reported. A hook may be called again
// after a restart of the process. An error of a hook becomes a power management error of the host, and the hook is retried.
type Hooks = operator.Hooks

// Boot is the boot data of a machine.
type Boot = operator.Boot

// Inventory returns the result of an inspection of a host.
type Inventory func(*bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails

// StandardInventory returns a server with two network cards. The first has the host's boot MAC address and an IP address derived
// from its last three bytes: hosts whose MAC addresses differ in these bytes have different IP addresses.
func StandardInventory(host *bmov1alpha1.BareMetalHost) *bmov1alpha1.HardwareDetails {
	return operator.StandardHardware(host)
}

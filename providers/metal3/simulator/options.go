// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"time"
)

// Option adjusts a Simulator before it starts.
type Option func(*Simulator)

// WithDelays sets how long hosts stay in their states. The default is no time at all.
func WithDelays(delays Delays) Option {
	return func(s *Simulator) { s.progress.delays = delays }
}

// WithSeed sets what the jitter of the delays is drawn from. Runs with the same seed draw the same.
func WithSeed(seed uint64) Option {
	return func(s *Simulator) { s.progress.seed = seed }
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

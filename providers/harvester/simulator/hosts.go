// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AddHost adds a host that works.
func (s *Simulator) AddHost(ctx context.Context, host Host) error {
	return s.hosts.Add(ctx, host.node(), host.status())
}

// addHosts adds those of the layout.
func (s *Simulator) addHosts(ctx context.Context) error {
	for _, host := range s.settings.layout.Hosts {
		if err := s.AddHost(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// RemoveHost takes a host out of the cluster for good, with what ran on it.
func (s *Simulator) RemoveHost(ctx context.Context, host string) error {
	return s.hosts.Remove(ctx, host)
}

// Cordon lets no further virtual machine start on a host.
func (s *Simulator) Cordon(ctx context.Context, host string) error { return s.hosts.Cordon(ctx, host) }

// Uncordon ends Cordon and Drain: virtual machines that Drain has shut down start again.
func (s *Simulator) Uncordon(ctx context.Context, host string) error {
	if err := s.hosts.Uncordon(ctx, host); err != nil {
		return err
	}
	return s.migrations.Restart(ctx, host)
}

// Label sets a label of a host; an empty value takes it away.
func (s *Simulator) Label(ctx context.Context, host, key, value string) error {
	return s.hosts.Label(ctx, host, key, value)
}

// Lose takes the power from a host. Its virtual machines are unknown until Delays.Reset is over; then they have failed, and
// start elsewhere if they may.
func (s *Simulator) Lose(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, false)
}

// Return gives a host its power back.
func (s *Simulator) Return(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, true)
}

// Migrate moves a running virtual machine to a host while it runs, or to any other without one, and waits until it is there.
// kube-scheduler has the last word: the virtual machine stays where it is if no host suits, and Migrate says why.
func (s *Simulator) Migrate(ctx context.Context, vm client.ObjectKey, host string) error {
	return s.migrations.Migrate(ctx, vm, host)
}

// Drain cordons a host and empties it as Harvester does for an upgrade: virtual machines migrate. One whose required node
// affinity no other host satisfies is shut down without a try, whatever kube-scheduler would say, and so is one whose
// migration fails. Those start again with Uncordon.
func (s *Simulator) Drain(ctx context.Context, host string) error {
	return s.migrations.Drain(ctx, host)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"

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

// Lose takes the power from a host. Its virtual machines go on to be called Running, and those that are deleted do not go, until Delays.Reset is
// over, which PutOutOfService ends, or their Pods are deleted by force; then they have failed, and start elsewhere if they may.
func (s *Simulator) Lose(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, false)
}

// PutOutOfService gives up what is on a host that does not answer, as Harvester's policy does after Delays.Reset.
func (s *Simulator) PutOutOfService(ctx context.Context, host string) error {
	return s.hosts.PutOutOfService(ctx, host)
}

// Return gives a host its power back. What ran on it starts again.
func (s *Simulator) Return(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, true)
}

// errNoMigration is of a Harvester whose KubeVirt is the real one.
var errNoMigration = errors.New("nothing migrates under the real KubeVirt: the part of virt-handler in that is not simulated")

// Migrate moves a running virtual machine to a host while it runs, or to any other without one, and waits until it is there.
// kube-scheduler has the last word: the virtual machine stays where it is if no host suits, and Migrate says why.
func (s *Simulator) Migrate(ctx context.Context, vm client.ObjectKey, host string) error {
	if s.kubeVirt != nil {
		return errNoMigration
	}
	return s.migrations.Migrate(ctx, vm, host)
}

// Drain cordons a host and empties it as Harvester does for an upgrade: virtual machines migrate. One whose required node
// affinity no other host satisfies is shut down without a try, whatever kube-scheduler would say, and starts again with Uncordon. One
// whose migration fails, because it fits nowhere, goes on where it is.
func (s *Simulator) Drain(ctx context.Context, host string) error {
	if s.kubeVirt != nil {
		return errNoMigration
	}
	return s.migrations.Drain(ctx, host)
}

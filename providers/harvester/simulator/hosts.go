// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AddHost adds a healthy host.
func (s *Simulator) AddHost(ctx context.Context, host Host) error {
	return s.hosts.Add(ctx, host.node(), host.status())
}

// addHosts adds the hosts of the layout.
func (s *Simulator) addHosts(ctx context.Context) error {
	for _, host := range s.settings.layout.Hosts {
		if err := s.AddHost(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// RemoveHost permanently removes a host from the cluster, with everything that was running on it.
func (s *Simulator) RemoveHost(ctx context.Context, host string) error {
	return s.hosts.Remove(ctx, host)
}

// Cordon makes a host unschedulable.
func (s *Simulator) Cordon(ctx context.Context, host string) error { return s.hosts.Cordon(ctx, host) }

// Uncordon reverts Cordon and Drain: virtual machines that Drain has shut down start again.
func (s *Simulator) Uncordon(ctx context.Context, host string) error {
	if err := s.hosts.Uncordon(ctx, host); err != nil {
		return err
	}
	return s.migrations.Restart(ctx, host)
}

// Label sets a label of a host; an empty value removes it.
func (s *Simulator) Label(ctx context.Context, host, key, value string) error {
	return s.hosts.Label(ctx, host, key, value)
}

// PowerOffHost cuts the power of a host. Its virtual machines are still reported as Running, and deleted ones are not removed, until
// Delays.Reset is over, PutOutOfService is called, or their Pods are force deleted. Then they have failed, and start on other
// hosts if possible.
func (s *Simulator) PowerOffHost(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, false)
}

// PutOutOfService marks an unresponsive host as out of service, as Harvester's policy does after Delays.Reset.
func (s *Simulator) PutOutOfService(ctx context.Context, host string) error {
	return s.hosts.PutOutOfService(ctx, host)
}

// PowerOnHost restores the power of a host. Everything that was running on it starts again.
func (s *Simulator) PowerOnHost(ctx context.Context, host string) error {
	return s.hosts.Power(ctx, host, true)
}

// errNoMigration is returned with the real KubeVirt.
var errNoMigration = errors.New("live migration is not supported with the real KubeVirt: the simulated virt-handler does not implement it")

// Migrate live migrates a virtual machine to a host, or to any other host if it is "", and waits for completion. kube-scheduler
// decides: if no host is suitable, the virtual machine stays, and Migrate returns the reason.
func (s *Simulator) Migrate(ctx context.Context, vm client.ObjectKey, host string) error {
	if s.kubeVirt != nil {
		return errNoMigration
	}
	return s.migrations.Migrate(ctx, vm, host)
}

// Drain cordons a host and evacuates it as Harvester does for an upgrade: virtual machines are migrated. A virtual machine whose
// required node affinity matches no other host is shut down without an attempt, whatever kube-scheduler would decide, and starts
// again with Uncordon. A virtual machine whose migration fails, because it fits on no other host, keeps running on the drained
// host.
func (s *Simulator) Drain(ctx context.Context, host string) error {
	if s.kubeVirt != nil {
		return errNoMigration
	}
	return s.migrations.Drain(ctx, host)
}

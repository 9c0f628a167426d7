// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/virtualmachines"
)

// AddVolume attaches a volume to a running virtual machine, as the CSI driver of a guest cluster does. It stays attached until
// RemoveVolume.
func (s *Simulator) AddVolume(ctx context.Context, vm client.ObjectKey, claim string) error {
	return virtualmachines.AttachVolume(ctx, s.client, s.handler, vm, claim)
}

// RemoveVolume detaches a volume from a virtual machine.
func (s *Simulator) RemoveVolume(ctx context.Context, vm client.ObjectKey, claim string) error {
	return virtualmachines.DetachVolume(ctx, s.client, s.handler, vm, claim)
}

// Clone creates a clone of a virtual machine with this name, with all labels that Harvester copies.
func (s *Simulator) Clone(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.Clone(ctx, s.client, vm, name)
}

// Restore creates a virtual machine with this name from a backup of another. Its volumes have the labels of those that were
// backed up.
func (s *Simulator) Restore(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.Restore(ctx, s.client, vm, name)
}

// RestoreInPlace replaces the volumes of a virtual machine by those of a backup, which have the same labels, and keeps the old
// ones. It stops the virtual machine and starts it again if it was running.
func (s *Simulator) RestoreInPlace(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.RestoreInPlace(ctx, s.client, vm, name)
}

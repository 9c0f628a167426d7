// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/virtualmachines"
)

// AddVolume plugs a volume into a virtual machine while it runs, as the CSI driver of a guest cluster does. It is attached to it until RemoveVolume.
func (s *Simulator) AddVolume(ctx context.Context, vm client.ObjectKey, claim string) error {
	return virtualmachines.Plug(ctx, s.client, s.handler, vm, claim)
}

// RemoveVolume takes a volume out of a virtual machine again.
func (s *Simulator) RemoveVolume(ctx context.Context, vm client.ObjectKey, claim string) error {
	return virtualmachines.Unplug(ctx, s.client, s.handler, vm, claim)
}

// Clone makes a virtual machine of this name that is a clone of another, with all labels that Harvester copies.
func (s *Simulator) Clone(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.Clone(ctx, s.client, vm, name)
}

// Restore makes a virtual machine of this name of a backup of another, whose volumes have the labels of those that were backed up.
func (s *Simulator) Restore(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.Restore(ctx, s.client, vm, name)
}

// RestoreInPlace gives a virtual machine the volumes of a backup, which have the labels of those before, and leaves these where they are. It has
// to be stopped for that, and runs again afterwards if it did.
func (s *Simulator) RestoreInPlace(ctx context.Context, vm client.ObjectKey, name string) error {
	return virtualmachines.RestoreInPlace(ctx, s.client, vm, name)
}

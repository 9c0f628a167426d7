// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// CloneVM starts a clone and returns its task. It makes one call, and a second one if the template has not been read yet or has
// changed. The virtual machine is created powered off, with only the network cards of the spec. It returns ErrNoSnapshot or
// ErrInvalid if the template does not support the spec.
func (s *Session) CloneVM(ctx context.Context, spec hardware.CloneSpec) (string, error) {
	template, err := s.template(ctx, inventory.ParseRef("VirtualMachine", spec.Template.Ref))
	if err != nil {
		return "", err
	}
	clone, err := spec.Clone(template)
	if err != nil {
		return "", fmt.Errorf("cloning template %s: %w", spec.Template.Path, err)
	}
	clone.Config.Crypto, err = s.keys.Crypto(ctx, wantedEncryption{
		Machine: spec.InstanceUUID, Key: spec.Encryption.Key, Policy: spec.Policies.Encrypting,
	})
	if err != nil {
		return "", err
	}
	task, err := s.stream.Start(ctx, "cloning template "+spec.Template.Path, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.CloneVM_Task(ctx, rt, &types.CloneVM_Task{
			This: template.Ref, Folder: inventory.ParseRef("Folder", spec.Placement.FolderRef), Name: spec.Name, Spec: clone,
		})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		s.templates.forget(template.Ref)
	}
	return task, err
}

// LinkedPossible reports whether CloneVM can create a linked clone at a location. It returns ErrNoSnapshot if the named
// snapshot is missing, and ErrInvalid if the named snapshot cannot be cloned from there.
func (s *Session) LinkedPossible(ctx context.Context, template inventory.VM, snapshot string, at inventory.Resolved) (bool, error) {
	read, err := s.template(ctx, inventory.ParseRef("VirtualMachine", template.Ref))
	if err != nil {
		return false, err
	}
	found, err := read.Snapshot(snapshot)
	if err != nil || found == nil {
		return false, err
	}
	bound := s.index.BoundTo(read.Devices, inventory.ParseRef("Datastore", at.DatastoreRef), at.HostRefs)
	if bound != "" && snapshot != "" {
		return false, fmt.Errorf("%w: no linked clone of snapshot %q of template %s can be created there: %s; place the machine on that datastore, "+
			"or set cloneMode to fullClone", vcerrors.ErrInvalid, snapshot, template.Path, bound)
	}
	return bound == "", nil
}

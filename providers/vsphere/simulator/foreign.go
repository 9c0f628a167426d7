// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// PowerOnFolder powers on the VMs directly in a folder, given by inventory path, and
// answers their references. Their guests boot as all do.
func (s *Server) PowerOnFolder(path string) ([]string, error) {
	folder, err := find[*simulator.Folder](s, path)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, child := range folder.ChildEntity {
		if child.Type != "VirtualMachine" {
			continue
		}
		started, err := methods.PowerOnVM_Task(context.Background(), s.admin.client, &types.PowerOnVM_Task{This: child})
		if err == nil {
			_, err = s.admin.await(started.Returnval)
		}
		if err != nil {
			return nil, fmt.Errorf("powering %s on: %w", child.Value, err)
		}
		refs = append(refs, child.Value)
	}
	return refs, nil
}

// NoteOnVM has another client of the vCenter change the notes of a VM, given by
// reference, as backup programs do around their work. It returns when the task has
// ended.
func (s *Server) NoteOnVM(ref, note string) error {
	started, err := methods.ReconfigVM_Task(context.Background(), s.admin.client, &types.ReconfigVM_Task{
		This: types.ManagedObjectReference{Type: "VirtualMachine", Value: ref},
		Spec: types.VirtualMachineConfigSpec{Annotation: note},
	})
	if err == nil {
		_, err = s.admin.await(started.Returnval)
	}
	if err != nil {
		return fmt.Errorf("noting on %s: %w", ref, err)
	}
	return nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

// cloneSettles is how long the stream may take to show a new virtual machine completely.
const cloneSettles = time.Second

// complete reads new virtual machines that the stream shows only partially, in one call for all of a short time.
func (s *Stream) complete(task inventory.Task) {
	made := task.ResultRef
	if task.State != inventory.TaskSuccess || made.Type != "VirtualMachine" {
		return
	}
	if known, complete := s.index.Completeness(made); known && complete || !s.index.AddIncomplete(made) {
		return
	}
	s.background(func(ctx context.Context) {
		transport.Pause(ctx, cloneSettles)
		for range 3 {
			if unseen := s.index.TakeIncomplete(); len(unseen) == 0 || ctx.Err() != nil {
				return
			} else if err := s.refreshAll(ctx, unseen); err != nil {
				s.log.Debug("reading new virtual machines", "error", err)
			}
			transport.Pause(ctx, cloneSettles)
		}
	})
}

// Refresh reads an object into the index ahead of the stream, unless the stream was faster.
func (s *Stream) Refresh(ctx context.Context, r inventory.Ref, properties ...string) error {
	revision := s.index.Revision(r)
	update := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: r}
	err := s.api.Retrieve(ctx, "reading "+r.String(), r, properties, func(values []types.DynamicProperty) {
		update.ChangeSet = assigned(values)
	})
	if err == nil {
		s.notify(s.index.ApplyAt(revision, update))
	}
	return err
}

// refreshAll is Refresh for virtual machines, with all of their properties.
func (s *Stream) refreshAll(ctx context.Context, vms []inventory.Ref) error {
	revisions := map[inventory.Ref]int{}
	for _, r := range vms {
		revisions[r] = s.index.Revision(r)
	}
	read, err := s.api.RetrieveAll(ctx, "reading new virtual machines", vms, inventory.VMProperties())
	for r, properties := range read {
		s.notify(s.index.ApplyAt(revisions[r], entering(r, properties)))
	}
	return err
}

// entering returns the update that contains all properties of an object.
func entering(r inventory.Ref, properties []types.DynamicProperty) types.ObjectUpdate {
	return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: r, ChangeSet: assigned(properties)}
}

func assigned(properties []types.DynamicProperty) []types.PropertyChange {
	var set []types.PropertyChange
	for _, p := range properties {
		set = append(set, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
	}
	return set
}

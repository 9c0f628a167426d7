// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// templateData is what must be known of a template to clone it.
type templateData struct {
	ref       inventory.Ref
	devices   object.VirtualDeviceList
	snapshots []types.VirtualMachineSnapshotTree
	current   *inventory.Ref // snapshot

	version string // of the template when it was read
}

// snapshot returns nil without an error if none is named and there is none.
func (t templateData) snapshot(name string) (*inventory.Ref, error) {
	if name == "" {
		return t.current, nil
	}
	var found []inventory.Ref
	var all []string
	var walk func([]types.VirtualMachineSnapshotTree)
	walk = func(tree []types.VirtualMachineSnapshotTree) {
		for _, node := range tree {
			all = append(all, node.Name)
			if node.Name == name {
				found = append(found, node.Snapshot)
			}
			walk(node.ChildSnapshotList)
		}
	}
	walk(t.snapshots)
	switch len(found) {
	case 1:
		return &found[0], nil
	case 0:
		slices.Sort(all)
		return nil, fmt.Errorf("%w: %q; the template has %s", vcerrors.ErrNoSnapshot, name, orNone(all))
	}
	return nil, fmt.Errorf("%w: the template has %d snapshots named %q; rename all but one", vcerrors.ErrAmbiguous, len(found), name)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// templates remembers what was read of templates for as long as they do not change.
type templates struct {
	mu    sync.Mutex
	known map[inventory.Ref]*templateEntry
}

type templateEntry struct {
	reading calls.Slots // holds a token while one caller reads; the others wait for it instead of reading as well
	data    *templateData
}

func newTemplates() *templates { return &templates{known: map[inventory.Ref]*templateEntry{}} }

func (t *templates) entry(r inventory.Ref) *templateEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[r]
	if !ok {
		e = &templateEntry{reading: calls.One()}
		t.known[r] = e
	}
	return e
}

func (t *templates) forget(r inventory.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, r)
}

// template answers from memory if the stream has reported no change of the template since it was read.
func (s *Session) template(ctx context.Context, r inventory.Ref) (templateData, error) {
	e := s.templates.entry(r)
	release, err := e.reading.Acquire(ctx)
	if err != nil {
		return templateData{}, fmt.Errorf("reading template %s: %w", r.Value, err)
	}
	defer release()
	s.want(r, inventory.PoweredOff)
	version := s.index.VersionOf(r)
	if e.data != nil && (version == "" || e.data.version == version) {
		return *e.data, nil
	}
	data := templateData{ref: r}
	var now inventory.Details
	err = s.api.Retrieve(ctx, "reading template "+r.Value, r, []string{"config.hardware.device", "snapshot", inventory.ChangeVersion}, func(p []types.DynamicProperty) {
		for _, property := range p {
			now.Set(property.Name, property.Val)
			switch value := property.Val.(type) {
			case types.ArrayOfVirtualDevice:
				data.devices = value.VirtualDevice
			case types.VirtualMachineSnapshotInfo:
				data.snapshots, data.current = value.RootSnapshotList, value.CurrentSnapshot
			}
		}
	})
	if err != nil {
		return templateData{}, err
	}
	if data.current != nil {
		now.Snapshot = *data.current
	}
	data.version = now.Version()
	e.data = &data
	return data, nil
}

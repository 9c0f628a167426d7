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
)

// templateData is what must be known of a template to clone it.
type templateData struct {
	ref       ref
	devices   object.VirtualDeviceList
	snapshots []types.VirtualMachineSnapshotTree
	current   *ref // snapshot

	version string // of the template when it was read
}

// snapshot returns nil without an error if none is named and there is none.
func (t templateData) snapshot(name string) (*ref, error) {
	if name == "" {
		return t.current, nil
	}
	var found []ref
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
		return nil, fmt.Errorf("%w: %q; the template has %s", ErrNoSnapshot, name, orNone(all))
	}
	return nil, fmt.Errorf("%w: the template has %d snapshots named %q; rename all but one", ErrAmbiguous, len(found), name)
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
	known map[ref]*templateEntry
}

type templateEntry struct {
	reading chan struct{} // holds a token while one caller reads; the others wait for it instead of reading as well
	data    *templateData
}

func newTemplates() *templates { return &templates{known: map[ref]*templateEntry{}} }

func (t *templates) entry(r ref) *templateEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[r]
	if !ok {
		e = &templateEntry{reading: make(chan struct{}, 1)}
		t.known[r] = e
	}
	return e
}

func (t *templates) forget(r ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, r)
}

// template answers from memory if the stream has reported no change of the template since it was read.
func (s *Session) template(ctx context.Context, r ref) (templateData, error) {
	e := s.templates.entry(r)
	if err := acquire(ctx, e.reading); err != nil {
		return templateData{}, fmt.Errorf("reading template %s: %w", r.Value, err)
	}
	defer func() { <-e.reading }()
	s.want(r, PoweredOff)
	version := s.index.versionOf(r)
	if e.data != nil && (version == "" || e.data.version == version) {
		return *e.data, nil
	}
	data := templateData{ref: r}
	var now details
	err := s.retrieve(ctx, "reading template "+r.Value, r, []string{"config.hardware.device", "snapshot", changeVersion}, func(p []types.DynamicProperty) {
		for _, property := range p {
			now.set(property.Name, property.Val)
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
		now.snapshot = *data.current
	}
	data.version = now.version()
	e.data = &data
	return data, nil
}

// versionOf changes with the configuration and the snapshots of a virtual machine. It is "" as long as these are not followed.
func (ix *index) versionOf(r ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	d, ok := ix.details[r]
	if !ok {
		return ""
	}
	return d.version()
}

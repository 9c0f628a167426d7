// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"sync"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

// templates caches templates for as long as they do not change.
type templates struct {
	mu    sync.Mutex
	known map[inventory.Ref]*templateEntry
}

type templateEntry struct {
	reading transport.Slots // held while one caller reads; the others wait instead of reading as well
	data    *hardware.Template
}

func newTemplates() *templates { return &templates{known: map[inventory.Ref]*templateEntry{}} }

func (t *templates) entry(r inventory.Ref) *templateEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.known[r]
	if !ok {
		e = &templateEntry{reading: transport.OneSlot()}
		t.known[r] = e
	}
	return e
}

func (t *templates) forget(r inventory.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, r)
}

// template returns the cached template if the stream has reported no change since it was read.
func (s *Session) template(ctx context.Context, r inventory.Ref) (hardware.Template, error) {
	e := s.templates.entry(r)
	release, err := e.reading.Acquire(ctx)
	if err != nil {
		return hardware.Template{}, fmt.Errorf("reading template %s: %w", r.Value, err)
	}
	defer release()
	s.stream.Want(r, inventory.PoweredOff)
	version := s.index.VersionOf(r)
	if e.data != nil && (version == "" || e.data.Version == version) {
		return *e.data, nil
	}
	data := hardware.Template{Ref: r}
	var now inventory.Details
	properties := []string{"config.hardware.device", hardware.VersionProperty, "snapshot", inventory.ChangeVersion}
	err = s.api.Retrieve(ctx, "reading template "+r.Value, r, properties, func(p []types.DynamicProperty) {
		for _, property := range p {
			now.Set(property.Name, property.Val)
			switch value := property.Val.(type) {
			case types.ArrayOfVirtualDevice:
				data.Devices = value.VirtualDevice
			case types.VirtualMachineSnapshotInfo:
				data.Snapshots, data.Current = value.RootSnapshotList, value.CurrentSnapshot
			case string:
				if property.Name == hardware.VersionProperty {
					data.Hardware = value
				}
			}
		}
	})
	if err != nil {
		return hardware.Template{}, err
	}
	if data.Current != nil {
		now.Snapshot = *data.Current
	}
	data.Version = now.Version()
	e.data = &data
	return data, nil
}

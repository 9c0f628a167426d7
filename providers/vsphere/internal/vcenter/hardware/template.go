// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Template holds what is needed of a template to clone it.
type Template struct {
	Ref       inventory.Ref
	Devices   object.VirtualDeviceList
	Hardware  string // version, such as vmx-19
	Snapshots []types.VirtualMachineSnapshotTree
	Current   *inventory.Ref // snapshot

	Version string // of the template when it was read
}

// Snapshot returns the snapshot with a name, or the current one if name is empty. It returns nil without an error if name is
// empty and there is no snapshot.
func (t Template) Snapshot(name string) (*inventory.Ref, error) {
	if name == "" {
		return t.Current, nil
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
	walk(t.Snapshots)
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

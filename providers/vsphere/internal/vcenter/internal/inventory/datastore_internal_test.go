// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func TestLinkedCloneStaysOnADatastoreThatKeepsDisksTogether(t *testing.T) {
	t.Parallel()
	own, other := Ref{Type: "Datastore", Value: "datastore-1"}, Ref{Type: "Datastore", Value: "datastore-2"}
	disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{Datastore: &own},
	}}}
	for name, test := range map[string]struct {
		storage string
		on      Ref
		want    string
	}{
		"vSAN, the same":             {"vsan", own, ""},
		"vSAN, another":              {"vsan", other, "its disk is on datastore store of type vsan, which a linked clone cannot leave"},
		"virtual volumes, another":   {"VVOL", other, "its disk is on datastore store of type VVOL, which a linked clone cannot leave"},
		"VMFS, another":              {"VMFS", other, ""},
		"of a kind that is not told": {"", other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ix := NewIndex(NewRecords(nil))
			ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
				Kind: types.ObjectUpdateKindEnter, Obj: own, ChangeSet: []types.PropertyChange{
					{Name: "name", Val: "store"}, {Name: "summary.type", Val: test.storage},
				},
			}}}}})
			g.Expect(ix.BoundTo(object.VirtualDeviceList{disk}, test.on)).To(Equal(test.want))
		})
	}
}

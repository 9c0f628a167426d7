// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

func TestLinkedCloneOnVSANStaysOnDatastore(t *testing.T) {
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
		"vSAN, the same":           {"vsan", own, ""},
		"vSAN, another":            {"vsan", other, "its disk is on datastore store of type vsan, and a linked clone must be on the same datastore"},
		"virtual volumes, another": {"VVOL", other, "its disk is on datastore store of type VVOL, and a linked clone must be on the same datastore"},
		"VMFS, another":            {"VMFS", other, ""},
		"of an unknown type":       {"", other, ""},
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
			g.Expect(ix.BoundTo(object.VirtualDeviceList{disk}, test.on, nil)).To(Equal(test.want))
		})
	}
}

// A linked clone reads its parent's disk, so a host must mount both datastores.
func TestLinkedCloneNeedsAHostThatMountsBothDatastores(t *testing.T) {
	t.Parallel()
	own, other := Ref{Type: "Datastore", Value: "datastore-1"}, Ref{Type: "Datastore", Value: "datastore-2"}
	a, b, c := Ref{Type: "HostSystem", Value: "host-a"}, Ref{Type: "HostSystem", Value: "host-b"}, Ref{Type: "HostSystem", Value: "host-c"}
	disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{Datastore: &own},
	}}}
	mounts := func(hosts ...Ref) types.ArrayOfDatastoreHostMount {
		var list types.ArrayOfDatastoreHostMount
		for _, host := range hosts {
			list.DatastoreHostMount = append(list.DatastoreHostMount, types.DatastoreHostMount{Key: host})
		}
		return list
	}
	ix := NewIndex(NewRecords(nil))
	enter := func(store Ref, name string, hosts ...Ref) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: store, ChangeSet: []types.PropertyChange{
			{Name: "name", Val: name}, {Name: "summary.type", Val: "VMFS"}, {Name: "host", Val: mounts(hosts...)},
		}}
	}
	ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
		enter(own, "store", a, b), enter(other, "other", b, c),
	}}}})
	for name, test := range map[string]struct {
		hosts []Ref
		on    Ref
		want  string
	}{
		"a host mounts both":            {[]Ref{a, b, c}, other, ""},
		"each host mounts one of them":  {[]Ref{a, c}, other, "its disk is on datastore store, and no host there mounts both it and datastore other"},
		"the same datastore":            {[]Ref{a}, own, ""},
		"nothing is known of the hosts": {nil, other, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(ix.BoundTo(object.VirtualDeviceList{disk}, test.on, test.hosts)).To(Equal(test.want))
		})
	}
}

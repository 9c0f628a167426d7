// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestLinkedCloneStaysOnADatastoreThatKeepsDisksTogether(t *testing.T) {
	t.Parallel()
	own, other := ref{Type: "Datastore", Value: "datastore-1"}, ref{Type: "Datastore", Value: "datastore-2"}
	disk := &types.VirtualDisk{VirtualDevice: types.VirtualDevice{Backing: &types.VirtualDiskFlatVer2BackingInfo{
		VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{Datastore: &own},
	}}}
	for name, test := range map[string]struct {
		storage string
		on      ref
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
			ix := newIndex(newRecords(nil))
			ix.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
				Kind: types.ObjectUpdateKindEnter, Obj: own, ChangeSet: []types.PropertyChange{
					{Name: "name", Val: "store"}, {Name: "summary.type", Val: test.storage},
				},
			}}}}})
			g.Expect(ix.boundTo(object.VirtualDeviceList{disk}, test.on)).To(Equal(test.want))
		})
	}
}

// TestTemplateOnVSANIsClonedInFullElsewhereUnlessASnapshotIsNamed: what vCenter would refuse is not asked of it.
func TestTemplateOnVSANIsClonedInFullElsewhereUnlessASnapshotIsNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil)
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	datastore := func(name string) string {
		resolved, err := s.Resolve(Placement{
			Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: name, Networks: []string{simulator.NetworkName},
		})
		g.Expect(err).NotTo(HaveOccurred())
		return resolved.DatastoreRef
	}
	own, other := datastore(simulator.SharedDatastore), datastore("datastore-a")
	read, err := s.template(t.Context(), parseRef("", template.Ref))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.current).NotTo(BeNil())
	snapshot := read.snapshots[0].Name
	g.Expect(s.LinkedPossible(t.Context(), template, snapshot, other)).To(BeTrue())

	s.index.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
		Kind: types.ObjectUpdateKindModify, Obj: parseRef("", own), ChangeSet: []types.PropertyChange{{Name: "summary.type", Val: "vsan"}},
	}}}}})
	g.Expect(s.LinkedPossible(t.Context(), template, "", own)).To(BeTrue())
	g.Expect(s.LinkedPossible(t.Context(), template, "", other)).To(BeFalse())
	_, err = s.LinkedPossible(t.Context(), template, snapshot, other)
	g.Expect(err).To(MatchError(ErrInvalid))
	g.Expect(err).To(MatchError(And(ContainSubstring("of type vsan"), ContainSubstring("cloneMode"))))
}

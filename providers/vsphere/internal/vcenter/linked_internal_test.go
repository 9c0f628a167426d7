// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// TestVSANTemplateIsFullyClonedElsewhere checks that no linked clone is requested that vCenter would
// reject.
func TestVSANTemplateIsFullyClonedElsewhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := dialled(t, StartVCenter(t, simulator.ThreeZones()), nil)
	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	datastore := func(name string) inventory.Resolved {
		resolved, err := s.Resolve(inventory.Placement{
			Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: name, Networks: []string{simulator.NetworkName},
		})
		g.Expect(err).NotTo(HaveOccurred())
		return resolved
	}
	own, other := datastore(simulator.SharedDatastore), datastore("datastore-a")
	read, err := s.template(t.Context(), inventory.ParseRef("", template.Ref))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Current).NotTo(BeNil())
	snapshot := read.Snapshots[0].Name
	g.Expect(s.LinkedPossible(t.Context(), template, snapshot, other)).To(BeTrue())

	s.index.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
		Kind: types.ObjectUpdateKindModify, Obj: inventory.ParseRef("", own.DatastoreRef), ChangeSet: []types.PropertyChange{{Name: "summary.type", Val: "vsan"}},
	}}}}})
	g.Expect(s.LinkedPossible(t.Context(), template, "", own)).To(BeTrue())
	g.Expect(s.LinkedPossible(t.Context(), template, "", other)).To(BeFalse())
	_, err = s.LinkedPossible(t.Context(), template, snapshot, other)
	g.Expect(err).To(MatchError(vcerrors.ErrInvalid))
	g.Expect(err).To(MatchError(And(ContainSubstring("of type vsan"), ContainSubstring("cloneMode"))))
}

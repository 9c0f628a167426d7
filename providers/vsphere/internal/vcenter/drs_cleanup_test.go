// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

func computeCluster(i int) inventory.Ref {
	return inventory.Ref{Type: "ClusterComputeResource", Value: fmt.Sprintf("domain-c%d", i)}
}

func TestUnusedClusterLocksAreDropped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	locks := &clusterLocks{}
	for i := range 30 {
		done, err := locks.lock(t.Context(), "vcenter", computeCluster(i))
		g.Expect(err).NotTo(HaveOccurred())
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = locks.lock(gone, "vcenter", computeCluster(i))
		g.Expect(err).To(MatchError(context.Canceled), "one at a time")
		g.Expect(locks.locks).To(HaveLen(1))
		done()
	}
	g.Expect(locks.locks).To(BeEmpty())
}

func TestJoinResultsOfDeletedVMsAreDropped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	index := inventory.NewIndex(inventory.NewRecords(nil))
	there := inventory.Ref{Type: "VirtualMachine", Value: "vm-1"}
	index.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{{
		Kind: types.ObjectUpdateKindEnter, Obj: there, ChangeSet: []types.PropertyChange{{Name: "name", Op: types.PropertyChangeOpAssign, Val: "vm"}},
	}}}}})
	groups := newDRSGroups(drsOptions{Index: index, Joined: func(inventory.VM) {}})
	refused := errors.New("refused")
	for i := range 30 {
		m := inventory.Membership{Group: "vms", VM: inventory.Ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-gone-%d", i)}}
		groups.finish(computeCluster(i), []inventory.Membership{m}, map[inventory.Membership]error{m: refused})
	}
	g.Expect(groups.failed).To(BeEmpty())
	m := inventory.Membership{Group: "vms", VM: there}
	groups.finish(computeCluster(0), []inventory.Membership{m}, map[inventory.Membership]error{m: refused})
	_, err := groups.Join(computeCluster(0), m)
	g.Expect(err).To(MatchError(refused), "the error of an existing virtual machine is kept")
	g.Expect(groups.failed).To(HaveLen(1))
}

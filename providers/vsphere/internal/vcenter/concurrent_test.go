// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package vcenter_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func groupOf(i int) string { return fmt.Sprintf("rack-%c-vms", 'a'+i%2) }

func TestManyTasksAreAllFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, simulator.ThreeZones()).session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	for i := range 30 { // push it out of vCenter's list of recent tasks
		task, err := s.SetExtraConfig(t.Context(), vm.Ref, map[string]string{"guestinfo.round": fmt.Sprint(i)})
		g.Expect(finish(t, s, task, err).Err).NotTo(HaveOccurred())
	}
}

func TestConcurrentJoins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vms := grouped(t, s, 30)
	r.forget()
	var all sync.WaitGroup
	for i, vm := range vms {
		all.Go(func() {
			if err := join(t, s, groupOf(i), vm); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range vms {
		vm, _ := r.server.VM(fmt.Sprintf("vm-%d", i))
		g.Expect(vm.Groups).To(Equal([]string{groupOf(i)}), "no join may be lost: %s", vm.Name)
		g.Expect(s.Locate(vms[i]).VMGroups).To(Equal([]string{groupOf(i)}))
		r.reports(vcenter.Event{Kind: vcenter.VMChanged, InstanceUUID: uuid(i), Name: vm.Name})
	}
	g.Expect(r.called("ReconfigureComputeResource_Task")).To(BeNumerically("<=", 3))
	g.Expect(r.seen(vcenter.InventoryChanged)).To(BeZero(), "who is in a group does not concern a zone")
}

// TestConcurrentJoinsOfTwoAccounts would lose the first join if both accounts read the group before either wrote it.
func TestConcurrentJoinsOfTwoAccounts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	one := r.session()
	ep := endpoint(r.server)
	ep.Thumbprint = soap.ThumbprintSHA256(r.server.Certificate())
	two := r.sessionOf(ep)
	g.Expect(two).NotTo(BeIdenticalTo(one))
	vms := grouped(t, one, 2)
	r.forget()
	r.server.HoldTasks("ReconfigureComputeResource_Task")
	started := func() int { return r.called("ReconfigureComputeResource_Task") }

	var all sync.WaitGroup
	all.Go(func() { _ = join(t, one, "rack-a-vms", vms[0]) })
	g.Eventually(started).WithTimeout(timeout).Should(Equal(1))
	all.Go(func() { _ = join(t, two, "rack-a-vms", vms[1]) })
	g.Consistently(started).WithTimeout(500*time.Millisecond).Should(Equal(1), "the second waits for the first")
	r.server.ReleaseTasks("ReconfigureComputeResource_Task")
	all.Wait()
	for _, vm := range r.server.VMs() {
		g.Expect(vm.Groups).To(Equal([]string{"rack-a-vms"}), vm.Name)
	}
}

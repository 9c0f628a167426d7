// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// grouped clones virtual machines into the cluster of the HostGroups layout.
func grouped(t *testing.T, s *vcenter.Session, n int) []vcenter.VM {
	t.Helper()
	resolved, err := s.Resolve(vcenter.Placement{Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	template, err := s.Template("dc-1", simulator.TemplateName)
	if err != nil {
		t.Fatal(err)
	}
	vms := make([]vcenter.VM, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			vms[i] = clone(t, s, vcenter.CloneSpec{
				Name: fmt.Sprintf("vm-%d", i), InstanceUUID: uuid(i), Template: template, Placement: resolved,
			})
		})
	}
	all.Wait()
	return vms
}

// join retries until the virtual machine is a member or the join has failed.
func join(t *testing.T, s *vcenter.Session, group string, vm vcenter.VM) error {
	t.Helper()
	var failed error
	eventually(t, func() error {
		done, err := s.JoinGroup(t.Context(), vm.ClusterRef, group, vm.Ref)
		if failed = err; !done && err == nil {
			return errors.New("not in yet")
		}
		return nil
	})
	return failed
}

func TestJoinKeepsMembers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vms := grouped(t, s, 3)
	g.Expect(join(t, s, "rack-a-vms", vms[0])).To(Succeed())

	other := newRig(t, simulator.Layout{})
	other.server = r.server
	another := other.session() // another client, which writes the group as well
	g.Expect(join(t, another, "rack-a-vms", vms[1])).To(Succeed())
	g.Expect(join(t, s, "rack-a-vms", vms[2])).To(Succeed())
	for _, vm := range r.server.VMs() {
		g.Expect(vm.Groups).To(Equal([]string{"rack-a-vms"}), vm.Name)
	}
}

func TestJoinWhileMemberIsDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vms := grouped(t, s, 2)
	g.Expect(join(t, s, "rack-a-vms", vms[0])).To(Succeed())
	r.server.HoldTasks("ReconfigureComputeResource_Task")
	joined, err := s.JoinGroup(t.Context(), vms[1].ClusterRef, "rack-a-vms", vms[1].Ref)
	g.Expect(joined, err).To(BeFalse())
	eventually(t, func() error {
		if running := r.server.RunningTasks(); len(running) != 1 {
			return fmt.Errorf("tasks %v run", running)
		}
		return nil
	})
	g.Expect(r.server.DestroyVM("vm-0")).To(Succeed())
	r.server.ReleaseTasks("ReconfigureComputeResource_Task")
	g.Expect(join(t, s, "rack-a-vms", vms[1])).To(Succeed(), "a deleted member of the group does not make it fail")
	vm, _ := r.server.VM("vm-1")
	g.Expect(vm.Groups).To(Equal([]string{"rack-a-vms"}))
}

func TestFailedJoinIsReportedOncePerVM(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vms := grouped(t, s, 2)

	err := join(t, s, "no-such-group", vms[0])
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
	g.Expect(err).To(MatchError(ContainSubstring("no-such-group")))

	r.forget()
	r.server.FailTasks("ReconfigureComputeResource_Task", 1, "host lost")
	err = join(t, s, "rack-a-vms", vms[1])
	g.Expect(err).To(MatchError(vcenter.ErrTaskFailed))
	g.Expect(err).To(MatchError(ContainSubstring("host lost")))
	r.reports(vcenter.Event{Kind: vcenter.VMChanged, InstanceUUID: uuid(1), Name: "vm-1"})
	g.Expect(join(t, s, "rack-a-vms", vms[1])).To(Succeed(), "the next attempt starts again")
}

func TestLocateFollowsTheRule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vm := grouped(t, s, 1)[0]
	g.Expect(join(t, s, "rack-c-vms", vm)).To(Succeed())
	task, err := s.PowerOn(t.Context(), vm.Ref)
	g.Expect(finish(t, s, task, err).Err).NotTo(HaveOccurred())
	eventually(t, func() error {
		if at := s.Locate(vm); !slices.Equal(at.HostGroups, []string{"rack-c-hosts"}) {
			return fmt.Errorf("it is at %+v", at)
		}
		return nil
	})
	at := s.Locate(vm)
	g.Expect(at.Datacenter).To(Equal("/dc-1"))
	g.Expect(at.ComputeCluster).To(Equal("/dc-1/host/cluster-1"))
	g.Expect(at.Host).To(HavePrefix("host-c-"))
	g.Expect(at.VMGroups).To(Equal([]string{"rack-c-vms"}))
}

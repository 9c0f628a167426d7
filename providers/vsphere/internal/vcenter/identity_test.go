// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func refs(vms []vcenter.VM) []string {
	var all []string
	for _, vm := range vms {
		all = append(all, vm.Ref)
	}
	return all
}

func TestCandidatesShareUUIDOrReference(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	spec := cloneSpec(t, s, 1)
	spec.Annotation, spec.ExtraConfig = "ours", map[string]string{"guestinfo.userdata": "hello"}
	original, other := clone(t, s, spec), clone(t, s, cloneSpec(t, s, 2))
	g.Expect(r.server.RegisterCopy("vm-1", "copy")).To(Succeed())
	copied, _ := r.server.VM("copy")
	reference := "VirtualMachine:" + copied.Ref
	present(t, s, copied.InstanceUUID)

	g.Expect(refs(s.Candidates("", original.BiosUUID, ""))).To(ConsistOf(original.Ref, reference))
	g.Expect(refs(s.Candidates(uuid(1), original.BiosUUID, original.Ref))).To(ConsistOf(original.Ref, reference), "each once")
	g.Expect(refs(s.Candidates(uuid(1), "", other.Ref))).To(ConsistOf(original.Ref, other.Ref))
	g.Expect(s.Candidates("", "", "")).To(BeEmpty())

	for _, vm := range s.Candidates("", original.BiosUUID, "") {
		g.Expect(vm.Annotation).To(Equal("ours"))
		g.Expect(vm.File).NotTo(BeEmpty())
		g.Expect(vm.HostConnected).To(BeTrue())
		settings, err := s.ExtraConfig(t.Context(), vm.Ref)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(settings).To(HaveKeyWithValue("guestinfo.userdata", "hello"))
	}
}

func TestInaccessibleVMStaysInInventory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	g.Expect(r.server.SetConnectionState("vm-1", types.VirtualMachineConnectionStateInaccessible)).To(Succeed())
	eventually(t, func() error {
		now, _ := s.VMByRef(vm.Ref)
		if now.Connection != vcenter.Inaccessible || now.Connected() {
			return fmt.Errorf("it is %+v", now)
		}
		return nil
	})
	g.Expect(s.Unfinished("vm-1")).To(BeEmpty())
	g.Expect(refs(s.Candidates(vm.InstanceUUID, "", ""))).To(ConsistOf(vm.Ref), "vCenter reports no UUID any more")
	g.Expect(refs(s.Candidates("", "", vm.Ref))).To(ConsistOf(vm.Ref))

	g.Expect(s.Unregister(t.Context(), vm.Ref)).To(Succeed())
	there, err := s.Exists(t.Context(), vm.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there).To(BeFalse())
}

func TestInvisibleVMExists(t *testing.T) {
	t.Parallel()
	vcenter.SkipWithStock(t, "does not report objects that leave their folder and still exist")
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	g.Expect(r.server.HideVM("vm-1")).To(Succeed())
	later := &rig{recorder: &recorder{}, t: t, server: r.server} // vcsim's own collector does not report that it left
	later.pool = newPool(t, later.recorder, time.Hour)
	s = later.session()
	_, seen := s.VMByRef(vm.Ref)
	g.Expect(seen).To(BeFalse())
	there, err := s.Exists(t.Context(), vm.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there).To(BeTrue())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"fmt"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func templateLayout() simulator.Layout {
	layout := simulator.ThreeZones()
	dc := &layout.Datacenters[0]
	dc.Networks = append(dc.Networks, simulator.Network{Name: "portgroup", Distributed: true})
	dc.Templates = append(dc.Templates,
		simulator.Template{Name: "history", Snapshots: []string{"first", "second"}, DiskGiB: 10, CPUs: 1, MemoryMiB: 512},
		simulator.Template{Name: "bare", DiskGiB: 10},
		simulator.Template{Name: "sockets", CPUs: 4, CoresPerSocket: 4},
		simulator.Template{Name: "twins", Snapshots: []string{"same", "same"}},
	)
	return layout
}

type cloneCase struct {
	name     string
	template string
	change   func(*vcenter.CloneSpec)
	check    func(Gomega, simulator.VM)
}

func cloneCases(t *testing.T, s *vcenter.Session) []cloneCase {
	t.Helper()
	return []cloneCase{
		{"full", "history", func(*vcenter.CloneSpec) {}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Linked).To(BeFalse())
			g.Expect(vm.DiskGiB).To(Equal(10))
			g.Expect(vm.Power).To(Equal("poweredOff"))
			g.Expect([]int{vm.CPUs, vm.MemoryMiB}).To(Equal([]int{2, 2048}), "what Kubernetes needs at least")
			g.Expect(vm.CoresPerSocket).To(Equal(2), "one socket")
			g.Expect([]string{vm.Datacenter, vm.Cluster, vm.Folder, vm.Datastore}).To(
				Equal([]string{"dc-1", "zone-a", "/dc-1/vm/workload", "datastore-a"}))
			g.Expect(vm.Pool).To(Equal("/dc-1/host/zone-a/Resources"))
		}},
		{"sized", "history", func(c *vcenter.CloneSpec) {
			c.NumCPUs, c.CoresPerSocket, c.MemoryMiB, c.DiskGiB = 8, ptr.To[int32](4), 16384, 30
		}, func(g Gomega, vm simulator.VM) {
			g.Expect([]int{vm.CPUs, vm.CoresPerSocket, vm.MemoryMiB, vm.DiskGiB}).To(Equal([]int{8, 4, 16384, 30}))
		}},
		{"another number of processors than fits the template's sockets", "sockets", func(c *vcenter.CloneSpec) { c.NumCPUs = 6 },
			func(g Gomega, vm simulator.VM) { g.Expect([]int{vm.CPUs, vm.CoresPerSocket}).To(Equal([]int{6, 6})) }},
		{"sockets left to vSphere", "sockets", func(c *vcenter.CloneSpec) { c.NumCPUs, c.CoresPerSocket = 6, ptr.To[int32](0) },
			func(g Gomega, vm simulator.VM) { g.Expect([]int{vm.CPUs, vm.CoresPerSocket}).To(Equal([]int{6, 0})) }},
		{"annotated", "bare", func(c *vcenter.CloneSpec) {
			c.Annotation, c.ExtraConfig = "made for a test", map[string]string{"guestinfo.userdata": "hello"}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Annotation).To(Equal("made for a test"))
			g.Expect(vm.ExtraConfig).To(HaveKeyWithValue("guestinfo.userdata", "hello"))
		}},
		{"linked to the current snapshot", "history", func(c *vcenter.CloneSpec) {
			c.Linked, c.DiskGiB = true, 100
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Linked).To(BeTrue())
			g.Expect(vm.DiskGiB).To(Equal(10), "the disk of a linked clone cannot grow")
		}},
		{"linked to a named snapshot", "history", func(c *vcenter.CloneSpec) {
			c.Linked, c.Snapshot = true, "first"
		}, func(g Gomega, vm simulator.VM) { g.Expect(vm.Linked).To(BeTrue()) }},
		{"linked without any snapshot is full", "bare", func(c *vcenter.CloneSpec) { c.Linked = true },
			func(g Gomega, vm simulator.VM) { g.Expect(vm.Linked).To(BeFalse()) }},
		{"a snapshot's name means nothing in a full clone", "bare", func(c *vcenter.CloneSpec) { c.Snapshot = "first" },
			func(g Gomega, vm simulator.VM) { g.Expect(vm.Linked).To(BeFalse()) }},
		{"two cards", "bare", func(c *vcenter.CloneSpec) {
			c.NICs = append(c.NICs, vcenter.NICSpec{Network: networks(t, s, "portgroup")[0], MAC: "00:50:56:01:02:03"})
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Networks).To(Equal([]string{simulator.NetworkName, "portgroup"}))
			g.Expect(vm.MACs[1]).To(Equal("00:50:56:01:02:03"))
			nics, err := s.NICs(t.Context(), vm.Ref)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]string{nics[0].MAC, nics[1].MAC}).To(Equal(vm.MACs))
		}},
		{"no card", "bare", func(c *vcenter.CloneSpec) { c.NICs = nil },
			func(g Gomega, vm simulator.VM) { g.Expect(vm.Networks).To(BeEmpty()) }},
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	r := newRig(t, templateLayout())
	s := r.session()
	for i, test := range cloneCases(t, s) {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			spec := cloneSpec(t, s, i)
			var err error
			spec.Template, err = s.Template("dc-1", test.template)
			g.Expect(err).NotTo(HaveOccurred())
			test.change(&spec)
			clone(t, s, spec)
			vm, ok := r.server.VM(spec.Name)
			g.Expect(ok).To(BeTrue())
			g.Expect(vm.InstanceUUID).To(Equal(uuid(i)))
			test.check(g, vm)
			linked, err := s.LinkedPossible(t.Context(), spec.Template, "", spec.Placement)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(linked).To(Equal(test.template == "history"))
		})
	}
}

func networks(t *testing.T, s *vcenter.Session, names ...string) []vcenter.NetworkBacking {
	t.Helper()
	p := placement()
	p.Networks = names
	resolved, err := s.Resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Networks
}

func TestInvalidClones(t *testing.T) {
	t.Parallel()
	r := newRig(t, templateLayout())
	s := r.session()
	for name, test := range map[string]struct {
		template string
		change   func(*vcenter.CloneSpec)
		err      error
		text     string
	}{
		"snapshot not found":        {"history", func(c *vcenter.CloneSpec) { c.Linked, c.Snapshot = true, "third" }, vcenter.ErrNoSnapshot, "first, second"},
		"a snapshot of none":        {"bare", func(c *vcenter.CloneSpec) { c.Linked, c.Snapshot = true, "third" }, vcenter.ErrNoSnapshot, "none"},
		"two snapshots of one name": {"twins", func(c *vcenter.CloneSpec) { c.Linked, c.Snapshot = true, "same" }, vcenter.ErrAmbiguous, "2 snapshots"},
		"a disk that would shrink":  {"bare", func(c *vcenter.CloneSpec) { c.DiskGiB = 5 }, vcenter.ErrInvalid, "less than the 10 GiB"},
		"a template that has gone":  {"bare", func(c *vcenter.CloneSpec) { c.Template.Ref = "VirtualMachine:vm-4711" }, vcenter.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spec := cloneSpec(t, s, 1)
			var err error
			spec.Template, err = s.Template("dc-1", test.template)
			g.Expect(err).NotTo(HaveOccurred())
			test.change(&spec)
			_, err = s.CloneVM(t.Context(), spec)
			g.Expect(err).To(MatchError(test.err))
			g.Expect(err).To(MatchError(ContainSubstring(test.text)))
			g.Expect(r.server.VMs()).To(BeEmpty())
			g.Expect(r.called("CloneVM_Task")).To(BeZero())
		})
	}
}

func TestDuplicateNameFailsTheTask(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	clone(t, s, cloneSpec(t, s, 1))
	spec := cloneSpec(t, s, 1)
	spec.InstanceUUID = uuid(2)
	task, err := s.CloneVM(t.Context(), spec)
	failed := finish(t, s, task, err)
	g.Expect(failed.Err).To(MatchError(vcenter.ErrDuplicateName))
	g.Expect(failed.Err).To(MatchError(vcenter.ErrTaskFailed))
	g.Expect(failed.Err).To(MatchError(ContainSubstring(`"vm-1" already exists`)))
	g.Expect(r.server.VMs()).To(HaveLen(1))
}

func TestTemplateIsReadOnceUntilItChanges(t *testing.T) {
	t.Parallel()
	vcenter.SkipWithStock(t, "is so slow that tasks are asked for, and reads cannot be counted")
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { clone(t, s, cloneSpec(t, s, i)) })
	}
	all.Wait()
	read := r.called("RetrievePropertiesEx")
	g.Expect(read).To(Equal(1))

	template, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.server.Rename("/dc-1/vm/templates/"+simulator.TemplateName, "renamed")).To(Succeed())
	r.server.FailTasks("CloneVM_Task", 1, "out of space")
	spec := cloneSpecFrom(t, s, template, 20)
	task, err := s.CloneVM(t.Context(), spec)
	g.Expect(finish(t, s, task, err).Err).To(HaveOccurred())
	clone(t, s, spec)
	g.Expect(r.called("RetrievePropertiesEx")).To(Equal(read+1), "a failed clone makes it be read again")
}

func cloneSpecFrom(t *testing.T, s *vcenter.Session, template vcenter.VM, i int) vcenter.CloneSpec {
	t.Helper()
	resolved, err := s.Resolve(placement())
	if err != nil {
		t.Fatal(err)
	}
	return vcenter.CloneSpec{
		Name: fmt.Sprintf("vm-%d", i), InstanceUUID: uuid(i), Template: template, Placement: resolved,
		NICs: []vcenter.NICSpec{{Network: resolved.Networks[0]}},
	}
}

func TestPowerAndDestroy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	bring(t, s, 1)
	vm, _ := byInstanceUUID(s, uuid(1))

	g.Expect(s.ShutdownGuest(t.Context(), vm.Ref)).To(Succeed())
	power := func(want vcenter.PowerState) {
		t.Helper()
		eventually(t, func() error {
			if now, _ := s.VMByRef(vm.Ref); now.Power != want {
				return fmt.Errorf("power is %s, not %s", now.Power, want)
			}
			return nil
		})
	}
	power(vcenter.PoweredOff)
	task, err := s.PowerOn(t.Context(), vm.Ref)
	g.Expect(finish(t, s, task, err).Err).NotTo(HaveOccurred())
	power(vcenter.PoweredOn)
	task, err = s.PowerOff(t.Context(), vm.Ref)
	g.Expect(finish(t, s, task, err).Err).NotTo(HaveOccurred())
	power(vcenter.PoweredOff)
	_, err = s.Destroy(t.Context(), vm.Ref)
	g.Expect(err).NotTo(HaveOccurred())
	eventually(t, func() error {
		if _, there := s.VMByRef(vm.Ref); there {
			return fmt.Errorf("%s is still there", vm.Ref)
		}
		return nil
	})
	_, err = s.PowerOn(t.Context(), vm.Ref)
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
}

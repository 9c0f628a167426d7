// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// ambiguousLayout returns a layout with two of everything whose name can be ambiguous.
func ambiguousLayout() simulator.Layout {
	layout := simulator.ThreeZones()
	dc := &layout.Datacenters[0]
	dc.Folders = append(dc.Folders, "a/team", "b/team", "nested/workload")
	dc.Clusters[0].Pools = append(dc.Clusters[0].Pools, "only-a", "x/deep")
	dc.Templates = append(dc.Templates,
		simulator.Template{Name: "twin", Folder: "a/team"},
		simulator.Template{Name: "twin", Folder: "b/team"},
		simulator.Template{Name: "plain", VirtualMachine: true, Folder: "templates"},
	)
	layout.Datacenters = append(layout.Datacenters, simulator.Datacenter{
		Name: "dc-2", Folders: []string{"elsewhere"},
		Clusters:   []simulator.Cluster{{Name: "solo", Hosts: []string{"solo-host"}}},
		Datastores: []simulator.Datastore{{Name: "solo-store"}},
		Networks:   []simulator.Network{{Name: "10.0.0.0/24", Distributed: true}, {Name: "plain"}},
	})
	return layout
}

func TestResolve(t *testing.T) {
	t.Parallel()
	s := newRig(t, ambiguousLayout()).session()
	for name, p := range map[string]vcenter.Placement{
		"everything by name": placement(),
		"everything by path": {
			Datacenter: "/dc-1", ComputeCluster: "/dc-1/host/zone-a", ResourcePool: "/dc-1/host/zone-a/Resources/workload",
			Folder: "/dc-1/vm/workload", Datastore: "/dc-1/datastore/datastore-a", Networks: []string{"/dc-1/network/VM Network"},
		},
		"everything by relative path": {
			Datacenter: "dc-1", ResourcePool: "zone-a/Resources/x/deep", Folder: "nested/workload", Datastore: "datastore-a",
		},
		"pattern for a pool":              {Datacenter: "dc-1", ComputeCluster: "zone-a", ResourcePool: "*/Resources", Datastore: "datastore-a"},
		"pool name unique in its cluster": {Datacenter: "dc-1", ComputeCluster: "zone-b", ResourcePool: "workload", Datastore: "shared"},
		"pool decides the cluster":        {Datacenter: "dc-1", ResourcePool: "only-a", Datastore: "datastore-a"},
		"nothing but the datacenter":      {Datacenter: "dc-2"},
		"the datacenter's own folder":     {Datacenter: "dc-2", Folder: "vm"},
		"a network with a slash":          {Datacenter: "dc-2", Networks: []string{"10.0.0.0/24", "plain", "10.0.0.0/24"}},
		"datacenter by pattern":           {Datacenter: "*-2"},
		"folder of the top level by name": {Datacenter: "dc-1", ComputeCluster: "zone-a", Folder: "workload", Datastore: "shared"},
		"paths that start below the datacenter": {
			Datacenter: "dc-1", ResourcePool: "host/zone-a/Resources/workload", Folder: "vm/nested/workload", Datastore: "datastore/datastore-a", Networks: []string{"network/VM Network"},
		},
		"a compute cluster for its own pool": {Datacenter: "dc-1", ResourcePool: "/dc-1/host/zone-a", Datastore: "datastore-a"},
		"networks of the cluster it is in":   {Datacenter: "dc-1", ComputeCluster: "zone-c", Datastore: "shared", Networks: []string{"network-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resolved, err := s.Resolve(p)
			g.Expect(err).NotTo(HaveOccurred())
			for _, ref := range []string{resolved.DatacenterRef, resolved.ClusterRef, resolved.PoolRef, resolved.FolderRef, resolved.DatastoreRef} {
				g.Expect(ref).NotTo(BeEmpty())
			}
			g.Expect(resolved.Networks).To(HaveLen(len(p.Networks)))
		})
	}
}

func TestFolderWithoutPathIsTopmost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, ambiguousLayout()).session()
	folder := func(value string) string {
		p := placement()
		p.Folder = value
		resolved, err := s.Resolve(p)
		g.Expect(err).NotTo(HaveOccurred(), value)
		return resolved.FolderRef
	}
	g.Expect(folder("workload")).To(Equal(folder("/dc-1/vm/workload")))
	g.Expect(folder("workload")).NotTo(Equal(folder("nested/workload")))
	g.Expect(folder("")).To(Equal(folder("vm")))
}

func TestResolveFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, ambiguousLayout())
	s := r.session()
	for name, test := range map[string]struct {
		change func(*vcenter.Placement)
		field  string
		err    error
		detail string
	}{
		"no such datacenter":  {func(p *vcenter.Placement) { p.Datacenter = "dc-9" }, "datacenter", vcenter.ErrNotFound, "/dc-1, /dc-2"},
		"which datacenter":    {func(p *vcenter.Placement) { p.Datacenter = "" }, "datacenter", vcenter.ErrAmbiguous, "/dc-1, /dc-2"},
		"no such cluster":     {func(p *vcenter.Placement) { p.ComputeCluster = "zone-x" }, "computeCluster", vcenter.ErrNotFound, "/dc-1/host/zone-b"},
		"no such pool":        {func(p *vcenter.Placement) { p.ResourcePool = "gold" }, "resourcePool", vcenter.ErrNotFound, "/dc-1/host/zone-a/Resources/workload"},
		"pool elsewhere":      {func(p *vcenter.Placement) { p.ComputeCluster, p.ResourcePool = "zone-b", "only-a" }, "resourcePool", vcenter.ErrInvalid, "not in compute cluster zone-b"},
		"which pool":          {func(p *vcenter.Placement) { p.ComputeCluster, p.ResourcePool = "", "workload" }, "resourcePool", vcenter.ErrAmbiguous, "/dc-1/host/zone-c/Resources/workload"},
		"which cluster":       {func(p *vcenter.Placement) { p.ComputeCluster = "" }, "resourcePool", vcenter.ErrAmbiguous, "/dc-1/host/zone-a"},
		"no such folder":      {func(p *vcenter.Placement) { p.Folder = "nowhere" }, "folder", vcenter.ErrNotFound, "/dc-1/vm/a/team"},
		"folder of hosts":     {func(p *vcenter.Placement) { p.Folder = "/dc-1/host" }, "folder", vcenter.ErrNotFound, ""},
		"folder elsewhere":    {func(p *vcenter.Placement) { p.Folder = "/dc-2/vm/elsewhere" }, "folder", vcenter.ErrNotFound, ""},
		"which folder":        {func(p *vcenter.Placement) { p.Folder = "team" }, "folder", vcenter.ErrAmbiguous, "/dc-1/vm/a/team, /dc-1/vm/b/team"},
		"no such datastore":   {func(p *vcenter.Placement) { p.Datastore = "gone" }, "datastore", vcenter.ErrNotFound, "/dc-1/datastore/shared"},
		"datastore elsewhere": {func(p *vcenter.Placement) { p.Datastore = "datastore-b" }, "datastore", vcenter.ErrInvalid, "not mounted on any host of compute cluster zone-a"},
		"which datastore":     {func(p *vcenter.Placement) { p.Datastore = "" }, "datastore", vcenter.ErrAmbiguous, "/dc-1/datastore/datastore-a, /dc-1/datastore/shared"},
		"no such network":     {func(p *vcenter.Placement) { p.Networks = []string{"lost"} }, "network", vcenter.ErrNotFound, "/dc-1/network/VM Network"},
		"network elsewhere":   {func(p *vcenter.Placement) { p.Networks = []string{"network-b"} }, "network", vcenter.ErrInvalid, "not connected to any host of compute cluster zone-a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := placement()
			test.change(&p)
			_, err := s.Resolve(p)
			g.Expect(err).To(MatchError(test.err))
			var lookup *vcenter.LookupError
			g.Expect(errors.As(err, &lookup)).To(BeTrue())
			g.Expect(lookup.Field).To(Equal(test.field))
			g.Expect(lookup.Error()).To(ContainSubstring(test.detail))
		})
	}
}

func TestResolveJoinsErrors(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, ambiguousLayout()).session()
	_, err := s.Resolve(vcenter.Placement{
		Datacenter: "dc-1", ComputeCluster: "c", ResourcePool: "p", Folder: "f", Datastore: "d", Networks: []string{"n1", "VM Network", "n2"},
	})
	joined, ok := err.(interface{ Unwrap() []error })
	g.Expect(ok).To(BeTrue())
	var fields []string
	for _, each := range joined.Unwrap() {
		var lookup *vcenter.LookupError
		g.Expect(errors.As(each, &lookup)).To(BeTrue())
		fields = append(fields, lookup.Field+" "+lookup.Value)
	}
	g.Expect(fields).To(Equal([]string{"computeCluster c", "resourcePool p", "folder f", "datastore d", "network n1", "network n2"}))
}

func TestInaccessibleDatastore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	g.Expect(r.server.RemoveDatastore("dc-1", "datastore-a")).To(Succeed())
	eventually(t, func() error {
		if _, err := s.Resolve(placement()); err == nil {
			return errors.New("still there")
		}
		return nil
	})
	g.Expect(r.server.RestoreDatastore("dc-1", "datastore-a")).To(Succeed())
	eventually(t, func() error {
		_, err := s.Resolve(placement())
		return err
	})
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, ambiguousLayout()).session()
	byName, err := s.Template("dc-1", simulator.TemplateName)
	g.Expect(err).NotTo(HaveOccurred())
	fromElsewhere, err := s.Template("dc-2", byName.Path)
	g.Expect(err).NotTo(HaveOccurred(), "a path from the root leads anywhere")
	g.Expect(fromElsewhere.Ref).To(Equal(byName.Ref))
	for _, name := range []string{byName.InstanceUUID, byName.Path, "templates/" + simulator.TemplateName} {
		found, err := s.Template("dc-1", name)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(found.Ref).To(Equal(byName.Ref), name)
	}
	plain, err := s.Template("dc-1", "plain")
	g.Expect(err).NotTo(HaveOccurred(), "a virtual machine that is not a template can be cloned, too")
	g.Expect(plain.Template).To(BeFalse())

	for name, test := range map[string]struct {
		datacenter, template string
		err                  error
		detail               string
	}{
		"missing":   {"dc-1", "windows", vcenter.ErrNotFound, "/dc-1/vm/templates/" + simulator.TemplateName},
		"nowhere":   {"dc-2", "/dc-1/vm/none", vcenter.ErrNotFound, "dc-2"},
		"elsewhere": {"dc-2", simulator.TemplateName, vcenter.ErrNotFound, "dc-2"},
		"two":       {"dc-1", "twin", vcenter.ErrAmbiguous, "/dc-1/vm/a/team/twin, /dc-1/vm/b/team/twin"},
	} {
		_, err := s.Template(test.datacenter, test.template)
		g.Expect(err).To(MatchError(test.err), name)
		var lookup *vcenter.LookupError
		g.Expect(errors.As(err, &lookup)).To(BeTrue())
		g.Expect(lookup.Field).To(Equal("template"))
		g.Expect(lookup.Detail).To(ContainSubstring(test.detail))
	}
}

// A plain virtual machine can serve as a template, and is created and deleted without any other change of the inventory.
func TestMissingVMEmitsInventoryChange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, ambiguousLayout())
	s := r.session()
	emitsEvent := func(doing string, act func()) {
		before := r.seen(vcenter.InventoryChanged)
		act()
		eventually(t, func() error {
			if r.seen(vcenter.InventoryChanged) == before {
				return errors.New("no event for " + doing)
			}
			return nil
		})
	}
	_, err := s.Template("dc-1", "golden")
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
	emitsEvent("a name that comes", func() { g.Expect(r.server.Rename("/dc-1/vm/templates/plain", "golden")).To(Succeed()) })
	eventually(t, func() error { _, err := s.Template("dc-1", "golden"); return err })

	_, err = s.Template("dc-1", "twin")
	g.Expect(err).To(MatchError(vcenter.ErrAmbiguous))
	emitsEvent("a namesake that goes", func() { g.Expect(r.server.Rename("/dc-1/vm/a/team/twin", "single")).To(Succeed()) })
	eventually(t, func() error { _, err := s.Template("dc-1", "twin"); return err })

	made := clone(t, s, cloneSpec(t, s, 1))
	_, taken := s.VMInFolder(made.FolderRef, made.Name)
	g.Expect(taken).To(BeTrue())
	emitsEvent("a name that is free", func() { g.Expect(r.server.DestroyVM(made.Name)).To(Succeed()) })
}

func TestUnreadableSwitchIsRejected(t *testing.T) {
	t.Parallel()
	vcenter.SkipWithStock(t, "reports no part of a property that changes as a whole")
	g := NewWithT(t)
	r := newRig(t, templateLayout())
	s := r.session()
	p := placement()
	p.Networks = []string{"portgroup"}
	_, err := s.Resolve(p)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.server.HideSwitch("dc-1", "portgroup")).To(Succeed())
	eventually(t, func() error {
		if _, err = s.Resolve(p); err == nil {
			return errors.New("it is still resolved")
		}
		return nil
	})
	g.Expect(err).To(And(MatchError(vcenter.ErrInvalid), MatchError(ContainSubstring("System.Read"))))
}

func TestManagedObjectReferences(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, ambiguousLayout()).session()
	p := placement()
	byName, err := s.Resolve(p)
	g.Expect(err).NotTo(HaveOccurred())
	got, err := s.Resolve(vcenter.Placement{
		Datacenter: byName.DatacenterRef, ComputeCluster: byName.ClusterRef, ResourcePool: byName.PoolRef, Folder: byName.FolderRef, Datastore: byName.DatastoreRef,
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.PoolRef).To(Equal(byName.PoolRef))
	g.Expect(got.FolderRef).To(Equal(byName.FolderRef))
	g.Expect(got.DatastoreRef).To(Equal(byName.DatastoreRef))

	p.ResourcePool = byName.FolderRef
	_, err = s.Resolve(p)
	g.Expect(err).To(HaveOccurred(), "a folder is not a pool")
	p.ResourcePool = "ResourcePool:resgroup-999999"
	_, err = s.Resolve(p)
	g.Expect(err).To(MatchError(ContainSubstring("resgroup-999999")))
}

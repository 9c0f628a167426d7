// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// storageLayout returns a layout with policies, several datastores in zone-a, and templates with several disks.
func storageLayout() simulator.Layout {
	layout := simulator.ThreeZones()
	dc := &layout.Datacenters[0]
	dc.Datastores = append(dc.Datastores,
		simulator.Datastore{Name: "fast-1", Clusters: []string{"zone-a"}},
		simulator.Datastore{Name: "fast-2", Clusters: []string{"zone-a"}},
	)
	dc.Templates = append(dc.Templates,
		simulator.Template{Name: "disks", DiskGiB: 10, FurtherGiB: []int{20, 30}, Snapshots: []string{"now"}, HardwareVersion: "vmx-14"},
		simulator.Template{Name: "old", DiskGiB: 10, HardwareVersion: "vmx-13"},
		simulator.Template{Name: "bare", DiskGiB: 10},
	)
	layout.Policies = []simulator.StoragePolicy{
		{Name: "fast", Datastores: []string{"fast-1", "fast-2", "datastore-b"}},
		{Name: "slow", Datastores: []string{"datastore-c"}},
		{Name: "secret", Datastores: []string{"datastore-a"}, Encrypts: true},
	}
	return layout
}

func templateOf(t *testing.T, s *vcenter.Session, name string) vcenter.VM {
	t.Helper()
	template, err := s.Template("dc-1", name)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func policyOf(t *testing.T, s *vcenter.Session, name string) string {
	t.Helper()
	id, err := s.Policy(t.Context(), vcenter.FieldStoragePolicy, name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

type storedCase struct {
	name, template string
	change         func(*vcenter.CloneSpec)
	check          func(Gomega, simulator.VM)
}

func diskCases() []storedCase {
	return []storedCase{
		{"nothing is said", "disks", func(*vcenter.CloneSpec) {}, func(g Gomega, vm simulator.VM) {
			g.Expect(sizes(vm)).To(Equal([]int{10, 20, 30}))
			g.Expect(vm.HomePolicy).To(BeEmpty())
			g.Expect(vm.CPU).To(BeZero())
			g.Expect(vm.Memory).To(BeZero())
			g.Expect(vm.Key).To(BeEmpty())
		}},
		{"further disks become larger", "disks", func(c *vcenter.CloneSpec) { c.DiskGiB, c.FurtherGiB = 11, []int32{0, 33} },
			func(g Gomega, vm simulator.VM) { g.Expect(sizes(vm)).To(Equal([]int{11, 20, 33})) }},
		{"further disks alone become larger", "disks", func(c *vcenter.CloneSpec) { c.FurtherGiB = []int32{21} },
			func(g Gomega, vm simulator.VM) { g.Expect(sizes(vm)).To(Equal([]int{10, 21, 30})) }},
		{"the disks of a linked clone cannot grow", "disks", func(c *vcenter.CloneSpec) { c.Linked, c.FurtherGiB = true, []int32{21, 31} },
			func(g Gomega, vm simulator.VM) { g.Expect(sizes(vm)).To(Equal([]int{10, 20, 30})) }},
		{"data disks in each mode", "bare", func(c *vcenter.CloneSpec) {
			c.DataDisks = []vcenter.DataDisk{
				{Name: "a", SizeGiB: 1, Provisioning: vcenter.ThinDisk}, {Name: "b", SizeGiB: 2, Provisioning: vcenter.ThickDisk},
				{Name: "c", SizeGiB: 3, Provisioning: vcenter.EagerlyZeroedDisk}, {Name: "d", SizeGiB: 4},
			}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Disks).To(Equal([]simulator.Disk{
				{GiB: 10}, {GiB: 1, Unit: 1, Mode: "Thin"}, {GiB: 2, Unit: 2, Mode: "Thick"}, {GiB: 3, Unit: 3, Mode: "EagerlyZeroed"}, {GiB: 4, Unit: 4},
			}))
		}},
		{"as many data disks as there may be leave out the controller's own place", "disks", func(c *vcenter.CloneSpec) {
			for i := range 29 {
				c.DataDisks = append(c.DataDisks, vcenter.DataDisk{Name: fmt.Sprint(i), SizeGiB: 1})
			}
		}, func(g Gomega, vm simulator.VM) {
			var units []int
			for _, disk := range vm.Disks {
				units = append(units, disk.Unit)
			}
			g.Expect(units).To(HaveLen(32))
			g.Expect(units).NotTo(ContainElement(7))
			g.Expect(slices.Max(units)).To(Equal(32))
		}},
	}
}

func keptCases(t *testing.T, r *rig, s *vcenter.Session) []storedCase {
	t.Helper()
	fast := policyOf(t, s, "fast")
	return []storedCase{
		{"resources", "bare", func(c *vcenter.CloneSpec) {
			c.CPU = vcenter.Allocation{Reservation: 1000, Limit: 2000, Shares: 300}
			c.Memory = vcenter.Allocation{Reservation: 1024, Shares: 5000}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.CPU).To(Equal(simulator.Resources{Reservation: 1000, Limit: 2000, Shares: 300}))
			g.Expect(vm.Memory).To(Equal(simulator.Resources{Reservation: 1024, Shares: 5000}))
		}},
		{"a policy is that of home and of all disks", "disks", func(c *vcenter.CloneSpec) {
			c.Policies = vcenter.Policies{Home: fast, Disks: fast}
			c.DataDisks = []vcenter.DataDisk{{Name: "a", SizeGiB: 1}}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.HomePolicy).To(Equal("fast"))
			g.Expect(policies(vm)).To(Equal([]string{"fast", "fast", "fast", "fast"}))
		}},
		{"a policy of a linked clone", "disks", func(c *vcenter.CloneSpec) {
			c.Linked, c.Policies = true, vcenter.Policies{Home: fast, Disks: fast}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.Linked).To(BeTrue())
			g.Expect(vm.HomePolicy).To(Equal("fast"))
			g.Expect(policies(vm)).To(Equal([]string{"fast", "fast", "fast"}))
		}},
		{"a policy that encrypts is that of home", "bare", func(c *vcenter.CloneSpec) {
			c.Policies = vcenter.Policies{Home: policyOf(t, s, "secret"), Encrypting: "secret", Disks: fast}
		}, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.HomePolicy).To(Equal("secret"))
			g.Expect(policies(vm)).To(Equal([]string{"fast"}))
		}},
		{"traffic is encrypted", "bare", func(c *vcenter.CloneSpec) {
			c.Encryption.FaultTolerance, c.Encryption.Migration = "ftEncryptionRequired", "opportunistic"
		}, func(g Gomega, vm simulator.VM) {
			g.Expect([]string{vm.FTEncryption, vm.MigrateEncryption}).To(Equal([]string{"ftEncryptionRequired", "opportunistic"}))
		}},
		{"a key provider makes a key", "bare", func(c *vcenter.CloneSpec) { c.Encryption.Key = "vault" }, func(g Gomega, vm simulator.VM) {
			g.Expect(vm.KeyProvider).To(Equal("vault"))
			g.Expect([]string{vm.Key}).To(Equal(r.server.Keys("vault")))
		}},
	}
}

func TestCloneStorage(t *testing.T) {
	t.Parallel()
	r := newRig(t, storageLayout())
	s := r.session()
	NewWithT(t).Expect(r.server.AddKeyProvider("vault", false)).To(Succeed())
	for i, test := range append(diskCases(), keptCases(t, r, s)...) {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			spec := cloneSpecFrom(t, s, templateOf(t, s, test.template), i)
			test.change(&spec)
			clone(t, s, spec)
			vm, ok := r.server.VM(spec.Name)
			g.Expect(ok).To(BeTrue())
			test.check(g, vm)
		})
	}
}

func sizes(vm simulator.VM) []int {
	var all []int
	for _, disk := range vm.Disks {
		all = append(all, disk.GiB)
	}
	return all
}

func policies(vm simulator.VM) []string {
	var all []string
	for _, disk := range vm.Disks {
		all = append(all, disk.Policy)
	}
	return all
}

func TestInvalidStorageIsRejectedWithoutCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, storageLayout())
	s := r.session()
	for name, test := range map[string]struct {
		change   func(*vcenter.CloneSpec)
		err      error
		text     string
		template string // "" is disks
	}{
		"a further disk would shrink":             {func(c *vcenter.CloneSpec) { c.FurtherGiB = []int32{0, 29} }, vcenter.ErrInvalid, "additionalDisksGiB[1] is 29, less than the 30 GiB", ""},
		"more further disks than it has":          {func(c *vcenter.CloneSpec) { c.FurtherGiB = []int32{20, 30, 40} }, vcenter.ErrInvalid, "additionalDisksGiB has 3 sizes, but the template has 2 disks after the first one", ""},
		"more disks than places":                  {func(c *vcenter.CloneSpec) { c.DataDisks = make([]vcenter.DataDisk, 62) }, vcenter.ErrInvalid, "dataDisks has 62 disks, but the template's controllers have capacity for 60", ""},
		"more disks than old hardware has places": {func(c *vcenter.CloneSpec) { c.DataDisks = make([]vcenter.DataDisk, 15) }, vcenter.ErrInvalid, "have capacity for 14: remove some, or give the template a paravirtual SCSI controller and hardware version vmx-14", "old"},
		"a key, and no provider":                  {func(c *vcenter.CloneSpec) { c.Encryption.Key = "vault" }, vcenter.ErrNoKeyProvider, `cryptoKeyID "vault": no key provider found: remove cryptoKeyID, or add a key provider`, ""},
		"a policy that encrypts, and no provider": {func(c *vcenter.CloneSpec) { c.Policies = vcenter.Policies{Home: "x", Encrypting: "secret"} }, vcenter.ErrNoKeyProvider, `cryptoProfile "secret": no key provider`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			spec := cloneSpecFrom(t, s, templateOf(t, s, cmp.Or(test.template, "disks")), 1)
			test.change(&spec)
			_, err := s.CloneVM(t.Context(), spec)
			g.Expect(err).To(MatchError(test.err))
			g.Expect(err).To(MatchError(ContainSubstring(test.text)))
			g.Expect(r.called("CloneVM_Task")).To(BeZero())
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, storageLayout())
	s := r.session()
	g.Expect(r.server.AddKeyProvider("native", true)).To(Succeed())
	g.Expect(r.server.AddKeyProvider("vault", false)).To(Succeed())
	encrypted := func(i int, key string) vcenter.CloneSpec {
		spec := cloneSpecFrom(t, s, templateOf(t, s, "bare"), i)
		spec.Encryption.Key = key
		return spec
	}

	clone(t, s, encrypted(1, "native"))
	vm, _ := r.server.VM("vm-1")
	g.Expect(vm.KeyProvider).To(Equal("native"))
	g.Expect(r.called("GenerateKey")).To(BeZero(), "it makes keys itself")

	r.server.FailTasks("CloneVM_Task", 1, "out of space")
	task, err := s.CloneVM(t.Context(), encrypted(2, "vault"))
	g.Expect(finish(t, s, task, err).Err).To(HaveOccurred())
	clone(t, s, encrypted(2, "vault"))
	g.Expect(r.server.Keys("vault")).To(HaveLen(1), "the second attempt takes the key that the first one had made")
	g.Expect(r.called("ListKmipServers")).To(Equal(1))

	clone(t, s, encrypted(3, r.server.Keys("vault")[0]))
	vm, _ = r.server.VM("vm-3")
	g.Expect([]string{vm.KeyProvider, vm.Key}).To(Equal([]string{"vault", r.server.Keys("vault")[0]}), "a key that there is")

	_, err = s.CloneVM(t.Context(), encrypted(4, "stranger"))
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
	g.Expect(err).To(MatchError(ContainSubstring(`cryptoKeyID "stranger": not found: use a key that vCenter has, or one of its key providers: native, vault`)))
}

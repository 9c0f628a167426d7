// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// rackPlacement returns the placement of a virtual machine in a rack of the HostGroups layout.
func rackPlacement(letter, name string) vcenter.Placement {
	p := rackZone(letter).Placement
	p.Folder, p.Datastore, p.Networks, p.Name = "workload", simulator.SharedDatastore, []string{simulator.NetworkName}, name
	return p
}

func rackSpec(t *testing.T, s *vcenter.Session, letter string) vcenter.CloneSpec {
	t.Helper()
	resolved, err := s.Resolve(rackPlacement(letter, "vm-1"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := s.Template("dc-1", simulator.TemplateName)
	if err != nil {
		t.Fatal(err)
	}
	return vcenter.CloneSpec{
		Name: "vm-1", InstanceUUID: uuid(1), Template: template, Placement: resolved, NICs: []vcenter.NICSpec{{Network: resolved.Networks[0]}},
	}
}

// disturbances make vSphere no longer keep machines in their host group.
func disturbances() map[string]func(*simulator.Server) error {
	return map[string]func(*simulator.Server) error{
		"DRS is off":                func(v *simulator.Server) error { return v.SetDRS("cluster-1", simulator.DRSOff) },
		"DRS only gives advice":     func(v *simulator.Server) error { return v.SetDRS("cluster-1", "manual") },
		"DRS only places":           func(v *simulator.Server) error { return v.SetDRS("cluster-1", "partiallyAutomated") },
		"the rule is not mandatory": func(v *simulator.Server) error { return v.SetMandatory("cluster-1", "rack-b", false) },
		"the rule is switched off":  func(v *simulator.Server) error { return v.DisableRule("cluster-1", "rack-b", true) },
	}
}

func TestHostIsChosenWithoutEffectiveRule(t *testing.T) {
	t.Parallel()
	for name, disturb := range disturbances() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRig(t, simulator.HostGroups())
			s := r.session()
			resolved, err := s.Resolve(rackPlacement("b", "node"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(resolved.HostRef).To(BeEmpty(), "DRS chooses")

			g.Expect(disturb(r.server)).To(Succeed())
			chosen := map[string]bool{}
			eventually(t, func() error {
				for i := range 20 {
					resolved, err := s.Resolve(rackPlacement("b", fmt.Sprintf("node-%d", i)))
					if err != nil || resolved.HostRef == "" {
						return errors.Join(err, errors.New("no host is chosen"))
					}
					chosen[resolved.HostRef] = true
				}
				return nil
			})
			g.Expect(chosen).To(HaveLen(2), "machines that start together are spread over the group")

			vm := clone(t, s, rackSpec(t, s, "b"))
			g.Expect(s.Locate(vm).HostGroups).To(Equal([]string{"rack-b-hosts"}))
			g.Expect(s.StrandedOutside(vm, "rack-b-hosts")).To(BeEmpty())
		})
	}
}

func TestUnfitHostIsNotChosen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	g.Expect(r.server.SetDRS("cluster-1", simulator.DRSOff)).To(Succeed())
	g.Expect(r.server.DisconnectHosts("cluster-1", "host-b-1")).To(Succeed())
	eventually(t, func() error {
		chosen := map[string]bool{}
		for i := range 20 {
			resolved, err := s.Resolve(rackPlacement("b", fmt.Sprintf("node-%d", i)))
			if err != nil {
				return err
			}
			chosen[resolved.HostRef] = true
		}
		if len(chosen) != 1 || chosen[""] {
			return fmt.Errorf("hosts %v are chosen", chosen)
		}
		return nil
	})
	g.Expect(r.server.SetMaintenance("cluster-1", true, "host-b-2")).To(Succeed())
	eventually(t, func() error {
		_, err := s.Resolve(rackPlacement("b", "node"))
		var lookup *vcenter.LookupError
		if !errors.As(err, &lookup) || lookup.Field != "host" {
			return fmt.Errorf("got %w", err)
		}
		g.Expect(lookup.Detail).To(And(ContainSubstring("host-b-1"), ContainSubstring("maintenance")))
		return nil
	})
}

// A rule that is not mandatory must be requested, and is reported.
func TestZoneWithShouldRule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	zone := rackZone("b")
	zone.ShouldRule = true
	report, err := s.CheckZone(t.Context(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report).To(Equal(vcenter.ZoneReport{}), "the rule is better than it need be")
	g.Expect(r.server.SetMandatory("cluster-1", "rack-b", false)).To(Succeed())
	eventually(t, func() error {
		report, err = s.CheckZone(t.Context(), zone)
		if err != nil || report.Explicit == "" {
			return errors.Join(err, errors.New("the rule is mandatory"))
		}
		return nil
	})
	g.Expect(report.Problems).To(BeEmpty())
	g.Expect(report.Explicit).To(ContainSubstring(`rule "rack-b"`))
	zone.ShouldRule = false
	report, err = s.CheckZone(t.Context(), zone)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reasons(report.Problems)).To(Equal([]inventory.ZoneReason{inventory.HostsMisconfigured}))
	g.Expect(report.Problems[0].Message).To(And(ContainSubstring(`rule "rack-b"`), ContainSubstring("topology.hosts.rule")))
}

func TestStrandedOutsideOnlyWithoutDRS(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.HostGroups())
	s := r.session()
	vm := clone(t, s, rackSpec(t, s, "b"))
	g.Expect(r.server.MoveVMToHost(vm.Name, "host-a-1")).To(Succeed())
	stranded := func(want bool) {
		t.Helper()
		eventually(t, func() error {
			now, _ := s.VMByRef(vm.Ref)
			if why := s.StrandedOutside(now, "rack-b-hosts"); now.Host != "host-a-1" || (why != "") != want {
				return fmt.Errorf("on %s: %q", now.Host, why)
			}
			return nil
		})
	}
	stranded(false)
	g.Expect(r.server.SetDRS("cluster-1", "manual")).To(Succeed())
	stranded(true)
	g.Expect(s.StrandedOutside(vm, "")).To(BeEmpty(), "no host group is requested")
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

const cluster = "ClusterComputeResource:domain-c1"

var (
	hosts    = inventory.ConfiguredItem{Kind: inventory.HostGroup, Name: "hosts", Object: cluster}
	vms      = inventory.ConfiguredItem{Kind: inventory.VMGroup, Name: "vms", Object: cluster}
	rule     = inventory.ConfiguredItem{Kind: inventory.Rule, Name: "vms-rule", Object: cluster}
	category = inventory.ConfiguredItem{Kind: inventory.TagCategory, Name: "k8s-zone"}
	tag      = inventory.ConfiguredItem{Kind: inventory.Tag, Name: "a", Category: "k8s-zone"}
	onHost   = inventory.ConfiguredItem{Kind: inventory.TagAttachment, Name: "a", Category: "k8s-zone", Object: "HostSystem:host-1"}
)

// all returns a zone for which everything is created.
func all() []inventory.ConfiguredWanted {
	return []inventory.ConfiguredWanted{
		{ConfiguredItem: hosts, ConfiguredShape: inventory.ConfiguredShape{Hosts: []string{"host-1", "host-2"}}},
		{ConfiguredItem: vms},
		{ConfiguredItem: rule, ConfiguredShape: inventory.ConfiguredShape{VMGroup: "vms", HostGroup: "hosts", Mandatory: true}},
		{ConfiguredItem: category, ConfiguredShape: inventory.ConfiguredShape{Types: []string{"HostSystem"}}},
		{ConfiguredItem: tag},
		{ConfiguredItem: onHost},
	}
}

// sound returns the state of vCenter after everything was created.
func sound() map[inventory.ConfiguredItem]inventory.ConfiguredFound {
	found := map[inventory.ConfiguredItem]inventory.ConfiguredFound{}
	for _, w := range all() {
		found[w.ConfiguredItem] = inventory.ConfiguredFound{ConfiguredShape: w.ConfiguredShape}
	}
	return found
}

// made returns the records after everything was created.
func made() map[inventory.ConfiguredItem]inventory.ConfiguredRecord {
	records := map[inventory.ConfiguredItem]inventory.ConfiguredRecord{}
	for _, w := range all() {
		records[w.ConfiguredItem] = inventory.ConfiguredRecord{Made: true, Hosts: w.Hosts}
	}
	return records
}

type decideCase struct {
	found   func(map[inventory.ConfiguredItem]inventory.ConfiguredFound)
	records func(map[inventory.ConfiguredItem]inventory.ConfiguredRecord)
	wanted  func([]inventory.ConfiguredWanted)
	repair  bool

	steps    []string
	drift    []string
	problems []string
	dropped  []inventory.ConfiguredItem // from the records
	pending  []inventory.ConfiguredItem
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, tc := range decideCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDecide(t, tc)
		})
	}
}

func decideCases() map[string]decideCase { //nolint:funlen // A table: it has a row for each.
	type founds = map[inventory.ConfiguredItem]inventory.ConfiguredFound
	type records = map[inventory.ConfiguredItem]inventory.ConfiguredRecord
	without := func(items ...inventory.ConfiguredItem) func(founds) {
		return func(found founds) {
			for _, item := range items {
				delete(found, item)
			}
		}
	}
	edit := func(item inventory.ConfiguredItem, change func(*inventory.ConfiguredFound)) func(founds) {
		return func(found founds) {
			is := found[item]
			change(&is)
			found[item] = is
		}
	}
	const several = `tag category "k8s-zone" allows an object to have several of its tags, so an object could be in two failure domains: use another category, or delete the category to have it created again`
	disabled := edit(rule, func(is *inventory.ConfiguredFound) { is.Disabled = true })
	everything := []string{"Create host group \"hosts\"", "Create VM group \"vms\"", "Create VM/host rule \"vms-rule\"", "Create tag category \"k8s-zone\"",
		"Create tag \"a\" of category \"k8s-zone\"", "Create tag \"a\" of category \"k8s-zone\" on HostSystem:host-1"}
	items := []inventory.ConfiguredItem{hosts, vms, rule, category, tag, onHost}
	return map[string]decideCase{
		"nothing is there":                     {found: func(f founds) { clear(f) }, records: func(r records) { clear(r) }, steps: everything, pending: items},
		"all is there as it was made":          {},
		"all is there, and was made by others": {records: func(r records) { clear(r) }, dropped: items},
		"the manager died between the record and the effect": {
			found: func(f founds) { clear(f) },
			records: func(r records) {
				for item := range r {
					r[item] = inventory.ConfiguredRecord{}
				}
			},
			steps: everything, pending: items,
		},
		"the manager died between the effect and its confirmation": {
			records: func(r records) { r[rule] = inventory.ConfiguredRecord{} },
		},
		"another client disables the rule": {
			found: disabled, drift: []string{`VM/host rule "vms-rule": it is disabled`},
		},
		"another client disables the rule, which is repaired": {
			found: disabled, repair: true, steps: []string{`Repair VM/host rule "vms-rule"`}, pending: []inventory.ConfiguredItem{rule},
		},
		"another client makes the rule not mandatory": {
			found: edit(rule, func(is *inventory.ConfiguredFound) { is.Mandatory = false }),
			drift: []string{`VM/host rule "vms-rule": it is not mandatory`},
		},
		"another client gives the rule another group": {
			found: edit(rule, func(is *inventory.ConfiguredFound) { is.HostGroup = "others" }), repair: true,
			steps: []string{`Repair VM/host rule "vms-rule"`}, pending: []inventory.ConfiguredItem{rule},
		},
		"another client allows several tags of the category on an object": {
			found: edit(category, func(is *inventory.ConfiguredFound) { is.Several = true }), repair: true, problems: []string{several},
		},
		"others have made a category that allows several tags on an object": {
			found: edit(category, func(is *inventory.ConfiguredFound) { is.Several, is.Foreign = true, true }), problems: []string{several},
			dropped: []inventory.ConfiguredItem{category},
		},
		"a category that allows several tags on an object is only looked at": {
			found:  edit(category, func(is *inventory.ConfiguredFound) { is.Several = true }),
			wanted: func(w []inventory.ConfiguredWanted) { w[3].Adopt = true },
		},
		"another client disables a rule that others have made": {
			found: disabled, records: func(r records) { delete(r, rule) }, repair: true, dropped: []inventory.ConfiguredItem{rule},
		},
		"another client deletes the VM group": {
			found: without(vms), drift: []string{`VM group "vms": it was removed`},
		},
		"another client deletes VM group and rule, which are repaired": {
			found: without(vms, rule), repair: true, steps: []string{`Repair VM group "vms"`, `Repair VM/host rule "vms-rule"`},
			pending: []inventory.ConfiguredItem{vms, rule},
		},
		"another client deletes VM group and rule: the rule waits for its group": {
			found: without(vms, rule), drift: []string{`VM group "vms": it was removed`},
		},
		"another client adds a host to the group": {
			found: edit(hosts, func(is *inventory.ConfiguredFound) { is.Hosts = []string{"host-1", "host-2", "host-3"} }),
			drift: []string{`host group "hosts": it has the hosts host-1, host-2, host-3 instead of host-1, host-2`},
		},
		"a host is given the tag": {
			wanted: func(w []inventory.ConfiguredWanted) { w[0].Hosts = []string{"host-1", "host-2", "host-3"} },
			steps:  []string{`Change host group "hosts"`}, pending: []inventory.ConfiguredItem{hosts},
		},
		"no host carries the tag any more": {
			wanted:   func(w []inventory.ConfiguredWanted) { w[0].Hosts, w[0].Problem = nil, "no host carries it" },
			problems: []string{"no host carries it"},
		},
		"no host carries the tag yet": {
			found: without(hosts, vms, rule), records: func(r records) { delete(r, hosts); delete(r, vms); delete(r, rule) },
			wanted:   func(w []inventory.ConfiguredWanted) { w[0].Hosts, w[0].Problem = nil, "no host carries it" },
			problems: []string{"no host carries it"}, steps: []string{`Create VM group "vms"`},
			dropped: []inventory.ConfiguredItem{hosts, rule}, pending: []inventory.ConfiguredItem{vms},
		},
		"the host group is the administrator's, and missing": {
			found: without(hosts, rule), records: func(r records) { delete(r, hosts); delete(r, rule) },
			wanted: func(w []inventory.ConfiguredWanted) { w[0].Adopt = true }, dropped: []inventory.ConfiguredItem{hosts, rule},
		},
		"a category has to take another type of objects": {
			found: edit(category, func(is *inventory.ConfiguredFound) { is.Types = []string{"Datacenter"} }),
			steps: []string{`Change tag category "k8s-zone"`}, pending: []inventory.ConfiguredItem{category},
		},
		"a category takes all types of objects": {found: edit(category, func(is *inventory.ConfiguredFound) { is.Types = nil })},
		"a tag does not say that it was made here": {
			found: edit(tag, func(is *inventory.ConfiguredFound) { is.Foreign = true }), dropped: []inventory.ConfiguredItem{tag},
		},
		"another client detaches the tag": {
			found: without(onHost), drift: []string{`tag "a" of category "k8s-zone" on HostSystem:host-1: it was removed`},
		},
		"another client deletes the tag: it is not attached again": {
			found: without(tag, onHost), drift: []string{`tag "a" of category "k8s-zone": it was removed`},
		},
	}
}

func testDecide(t *testing.T, tc decideCase) {
	t.Helper()
	g := NewWithT(t)
	wanted, found, records := all(), sound(), made()
	if tc.found != nil {
		tc.found(found)
	}
	if tc.records != nil {
		tc.records(records)
	}
	if tc.wanted != nil {
		tc.wanted(wanted)
	}
	plan := inventory.Decide(wanted, found, records, tc.repair)
	var steps []string
	for _, step := range plan.Steps {
		steps = append(steps, string(step.Verb)+" "+step.String())
		_, recorded := records[step.ConfiguredItem]
		g.Expect(step.First).To(Equal(!recorded))
		g.Expect(step.Why).NotTo(BeEmpty())
	}
	g.Expect(steps).To(Equal(tc.steps))
	g.Expect(plan.Drift).To(Equal(tc.drift))
	g.Expect(plan.Problems).To(Equal(tc.problems))
	var dropped, pending []inventory.ConfiguredItem
	for _, w := range wanted {
		record, kept := plan.Records[w.ConfiguredItem]
		switch {
		case !kept:
			dropped = append(dropped, w.ConfiguredItem)
		case !record.Made:
			pending = append(pending, w.ConfiguredItem)
		}
	}
	g.Expect(dropped).To(Equal(tc.dropped))
	g.Expect(pending).To(Equal(tc.pending))
}

func TestSurplusIsUnusedInRemovalOrder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(inventory.SurplusOf(made())).To(Equal([]inventory.ConfiguredItem{onHost, tag, category, rule, vms, hosts}))
	used := map[inventory.ConfiguredItem]bool{category: true, hosts: true}
	g.Expect(inventory.SurplusOf(made(), map[inventory.ConfiguredItem]bool{rule: true, vms: true}, used)).To(Equal([]inventory.ConfiguredItem{onHost, tag}))
}

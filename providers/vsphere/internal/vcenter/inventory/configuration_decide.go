// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
)

// ConfigurationVerb is what is done to an item.
type ConfigurationVerb string

// What is done.
const (
	Make   ConfigurationVerb = "Make"   // it is missing
	Change ConfigurationVerb = "Change" // the failure domain, or which hosts carry a tag, has changed since it was made
	Repair ConfigurationVerb = "Repair" // somebody has changed or removed it
)

// ConfigurationStep is one thing that is to be done.
type ConfigurationStep struct {
	ConfiguredWanted
	Verb ConfigurationVerb
	Why  string
	// First says that nothing has been tried yet: if the item exists all the same, somebody else has just made it.
	First bool
}

// ConfigurationPlan is what is to be done for a zone.
type ConfigurationPlan struct {
	Steps []ConfigurationStep
	// Drift is what somebody has changed of what was made, and is only to be reported.
	Drift []string
	// Problems are why something cannot be made.
	Problems []string
	// Records are those of what the zone uses of what was made, as they are to be before the steps are taken.
	Records map[ConfiguredItem]ConfiguredRecord
}

// Decide compares what is wanted, in the order in which it is made, with what there is and what is recorded as made.
func Decide(wanted []ConfiguredWanted, found map[ConfiguredItem]ConfiguredFound, records map[ConfiguredItem]ConfiguredRecord, repair bool) ConfigurationPlan {
	d := decision{found: found, records: records, repair: repair, blocked: map[ConfiguredItem]bool{}, plan: ConfigurationPlan{Records: map[ConfiguredItem]ConfiguredRecord{}}}
	for _, w := range wanted {
		d.one(w)
	}
	return d.plan
}

type decision struct {
	found   map[ConfiguredItem]ConfiguredFound
	records map[ConfiguredItem]ConfiguredRecord
	repair  bool
	blocked map[ConfiguredItem]bool // are not there and will not be
	plan    ConfigurationPlan
}

func (d *decision) one(w ConfiguredWanted) {
	is, exists := d.found[w.ConfiguredItem]
	record, ours := d.records[w.ConfiguredItem]
	if is.Several && !w.Adopt {
		// vCenter lets nobody take that back, so it is no drift that can be repaired.
		d.plan.Problems = append(d.plan.Problems, fmt.Sprintf(
			"%s allows several of its tags on an object, which could be in two places then: name another category, or have it deleted and made anew", w.ConfiguredItem))
	}
	switch {
	case !exists:
		d.absent(w, record, ours)
	case ours && !is.Foreign: // else it is somebody else's, as far as anybody can tell
		d.compare(w, is, record)
	}
}

// absent decides about an item that is not there.
func (d *decision) absent(w ConfiguredWanted, record ConfiguredRecord, ours bool) {
	made := ours && record.Made
	switch {
	case w.Adopt:
		d.blocked[w.ConfiguredItem] = true
	case d.waits(w):
		d.keep(w.ConfiguredItem, record, ours)
	case w.Problem != "":
		d.plan.Problems = append(d.plan.Problems, w.Problem)
		d.keep(w.ConfiguredItem, record, ours)
	case made && d.repair:
		d.do(w, Repair, "it was removed", false)
	case made:
		d.drifted(w, record, "it was removed")
		d.blocked[w.ConfiguredItem] = true
	default:
		d.do(w, Make, "it is missing", !ours)
	}
}

// keep goes on with a record while nothing can be done.
func (d *decision) keep(item ConfiguredItem, record ConfiguredRecord, ours bool) {
	d.blocked[item] = true
	if ours {
		d.plan.Records[item] = record
	}
}

// waits reports whether something that the item is made of is not there, and is not being made either.
func (d *decision) waits(w ConfiguredWanted) bool {
	switch w.Kind {
	case Rule:
		return d.blocked[ConfiguredItem{Kind: VMGroup, Name: w.VMGroup, Object: w.Object}] || d.blocked[ConfiguredItem{Kind: HostGroup, Name: w.HostGroup, Object: w.Object}]
	case Tag:
		return d.blocked[ConfiguredItem{Kind: TagCategory, Name: w.Category}]
	case TagAttachment:
		return d.blocked[ConfiguredItem{Kind: Tag, Name: w.Name, Category: w.Category}] || d.blocked[ConfiguredItem{Kind: TagCategory, Name: w.Category}]
	}
	return false
}

// compare decides about an item that was made and is there.
func (d *decision) compare(w ConfiguredWanted, is ConfiguredFound, record ConfiguredRecord) {
	difference := w.differs(is)
	switch {
	case difference == "" || w.Problem != "" || w.Adopt:
		d.plan.Records[w.ConfiguredItem] = ConfiguredRecord{Made: true, Hosts: is.Hosts}
		if w.Problem != "" {
			d.plan.Problems = append(d.plan.Problems, w.Problem)
		}
	case !record.Made:
		d.do(w, Make, difference, false)
	case w.Kind == HostGroup && slices.Equal(is.Hosts, record.Hosts), w.Kind == TagCategory:
		d.do(w, Change, difference, false)
	case d.repair:
		d.do(w, Repair, difference, false)
	default:
		d.drifted(w, record, difference)
	}
}

func (d *decision) do(w ConfiguredWanted, verb ConfigurationVerb, why string, first bool) {
	d.plan.Steps = append(d.plan.Steps, ConfigurationStep{ConfiguredWanted: w, Verb: verb, Why: why, First: first})
	d.plan.Records[w.ConfiguredItem] = ConfiguredRecord{Hosts: w.Hosts}
}

func (d *decision) drifted(w ConfiguredWanted, record ConfiguredRecord, how string) {
	d.plan.Drift = append(d.plan.Drift, fmt.Sprintf("%s: %s", w.ConfiguredItem, how))
	d.plan.Records[w.ConfiguredItem] = record
}

// SurplusOf returns what is recorded as made and used by none of the zones whose uses are given, in the order in which it is
// removed.
func SurplusOf(records map[ConfiguredItem]ConfiguredRecord, uses ...map[ConfiguredItem]bool) []ConfiguredItem {
	var surplus []ConfiguredItem
	for item := range maps.Keys(records) {
		if !slices.ContainsFunc(uses, func(used map[ConfiguredItem]bool) bool { _, is := used[item]; return is }) {
			surplus = append(surplus, item)
		}
	}
	slices.SortFunc(surplus, removalOrder)
	return surplus
}

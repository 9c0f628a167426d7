// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
)

// ConfigurationVerb is the kind of change made to an item.
type ConfigurationVerb string

// Kinds of changes.
const (
	Create ConfigurationVerb = "Create" // it is missing
	Change ConfigurationVerb = "Change" // the failure domain, or the set of hosts that carry a tag, changed since it was created
	Repair ConfigurationVerb = "Repair" // another client has changed or removed it
)

// ConfigurationStep is a single change to make.
type ConfigurationStep struct {
	ConfiguredWanted
	Verb ConfigurationVerb
	Why  string
	// First is true if the item was not tried before. If it exists nevertheless, another client has just created it.
	First bool
}

// ConfigurationPlan holds what to do for a zone.
type ConfigurationPlan struct {
	Steps []ConfigurationStep
	// Drift holds changes that other clients made to created items and that must only be reported.
	Drift []string
	// Problems holds why items cannot be created.
	Problems []string
	// Records are the records of the created items that the zone uses, as they must be stored before the steps are taken.
	Records map[ConfiguredItem]ConfiguredRecord
}

// Decide compares the wanted items, in the order in which they are created, with what exists and with what is recorded as
// created.
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
	blocked map[ConfiguredItem]bool // items that do not exist and will not be created
	plan    ConfigurationPlan
}

func (d *decision) one(w ConfiguredWanted) {
	is, exists := d.found[w.ConfiguredItem]
	record, ours := d.records[w.ConfiguredItem]
	if is.Several && !w.Adopt {
		// vCenter does not allow reverting this, so it is not drift that can be repaired.
		d.plan.Problems = append(d.plan.Problems, fmt.Sprintf(
			"%s allows an object to have several of its tags, so an object could be in two failure domains: use another category, or delete the category to have it created again", w.ConfiguredItem))
	}
	switch {
	case !exists:
		d.missing(w, record, ours)
	case ours && !is.Foreign: // otherwise another owner's, as far as can be determined
		d.compare(w, is, record)
	}
}

// missing decides about an item that does not exist.
func (d *decision) missing(w ConfiguredWanted, record ConfiguredRecord, ours bool) {
	made := ours && record.Made
	switch {
	case w.Adopt:
		d.blocked[w.ConfiguredItem] = true
	case d.blockedByMissing(w):
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
		d.do(w, Create, "it is missing", !ours)
	}
}

// keep keeps a record while nothing can be done.
func (d *decision) keep(item ConfiguredItem, record ConfiguredRecord, ours bool) {
	d.blocked[item] = true
	if ours {
		d.plan.Records[item] = record
	}
}

// blockedByMissing reports whether a prerequisite of the item neither exists nor is being created.
func (d *decision) blockedByMissing(w ConfiguredWanted) bool {
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

// compare decides about an item that was created and exists.
func (d *decision) compare(w ConfiguredWanted, is ConfiguredFound, record ConfiguredRecord) {
	difference := w.differs(is)
	switch {
	case difference == "" || w.Problem != "" || w.Adopt:
		d.plan.Records[w.ConfiguredItem] = ConfiguredRecord{Made: true, Hosts: is.Hosts}
		if w.Problem != "" {
			d.plan.Problems = append(d.plan.Problems, w.Problem)
		}
	case !record.Made:
		d.do(w, Create, difference, false)
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

// SurplusOf returns the items that are recorded as created and appear in none of uses, in the order in which they must be
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// ZonePlan holds what to create in vCenter for a zone.
type ZonePlan struct {
	inventory.ConfigurationPlan
	// Uses holds all items of the zone, including those created by others, and whether each should be created if it is missing.
	Uses map[inventory.ConfiguredItem]bool
	// Unknown is true if nothing can be planned, because an object that the zone names was not found or cannot be read.
	Unknown bool
}

// Plan decides what to create for a zone, based on the records of what was created already. The mark is in the description of
// the tags and categories that this management cluster creates. An error means that planning was not possible. For a zone in
// its desired state this costs no calls beyond Check's.
func (z *zones) Plan(ctx context.Context, spec inventory.ZoneSpec, records map[inventory.ConfiguredItem]inventory.ConfiguredRecord, mark string) (ZonePlan, error) {
	site := inventory.ConfigurationScopeOf(z.index, spec)
	if !site.Known {
		return ZonePlan{ConfigurationPlan: inventory.ConfigurationPlan{Records: records}, Unknown: true}, nil
	}
	attached, err := z.attachmentsOf(ctx, &site)
	if err != nil {
		return ZonePlan{}, err
	}
	wanted := site.Wanted()
	items := make([]inventory.ConfiguredItem, 0, len(wanted))
	for _, w := range wanted {
		items = append(items, w.ConfiguredItem)
	}
	found := site.Clustered(items)
	if err := z.findTags(ctx, wanted, attached, ours{records, mark}, found); err != nil {
		return ZonePlan{}, err
	}
	plan := inventory.Decide(wanted, found, records, spec.Configure.Repair)
	z.name(&plan, items)
	return ZonePlan{ConfigurationPlan: plan, Uses: usesOf(wanted)}, nil
}

// attachmentsOf reads the tags on the objects that carry the zone's tags, and finds the hosts of a host group by their tag.
func (z *zones) attachmentsOf(ctx context.Context, site *inventory.ConfigurationScope) (tagAttachments, error) {
	objects, spec := append(slices.Clone(site.Region), site.Zone...), site.Spec
	var names []inventory.TagName
	for _, tag := range []inventory.ZoneTag{spec.Region, spec.Zone} {
		if tag.Name != "" {
			names = append(names, inventory.TagName{Category: tag.Category, Name: tag.Name})
		}
	}
	byTag := spec.Configure.HostTag
	if byTag != (inventory.TagName{}) {
		objects, names = append(objects, slices.Collect(maps.Values(site.Hosts))...), append(names, byTag)
	}
	if len(objects) == 0 {
		return tagAttachments{}, nil
	}
	attached, err := z.tags.Of(ctx, objects, names)
	if err != nil {
		return tagAttachments{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(site.Hosts)) {
		if host := site.Hosts[name]; byTag != (inventory.TagName{}) && attached.Has(host, byTag) {
			site.Tagged = append(site.Tagged, host)
		}
	}
	return attached, nil
}

// findTags adds the existing categories, tags and attachments. Attached tags exist; the others are read from vCenter.
func (z *zones) findTags(ctx context.Context, wanted []inventory.ConfiguredWanted, attached tagAttachments, known ours, found map[inventory.ConfiguredItem]inventory.ConfiguredFound) error {
	ask := unattached(wanted, attached, found)
	for _, w := range wanted {
		record, ours := known.records[w.ConfiguredItem]
		if w.Kind != inventory.Tag || ours && record.Made || w.Adopt && !ours {
			continue
		}
		if _, is := found[w.ConfiguredItem]; !is || ours {
			ask[tagNameOf(w.ConfiguredItem)] = true
		}
	}
	if len(ask) == 0 {
		return nil
	}
	details, err := z.tags.Details(ctx, slices.Collect(maps.Keys(ask)))
	if err != nil {
		return err
	}
	details.AddTo(found, known.mark)
	z.conflicts(ctx, wanted, attached, found)
	return nil
}

// ours holds what this management cluster has recorded as created, and the mark in the descriptions.
type ours struct {
	records map[inventory.ConfiguredItem]inventory.ConfiguredRecord
	mark    string
}

// unattached adds the attached tags, which therefore exist, and returns the tags that should be attached but are not.
func unattached(wanted []inventory.ConfiguredWanted, attached tagAttachments, found map[inventory.ConfiguredItem]inventory.ConfiguredFound) map[inventory.TagName]bool {
	missing := map[inventory.TagName]bool{}
	for _, w := range wanted {
		if w.Kind != inventory.TagAttachment {
			continue
		}
		if attached.Has(inventory.ParseRef("", w.Object), tagNameOf(w.ConfiguredItem)) {
			found[w.ConfiguredItem] = inventory.ConfiguredFound{}
			found[inventory.ConfiguredItem{Kind: inventory.Tag, Name: w.Name, Category: w.Category}] = inventory.ConfiguredFound{}
			found[inventory.ConfiguredItem{Kind: inventory.TagCategory, Name: w.Category}] = inventory.ConfiguredFound{Several: attached.Several(w.Category)}
		} else if !w.Adopt {
			missing[tagNameOf(w.ConfiguredItem)] = true
		}
	}
	return missing
}

// conflicts records the objects that carry another tag of the category: only the user can decide which one is right.
func (z *zones) conflicts(ctx context.Context, wanted []inventory.ConfiguredWanted, attached tagAttachments, found map[inventory.ConfiguredItem]inventory.ConfiguredFound) {
	for i := range wanted {
		w := &wanted[i]
		if _, is := found[w.ConfiguredItem]; is || w.Adopt || w.Kind != inventory.TagAttachment {
			continue
		}
		object := inventory.ParseRef("", w.Object)
		for _, other := range z.tags.Named(ctx, attached.On([]inventory.Ref{object})) {
			if other.Category == w.Category {
				w.Problem = fmt.Sprintf("%s already has tag %q of category %q: detach it", w.Object, other.Name, other.Category)
			}
		}
	}
}

// name replaces references by names in texts for the user.
func (z *zones) name(plan *inventory.ConfigurationPlan, items []inventory.ConfiguredItem) {
	texts := make([]*string, 0, len(plan.Drift)+len(plan.Problems)+len(plan.Steps))
	for i := range plan.Drift {
		texts = append(texts, &plan.Drift[i])
	}
	for i := range plan.Problems {
		texts = append(texts, &plan.Problems[i])
	}
	for i := range plan.Steps {
		texts = append(texts, &plan.Steps[i].Why)
	}
	if len(texts) == 0 {
		return
	}
	names := z.index.HostNames()
	for _, item := range items {
		if _, host := names[item.Object]; item.Object != "" && !host {
			names[item.Object] = z.index.PathOf(inventory.ParseRef("", item.Object))
		}
	}
	longest := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(names)) // so that host-12 is replaced before host-1
	for _, reference := range longest {
		pairs = append(pairs, reference, names[reference])
	}
	readable := strings.NewReplacer(pairs...)
	for _, text := range texts {
		*text = readable.Replace(*text)
	}
}

// Uses returns the items of a zone, including those created by others, and whether each should be created if it is missing.
func (z *zones) Uses(spec inventory.ZoneSpec) map[inventory.ConfiguredItem]bool {
	return usesOf(inventory.ConfigurationScopeOf(z.index, spec).Wanted())
}

func usesOf(wanted []inventory.ConfiguredWanted) map[inventory.ConfiguredItem]bool {
	uses := map[inventory.ConfiguredItem]bool{}
	for _, w := range wanted {
		uses[w.ConfiguredItem] = !w.Adopt
	}
	return uses
}

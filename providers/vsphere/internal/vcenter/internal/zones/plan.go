// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
)

// Plan is what is to be made in vCenter for a zone.
type Plan struct {
	configuration.Plan
	// Uses are all items that the zone is made of, whoever has made them, and whether they are to be made where they are missing.
	Uses map[configuration.Item]bool
	// Unknown says that nothing can be said: what the zone names was not found, or cannot be read.
	Unknown bool
}

// Plan decides what is to be made for a zone, by the records of what was made already. The mark is in the description of
// tags and categories that this management cluster makes. An error means that it cannot be said. In a zone that is as it is to
// be this costs no call beyond Check's.
func (z *Zones) Plan(ctx context.Context, spec lookup.ZoneSpec, records map[configuration.Item]configuration.Record, mark string) (Plan, error) {
	site := lookup.SiteOf(z.index, spec)
	if !site.Known {
		return Plan{Plan: configuration.Plan{Records: records}, Unknown: true}, nil
	}
	attached, err := z.attachmentsOf(ctx, &site)
	if err != nil {
		return Plan{}, err
	}
	wanted := site.Wanted()
	items := make([]configuration.Item, 0, len(wanted))
	for _, w := range wanted {
		items = append(items, w.Item)
	}
	found := site.Clustered(items)
	if err := z.findTags(ctx, wanted, attached, ours{records, mark}, found); err != nil {
		return Plan{}, err
	}
	plan := configuration.Decide(wanted, found, records, spec.Configure.Repair)
	z.name(&plan, items)
	return Plan{Plan: plan, Uses: usesOf(wanted)}, nil
}

// attachmentsOf reads which tags are on what carries those of the zone, and finds the hosts of a host group by their tag.
func (z *Zones) attachmentsOf(ctx context.Context, site *lookup.Site) (tagging.Attachments, error) {
	objects, spec := append(slices.Clone(site.Region), site.Zone...), site.Spec
	var names []inventory.TagName
	for _, tag := range []lookup.ZoneTag{spec.Region, spec.Zone} {
		if tag.Name != "" {
			names = append(names, inventory.TagName{Category: tag.Category, Name: tag.Name})
		}
	}
	byTag := spec.Configure.HostTag
	if byTag != (inventory.TagName{}) {
		objects, names = append(objects, slices.Collect(maps.Values(site.Hosts))...), append(names, byTag)
	}
	if len(objects) == 0 {
		return tagging.Attachments{}, nil
	}
	attached, err := z.tags.Of(ctx, objects, names)
	if err != nil {
		return tagging.Attachments{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(site.Hosts)) {
		if host := site.Hosts[name]; byTag != (inventory.TagName{}) && attached.Has(host, byTag) {
			site.Tagged = append(site.Tagged, host)
		}
	}
	return attached, nil
}

// findTags adds what there is of categories, tags and attachments. Those that are attached exist; others are asked for.
func (z *Zones) findTags(ctx context.Context, wanted []configuration.Wanted, attached tagging.Attachments, known ours, found map[configuration.Item]configuration.Found) error {
	ask := unattached(wanted, attached, found)
	for _, w := range wanted {
		record, ours := known.records[w.Item]
		if w.Kind != configuration.Tag || ours && record.Made || w.Adopt && !ours {
			continue
		}
		if _, is := found[w.Item]; !is || ours {
			ask[tagging.NameOf(w.Item)] = true
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

// ours is what this management cluster has on record as made, and the mark in the description of what has one.
type ours struct {
	records map[configuration.Item]configuration.Record
	mark    string
}

// unattached adds what is attached, and so exists, and returns the tags that are to be attached and are not.
func unattached(wanted []configuration.Wanted, attached tagging.Attachments, found map[configuration.Item]configuration.Found) map[inventory.TagName]bool {
	missing := map[inventory.TagName]bool{}
	for _, w := range wanted {
		if w.Kind != configuration.TagAttachment {
			continue
		}
		if attached.Has(inventory.ParseRef("", w.Object), tagging.NameOf(w.Item)) {
			found[w.Item] = configuration.Found{}
			found[configuration.Item{Kind: configuration.Tag, Name: w.Name, Category: w.Category}] = configuration.Found{}
			found[configuration.Item{Kind: configuration.TagCategory, Name: w.Category}] = configuration.Found{Several: attached.Several(w.Category)}
		} else if !w.Adopt {
			missing[tagging.NameOf(w.Item)] = true
		}
	}
	return missing
}

// conflicts notes the objects that carry another tag of the category: which of the two is right only a person can say.
func (z *Zones) conflicts(ctx context.Context, wanted []configuration.Wanted, attached tagging.Attachments, found map[configuration.Item]configuration.Found) {
	for i := range wanted {
		w := &wanted[i]
		if _, is := found[w.Item]; is || w.Adopt || w.Kind != configuration.TagAttachment {
			continue
		}
		object := inventory.ParseRef("", w.Object)
		for _, other := range z.tags.Named(ctx, attached.On([]inventory.Ref{object})) {
			if other.Category == w.Category {
				w.Problem = fmt.Sprintf("%s carries tag %q of category %q already: detach it", w.Object, other.Name, other.Category)
			}
		}
	}
}

// name puts names in the place of references in what people read.
func (z *Zones) name(plan *configuration.Plan, items []configuration.Item) {
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
	pairs := make([]string, 0, 2*len(names)) // host-12 before host-1
	for _, reference := range longest {
		pairs = append(pairs, reference, names[reference])
	}
	readable := strings.NewReplacer(pairs...)
	for _, text := range texts {
		*text = readable.Replace(*text)
	}
}

// Uses returns what a zone is made of, whoever has made it, and whether it is to be made where it is missing.
func (z *Zones) Uses(spec lookup.ZoneSpec) map[configuration.Item]bool {
	return usesOf(lookup.SiteOf(z.index, spec).Wanted())
}

func usesOf(wanted []configuration.Wanted) map[configuration.Item]bool {
	uses := map[configuration.Item]bool{}
	for _, w := range wanted {
		uses[w.Item] = !w.Adopt
	}
	return uses
}

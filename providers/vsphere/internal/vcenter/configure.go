// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// configureTimeout bounds what is done for a zone in one go.
const configureTimeout = 5 * time.Minute

// ZonePlan is what is to be made in vCenter for a zone.
type ZonePlan struct {
	configuration.Plan
	// Uses are all items that the zone is made of, whoever has made them, and whether they are to be made where they are missing.
	Uses map[configuration.Item]bool
	// Unknown says that nothing can be said: what the zone names was not found, or cannot be read.
	Unknown bool
}

// PlanZone decides what is to be made for a zone, by the records of what was made already. The mark is in the description of
// tags and categories that this management cluster makes. An error means that it cannot be said. In a zone that is as it is to
// be this costs no call beyond CheckZone's.
func (s *Session) PlanZone(ctx context.Context, spec lookup.ZoneSpec, records map[configuration.Item]configuration.Record, mark string) (ZonePlan, error) {
	site := lookup.SiteOf(s.index, spec)
	if !site.Known {
		return ZonePlan{Plan: configuration.Plan{Records: records}, Unknown: true}, nil
	}
	attached, err := s.attachmentsOf(ctx, &site)
	if err != nil {
		return ZonePlan{}, err
	}
	wanted := site.Wanted()
	items := make([]configuration.Item, 0, len(wanted))
	for _, w := range wanted {
		items = append(items, w.Item)
	}
	found := site.Clustered(items)
	if err := s.findTags(ctx, wanted, attached, ours{records, mark}, found); err != nil {
		return ZonePlan{}, err
	}
	plan := configuration.Decide(wanted, found, records, spec.Configure.Repair)
	s.name(&plan, items)
	return ZonePlan{Plan: plan, Uses: usesOf(wanted)}, nil
}

// attachmentsOf reads which tags are on what carries those of the zone, and finds the hosts of a host group by their tag.
func (s *Session) attachmentsOf(ctx context.Context, site *lookup.Site) (tagging.Attachments, error) {
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
	attached, err := s.tags.Of(ctx, objects, names)
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
func (s *Session) findTags(ctx context.Context, wanted []configuration.Wanted, attached tagging.Attachments, known ours, found map[configuration.Item]configuration.Found) error {
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
	details, err := s.tags.Details(ctx, slices.Collect(maps.Keys(ask)))
	if err != nil {
		return err
	}
	details.AddTo(found, known.mark)
	s.conflicts(ctx, wanted, attached, found)
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
			found[configuration.Item{Kind: configuration.TagCategory, Name: w.Category}] = configuration.Found{}
		} else if !w.Adopt {
			missing[tagging.NameOf(w.Item)] = true
		}
	}
	return missing
}

// conflicts notes the objects that carry another tag of the category: which of the two is right only a person can say.
func (s *Session) conflicts(ctx context.Context, wanted []configuration.Wanted, attached tagging.Attachments, found map[configuration.Item]configuration.Found) {
	for i := range wanted {
		w := &wanted[i]
		if _, is := found[w.Item]; is || w.Adopt || w.Kind != configuration.TagAttachment {
			continue
		}
		object := inventory.ParseRef("", w.Object)
		for _, other := range s.tags.Named(ctx, attached.On([]inventory.Ref{object})) {
			if other.Category == w.Category {
				w.Problem = fmt.Sprintf("%s carries tag %q of category %q already: detach it", w.Object, other.Name, other.Category)
			}
		}
	}
}

// name puts names in the place of references in what people read.
func (s *Session) name(plan *configuration.Plan, items []configuration.Item) {
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
	names := s.index.HostNames()
	for _, item := range items {
		if _, host := names[item.Object]; item.Object != "" && !host {
			names[item.Object] = s.index.PathOf(inventory.ParseRef("", item.Object))
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
func (s *Session) Uses(spec lookup.ZoneSpec) map[configuration.Item]bool {
	return usesOf(lookup.SiteOf(s.index, spec).Wanted())
}

func usesOf(wanted []configuration.Wanted) map[configuration.Item]bool {
	uses := map[configuration.Item]bool{}
	for _, w := range wanted {
		uses[w.Item] = !w.Adopt
	}
	return uses
}

// Outcome is what came of what was to be done for a zone.
type Outcome struct {
	// Running says that it is not over: an InventoryChanged event follows.
	Running bool
	// Failed has the errors, by item.
	Failed map[configuration.Item]error
	// NotOurs is what is not to be on record as made: somebody else was faster, or it was never tried.
	NotOurs map[configuration.Item]bool
	// Kept is what is left where it is although it was to be removed, and why: it is used by others.
	Kept map[configuration.Item]string
	// InUse is what cannot be removed yet, and why.
	InUse map[configuration.Item]string
}

// Err returns the errors as one, in the order of the items.
func (o Outcome) Err() error {
	items := slices.SortedFunc(maps.Keys(o.Failed), configuration.Compare)
	var all []error
	for _, item := range items {
		all = append(all, o.Failed[item])
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &severalErrors{all}
}

// severalErrors are told in one line: they are shown in a condition.
type severalErrors struct{ all []error }

func (e *severalErrors) Error() string {
	const most = 6 // a rack may have a hundred hosts
	var texts []string
	for _, err := range e.all[:min(most, len(e.all))] {
		texts = append(texts, err.Error())
	}
	if len(e.all) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(e.all)-most))
	}
	return strings.Join(texts, "; ")
}

func (e *severalErrors) Unwrap() []error { return e.all }

// jobs are what is being done for zones, and what came of it.
type jobs struct {
	mu  sync.Mutex
	of  map[string]*job
	now func() time.Time
}

type job struct {
	digest  string
	outcome Outcome
	again   time.Time
}

func newJobs() *jobs { return &jobs{of: map[string]*job{}, now: time.Now} }

// do starts what is to be done, unless it is under way, or was done not long ago: what vCenter refuses is not asked for again
// with every change of the inventory, and who takes back what we put back is not fought with.
func (j *jobs) do(s *Session, key, digest string, pause time.Duration, work func(context.Context) Outcome) Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.known(key, digest); ok {
		return known
	}
	started := &job{digest: digest, outcome: Outcome{Running: true}}
	j.of[key] = started
	s.background(func(ctx context.Context) {
		bounded, cancel := context.WithTimeout(ctx, configureTimeout)
		defer cancel()
		outcome := work(bounded)
		j.mu.Lock()
		started.outcome, started.again = outcome, j.now().Add(pause)
		j.mu.Unlock()
		s.emit(Event{Kind: InventoryChanged})
	})
	return started.outcome
}

// known is what came of the same not long ago, or what is under way. The lock is held.
func (j *jobs) known(key, digest string) (Outcome, bool) {
	known, ok := j.of[key]
	if !ok || !known.outcome.Running && (known.digest != digest || !j.now().Before(known.again)) {
		return Outcome{}, false
	}
	return known.outcome, true
}

// ConfigureZone takes the steps of a plan, in the background. What failed is tried again after the pause at the earliest.
func (s *Session) ConfigureZone(zone string, steps []configuration.Step, mark string, pause time.Duration) Outcome {
	return s.jobs.do(s, zone, digestOf(steps), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[configuration.Item]error{}, NotOurs: map[configuration.Item]bool{}}
		s.changeGroups(ctx, steps, outcome.Failed)
		s.makeTags(ctx, steps, mark, outcome.Failed)
		for _, step := range steps {
			err := outcome.Failed[step.Item]
			if step.First && (errors.Is(err, vcerrors.ErrDuplicateName) || errors.Is(err, errNotTried)) {
				outcome.NotOurs[step.Item] = true
			}
		}
		return outcome
	})
}

// ConfigurationOf returns what ConfigureZone would, and false if it would begin.
func (s *Session) ConfigurationOf(zone string, steps []configuration.Step) (Outcome, bool) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	return s.jobs.known(zone, digestOf(steps))
}

// digestOf tells steps apart, but not whether they have been tried.
func digestOf(steps []configuration.Step) string {
	steps = slices.Clone(steps)
	for i := range steps {
		steps[i].First = false
	}
	return fmt.Sprintf("configure %+v", steps)
}

// ReleaseZone removes what was made, in the order given and in the background. What is gone already is no error.
func (s *Session) ReleaseZone(zone string, items []configuration.Item, mark string, pause time.Duration) Outcome {
	return s.jobs.do(s, zone, fmt.Sprintf("release %+v", items), pause, func(ctx context.Context) Outcome {
		outcome := Outcome{Failed: map[configuration.Item]error{}, Kept: map[configuration.Item]string{}, InUse: map[configuration.Item]string{}}
		s.removeGroups(ctx, items, &outcome)
		s.removeTags(ctx, items, mark, &outcome)
		return outcome
	})
}

// lacking names the privilege that an item takes, where vCenter only says that one is missing.
func lacking(item configuration.Item, remove bool, err error) error {
	if err == nil {
		return nil
	}
	verb := "making"
	if remove {
		verb = "removing"
	}
	if forbidden(err) && !strings.Contains(err.Error(), "privilege "+strings.Split(item.Privileges(remove), " ")[0]) {
		return fmt.Errorf("%s %s: privilege %s is needed: %w", verb, item, item.Privileges(remove), err)
	}
	return fmt.Errorf("%s %s: %w", verb, item, err)
}

var errNotTried = errors.New("it is made after that")

// notTried says that an item was not made because what it is made of could not be.
func notTried(item configuration.Item) error {
	return fmt.Errorf("making %s: %w, and takes privilege %s", item, errNotTried, item.Privileges(false))
}

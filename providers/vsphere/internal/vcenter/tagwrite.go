// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// tagDetails is what vCenter has of some tags and their categories, by name. What it does not have is left out.
type tagDetails struct {
	categories map[string]*tags.Category
	tags       map[inventory.TagName]*tags.Tag
}

// addTo adds what there is to what was found.
func (d tagDetails) addTo(found map[configuration.Item]configuration.Found, mark string) {
	for name, category := range d.categories {
		found[configuration.Item{Kind: configuration.TagCategory, Name: name}] = configuration.Found{
			Shape: configuration.Shape{Types: category.AssociableTypes}, Foreign: !strings.Contains(category.Description, mark),
		}
	}
	for name, tag := range d.tags {
		found[configuration.Item{Kind: configuration.Tag, Name: name.Name, Category: name.Category}] = configuration.Found{
			Foreign: !strings.Contains(tag.Description, mark),
		}
	}
}

// details asks for tags and their categories anew.
func (t *tagReader) details(ctx context.Context, wanted []inventory.TagName) (tagDetails, error) {
	found := tagDetails{map[string]*tags.Category{}, map[inventory.TagName]*tags.Tag{}}
	if err := acquire(ctx, t.reading); err != nil {
		return found, fmt.Errorf("reading tags: %w", err)
	}
	defer func() { <-t.reading }()
	return found, t.do(ctx, "reading tags", func(ctx context.Context) error {
		manager := tags.NewManager(t.client)
		for _, name := range wanted {
			if err := t.detail(ctx, manager, name, found); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tagReader) detail(ctx context.Context, manager *tags.Manager, name inventory.TagName, found tagDetails) error {
	if found.categories[name.Category] == nil {
		id, err := t.names.categoryOf(ctx, manager, name.Category)
		if err != nil || id == "" {
			return err
		}
		category, err := manager.GetCategory(ctx, id)
		if err != nil {
			return ignoreGone(err)
		}
		found.categories[name.Category] = category
	}
	id, err := t.names.identify(ctx, manager, name)
	if err != nil || id == "" {
		return err
	}
	tag, err := manager.GetTag(ctx, id)
	if err != nil {
		return ignoreGone(err)
	}
	found.tags[name] = tag
	return nil
}

// forget has everything read again that may have changed.
func (t *tagReader) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attachedAt = time.Time{}
}

// makeTags makes categories, tags and attachments, in the order of the steps.
func (s *Session) makeTags(ctx context.Context, steps []configuration.Step, mark string, failed map[configuration.Item]error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(step configuration.Step) bool { return step.Grouped() })
	if len(steps) == 0 {
		return
	}
	defer s.tags.forget()
	var names []inventory.TagName
	for _, step := range steps {
		names = append(names, tagOf(step.Item))
	}
	details, err := s.tags.details(ctx, names)
	for _, step := range steps {
		switch {
		case err != nil:
			failed[step.Item] = lacking(step.Item, false, err)
		case step.Kind != configuration.TagCategory && details.categories[step.Category] == nil,
			step.Kind == configuration.TagAttachment && details.tags[tagOf(step.Item)] == nil:
			failed[step.Item] = notTried(step.Item)
		default:
			if err := s.makeTag(ctx, step, mark, details); err != nil {
				failed[step.Item] = lacking(step.Item, false, err)
			}
		}
	}
}

// tagOf returns the tag that an item is about; of a category none.
func tagOf(item configuration.Item) inventory.TagName {
	if item.Kind == configuration.TagCategory {
		return inventory.TagName{Category: item.Name}
	}
	return inventory.TagName{Category: item.Category, Name: item.Name}
}

// makeTag takes a step and notes in the details what it has made.
func (s *Session) makeTag(ctx context.Context, step configuration.Step, mark string, details tagDetails) error {
	manager := tags.NewManager(s.tags.client)
	return s.tags.do(ctx, "tagging", func(ctx context.Context) error {
		switch step.Kind {
		case configuration.TagCategory:
			return makeCategory(ctx, manager, step, mark, details)
		case configuration.Tag:
			name := tagOf(step.Item)
			if details.tags[name] != nil {
				return taken(step)
			}
			tag := &tags.Tag{Name: step.Name, CategoryID: details.categories[step.Category].ID, Description: mark}
			id, err := manager.CreateTag(ctx, tag)
			if err == nil {
				tag.ID = id
				details.tags[name] = tag
			}
			return duplicate(err)
		default:
			return manager.AttachTag(ctx, details.tags[tagOf(step.Item)].ID, inventory.ParseRef("", step.Object))
		}
	})
}

// makeCategory makes a category whose tags are one an object, or has an existing one take more types of objects.
func makeCategory(ctx context.Context, manager *tags.Manager, step configuration.Step, mark string, details tagDetails) error {
	existing := details.categories[step.Name]
	if existing == nil {
		category := &tags.Category{Name: step.Name, Cardinality: "SINGLE", AssociableTypes: step.Types, Description: mark}
		id, err := manager.CreateCategory(ctx, category)
		if err == nil {
			category.ID = id
			details.categories[step.Name] = category
		}
		return duplicate(err)
	}
	if err := taken(step); err != nil {
		return err
	}
	types := slices.Clone(existing.AssociableTypes)
	for _, more := range step.Types {
		if len(types) > 0 && !slices.Contains(types, more) {
			types = append(types, more) // vCenter takes none away, and wants them in their order
		}
	}
	if len(types) == len(existing.AssociableTypes) {
		return nil
	}
	return manager.UpdateCategory(ctx, &tags.Category{ID: existing.ID, AssociableTypes: types})
}

// taken refuses what is there when it is to be made for the first time: somebody else has just made it.
func taken(step configuration.Step) error {
	if step.First {
		return fmt.Errorf("%w: somebody else has just made it", vcerrors.ErrDuplicateName)
	}
	return nil
}

func duplicate(err error) error {
	if err != nil && strings.Contains(err.Error(), "already_exists") {
		return fmt.Errorf("%w: somebody else has just made it", vcerrors.ErrDuplicateName)
	}
	return err
}

// removeTags detaches tags, and deletes those, and categories, that are on nothing else.
func (s *Session) removeTags(ctx context.Context, items []configuration.Item, mark string, outcome *Outcome) {
	items = slices.DeleteFunc(slices.Clone(items), configuration.Item.Grouped)
	if len(items) == 0 {
		return
	}
	defer s.tags.forget()
	var names []inventory.TagName
	for _, item := range items {
		names = append(names, tagOf(item))
	}
	details, err := s.tags.details(ctx, names)
	for _, item := range items {
		failed := err
		if failed == nil && slices.ContainsFunc(items, func(other configuration.Item) bool { return outcome.Failed[other] != nil && PartOf(other, item) }) {
			failed = fmt.Errorf("%w: that has to go first", vcerrors.ErrUnavailable)
		}
		if failed == nil {
			failed = s.removeTag(ctx, item, mark, details, outcome)
		}
		if failed != nil {
			outcome.Failed[item] = lacking(item, true, failed)
		}
	}
}

// PartOf reports whether an item is a tag of a category, or an attachment of a tag.
func PartOf(item, of configuration.Item) bool {
	switch of.Kind {
	case configuration.TagCategory:
		return item.Kind == configuration.Tag && item.Category == of.Name
	case configuration.Tag:
		return item.Kind == configuration.TagAttachment && item.Category == of.Category && item.Name == of.Name
	}
	return false
}

func (s *Session) removeTag(ctx context.Context, item configuration.Item, mark string, details tagDetails, outcome *Outcome) error {
	manager := tags.NewManager(s.tags.client)
	category, tag := details.categories[tagOf(item).Category], details.tags[tagOf(item)]
	return s.tags.do(ctx, "tagging", func(ctx context.Context) error {
		var kept string
		var err error
		switch {
		case item.Kind == configuration.TagCategory && category != nil:
			kept, err = deleteCategory(ctx, manager, category, mark)
		case item.Kind == configuration.Tag && tag != nil:
			kept, err = deleteTag(ctx, manager, tag, mark)
		case item.Kind == configuration.TagAttachment && tag != nil:
			err = manager.DetachTag(ctx, tag.ID, inventory.ParseRef("", item.Object))
		}
		if kept != "" {
			outcome.Kept[item] = kept
		}
		return ignoreGone(err) // what is gone already was to go
	})
}

// unmarked is why something is kept that may be somebody else's by now.
const unmarked = "its description does not say any more that it was made here"

// deleteCategory deletes a category without tags, or says why it is kept.
func deleteCategory(ctx context.Context, manager *tags.Manager, category *tags.Category, mark string) (kept string, err error) {
	if !strings.Contains(category.Description, mark) {
		return unmarked, nil
	}
	left, err := manager.ListTagsForCategory(ctx, category.ID)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return fmt.Sprintf("it has %d other tags", len(left)), nil
	}
	return "", manager.DeleteCategory(ctx, category)
}

// deleteTag deletes a tag that is attached to nothing, or says why it is kept.
func deleteTag(ctx context.Context, manager *tags.Manager, tag *tags.Tag, mark string) (kept string, err error) {
	if !strings.Contains(tag.Description, mark) {
		return unmarked, nil
	}
	on, err := manager.ListAttachedObjects(ctx, tag.ID)
	if err != nil {
		return "", err
	}
	if len(on) > 0 {
		return fmt.Sprintf("it is attached to %d other objects", len(on)), nil
	}
	return "", manager.DeleteTag(ctx, tag)
}

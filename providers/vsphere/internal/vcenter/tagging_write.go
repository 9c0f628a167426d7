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

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// tagDetails holds existing tags and categories by name. Those that do not exist are absent.
type tagDetails struct {
	Categories map[string]*tags.Category
	Tags       map[inventory.TagName]*tags.Tag
}

// AddTo adds the existing tags and categories to found.
func (d tagDetails) AddTo(found map[inventory.ConfiguredItem]inventory.ConfiguredFound, mark string) {
	for name, category := range d.Categories {
		found[inventory.ConfiguredItem{Kind: inventory.TagCategory, Name: name}] = inventory.ConfiguredFound{
			ConfiguredShape: inventory.ConfiguredShape{Types: category.AssociableTypes}, Several: several(category), Foreign: !strings.Contains(category.Description, mark),
		}
	}
	for name, tag := range d.Tags {
		found[inventory.ConfiguredItem{Kind: inventory.Tag, Name: name.Name, Category: name.Category}] = inventory.ConfiguredFound{
			Foreign: !strings.Contains(tag.Description, mark),
		}
	}
}

// Details reads tags and their categories from vCenter, bypassing the cache.
func (t *tagging) Details(ctx context.Context, wanted []inventory.TagName) (tagDetails, error) {
	found := tagDetails{map[string]*tags.Category{}, map[inventory.TagName]*tags.Tag{}}
	release, err := t.reading.Acquire(ctx)
	if err != nil {
		return found, fmt.Errorf("reading tags: %w", err)
	}
	defer release()
	return found, t.client.Run(ctx, "reading tags", func(ctx context.Context) error {
		manager := tags.NewManager(t.client.Client)
		for _, name := range wanted {
			if err := t.detail(ctx, manager, name, found); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tagging) detail(ctx context.Context, manager *tags.Manager, name inventory.TagName, found tagDetails) error {
	if found.Categories[name.Category] == nil {
		id, err := t.names.categoryOf(ctx, manager, name.Category)
		if err != nil || id == "" {
			return err
		}
		category, err := manager.GetCategory(ctx, id)
		if err != nil {
			return transport.IgnoreNotFound(err)
		}
		found.Categories[name.Category] = category
	}
	tag, err := t.names.tag(ctx, manager, name)
	if tag != nil {
		found.Tags[name] = tag
	}
	return err
}

// Forget invalidates everything that may have changed.
func (t *tagging) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.outdated = time.Now()
}

// tagNameOf returns the tag of an item; for a category, a TagName without a tag.
func tagNameOf(item inventory.ConfiguredItem) inventory.TagName {
	if item.Kind == inventory.TagCategory {
		return inventory.TagName{Category: item.Name}
	}
	return inventory.TagName{Category: item.Category, Name: item.Name}
}

// Make executes a step and records in details what it created.
func (t *tagging) Make(ctx context.Context, step inventory.ConfigurationStep, mark string, details tagDetails) error {
	manager := tags.NewManager(t.client.Client)
	return t.client.Run(ctx, "tagging", func(ctx context.Context) error {
		switch step.Kind {
		case inventory.TagCategory:
			return makeCategory(ctx, manager, step, mark, details)
		case inventory.Tag:
			name := tagNameOf(step.ConfiguredItem)
			if details.Tags[name] != nil {
				return taken(step)
			}
			tag := &tags.Tag{Name: step.Name, CategoryID: details.Categories[step.Category].ID, Description: mark}
			id, err := manager.CreateTag(ctx, tag)
			if err == nil {
				tag.ID = id
				details.Tags[name] = tag
			}
			return duplicate(err)
		default:
			return manager.AttachTag(ctx, details.Tags[tagNameOf(step.ConfiguredItem)].ID, inventory.ParseRef("", step.Object))
		}
	})
}

// makeCategory creates a category that allows one tag per object, or makes an existing one accept more types of objects.
func makeCategory(ctx context.Context, manager *tags.Manager, step inventory.ConfigurationStep, mark string, details tagDetails) error {
	existing := details.Categories[step.Name]
	if existing == nil {
		category := &tags.Category{Name: step.Name, Cardinality: "SINGLE", AssociableTypes: step.Types, Description: mark}
		id, err := manager.CreateCategory(ctx, category)
		if err == nil {
			category.ID = id
			details.Categories[step.Name] = category
		}
		return duplicate(err)
	}
	if err := taken(step); err != nil {
		return err
	}
	types := slices.Clone(existing.AssociableTypes)
	for _, more := range step.Types {
		if len(types) > 0 && !slices.Contains(types, more) {
			types = append(types, more) // vCenter never removes a type, and expects them in their order
		}
	}
	if len(types) == len(existing.AssociableTypes) {
		return nil
	}
	return manager.UpdateCategory(ctx, &tags.Category{ID: existing.ID, AssociableTypes: types})
}

// taken returns an error if an object that should be created for the first time exists: another client has just created it.
func taken(step inventory.ConfigurationStep) error {
	if step.First {
		return fmt.Errorf("%w: another client has just created it", vcerrors.ErrDuplicateName)
	}
	return nil
}

func duplicate(err error) error {
	if err != nil && strings.Contains(err.Error(), "already_exists") {
		return fmt.Errorf("%w: another client has just created it", vcerrors.ErrDuplicateName)
	}
	return err
}

// Remove detaches a tag, or deletes a tag or category that is not used by anything else. Otherwise it returns why it is kept.
func (t *tagging) Remove(ctx context.Context, item inventory.ConfiguredItem, mark string, details tagDetails) (kept string, err error) {
	manager := tags.NewManager(t.client.Client)
	category, tag := details.Categories[tagNameOf(item).Category], details.Tags[tagNameOf(item)]
	err = t.client.Run(ctx, "tagging", func(ctx context.Context) (err error) {
		switch {
		case item.Kind == inventory.TagCategory && category != nil:
			kept, err = deleteCategory(ctx, manager, category, mark)
		case item.Kind == inventory.Tag && tag != nil:
			kept, err = deleteTag(ctx, manager, tag, mark)
		case item.Kind == inventory.TagAttachment && tag != nil:
			err = manager.DetachTag(ctx, tag.ID, inventory.ParseRef("", item.Object))
		}
		return transport.IgnoreNotFound(err) // not found is fine, as it should be deleted
	})
	return kept, err
}

// unmarked is the reason to keep a tag or category that may belong to another owner by now.
const unmarked = "its description no longer marks it as created here"

// deleteCategory deletes a category without tags, or returns why it is kept.
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

// deleteTag deletes a tag that is attached to nothing, or returns why it is kept.
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

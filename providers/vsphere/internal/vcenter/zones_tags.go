// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// makeTags creates categories, tags and attachments, in the order of the steps.
func (z *zones) makeTags(ctx context.Context, steps []inventory.ConfigurationStep, mark string, failed map[inventory.ConfiguredItem]error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(step inventory.ConfigurationStep) bool { return step.Grouped() })
	if len(steps) == 0 {
		return
	}
	defer z.tags.Forget()
	var names []inventory.TagName
	for _, step := range steps {
		names = append(names, tagNameOf(step.ConfiguredItem))
	}
	details, err := z.tags.Details(ctx, names)
	for _, step := range steps {
		switch {
		case err != nil:
			failed[step.ConfiguredItem] = lacking(step.ConfiguredItem, false, err)
		case step.Kind != inventory.TagCategory && details.Categories[step.Category] == nil,
			step.Kind == inventory.TagAttachment && details.Tags[tagNameOf(step.ConfiguredItem)] == nil:
			failed[step.ConfiguredItem] = notTried(step.ConfiguredItem)
		default:
			if err := z.tags.Make(ctx, step, mark, details); err != nil {
				failed[step.ConfiguredItem] = lacking(step.ConfiguredItem, false, err)
			}
		}
	}
}

// removeTags detaches tags, and deletes tags and categories that are on nothing else.
func (z *zones) removeTags(ctx context.Context, items []inventory.ConfiguredItem, mark string, outcome *Outcome) {
	items = slices.DeleteFunc(slices.Clone(items), inventory.ConfiguredItem.Grouped)
	if len(items) == 0 {
		return
	}
	defer z.tags.Forget()
	var names []inventory.TagName
	for _, item := range items {
		names = append(names, tagNameOf(item))
	}
	details, err := z.tags.Details(ctx, names)
	for _, item := range items {
		failed := err
		if failed == nil && slices.ContainsFunc(items, func(other inventory.ConfiguredItem) bool {
			return outcome.Failed[other] != nil && inventory.PartOf(other, item)
		}) {
			failed = fmt.Errorf("%w: an object it contains must be removed first", vcerrors.ErrUnavailable)
		}
		if failed == nil {
			failed = z.removeTag(ctx, item, mark, details, outcome)
		}
		if failed != nil {
			outcome.Failed[item] = lacking(item, true, failed)
		}
	}
}

func (z *zones) removeTag(ctx context.Context, item inventory.ConfiguredItem, mark string, details tagDetails, outcome *Outcome) error {
	kept, err := z.tags.Remove(ctx, item, mark, details)
	if kept != "" {
		outcome.Kept[item] = kept
	}
	return err
}

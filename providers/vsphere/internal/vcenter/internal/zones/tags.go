// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"context"
	"fmt"
	"slices"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// makeTags makes categories, tags and attachments, in the order of the steps.
func (z *Zones) makeTags(ctx context.Context, steps []configuration.Step, mark string, failed map[configuration.Item]error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(step configuration.Step) bool { return step.Grouped() })
	if len(steps) == 0 {
		return
	}
	defer z.tags.Forget()
	var names []inventory.TagName
	for _, step := range steps {
		names = append(names, tagging.NameOf(step.Item))
	}
	details, err := z.tags.Details(ctx, names)
	for _, step := range steps {
		switch {
		case err != nil:
			failed[step.Item] = lacking(step.Item, false, err)
		case step.Kind != configuration.TagCategory && details.Categories[step.Category] == nil,
			step.Kind == configuration.TagAttachment && details.Tags[tagging.NameOf(step.Item)] == nil:
			failed[step.Item] = notTried(step.Item)
		default:
			if err := z.tags.Make(ctx, step, mark, details); err != nil {
				failed[step.Item] = lacking(step.Item, false, err)
			}
		}
	}
}

// removeTags detaches tags, and deletes those, and categories, that are on nothing else.
func (z *Zones) removeTags(ctx context.Context, items []configuration.Item, mark string, outcome *Outcome) {
	items = slices.DeleteFunc(slices.Clone(items), configuration.Item.Grouped)
	if len(items) == 0 {
		return
	}
	defer z.tags.Forget()
	var names []inventory.TagName
	for _, item := range items {
		names = append(names, tagging.NameOf(item))
	}
	details, err := z.tags.Details(ctx, names)
	for _, item := range items {
		failed := err
		if failed == nil && slices.ContainsFunc(items, func(other configuration.Item) bool {
			return outcome.Failed[other] != nil && configuration.PartOf(other, item)
		}) {
			failed = fmt.Errorf("%w: that has to go first", vcerrors.ErrUnavailable)
		}
		if failed == nil {
			failed = z.removeTag(ctx, item, mark, details, outcome)
		}
		if failed != nil {
			outcome.Failed[item] = lacking(item, true, failed)
		}
	}
}

func (z *Zones) removeTag(ctx context.Context, item configuration.Item, mark string, details tagging.Details, outcome *Outcome) error {
	kept, err := z.tags.Remove(ctx, item, mark, details)
	if kept != "" {
		outcome.Kept[item] = kept
	}
	return err
}

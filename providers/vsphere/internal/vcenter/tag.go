// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/restapi"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

func (s *Session) newRESTClient(user *url.Userinfo) *restapi.Client {
	return restapi.New(s.api.Client, user, s.slots, func(next http.RoundTripper) http.RoundTripper { return &restMeter{next, s.server, s.opts} })
}

// AttachTags attaches tags, given by identifier, in one call. Those that are attached already stay so.
func (s *Session) AttachTags(ctx context.Context, vmRef string, tagIDs []string) error {
	return s.tags.Attach(ctx, inventory.ParseRef("VirtualMachine", vmRef), tagIDs)
}

// makeTags makes categories, tags and attachments, in the order of the steps.
func (s *Session) makeTags(ctx context.Context, steps []configuration.Step, mark string, failed map[configuration.Item]error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(step configuration.Step) bool { return step.Grouped() })
	if len(steps) == 0 {
		return
	}
	defer s.tags.Forget()
	var names []inventory.TagName
	for _, step := range steps {
		names = append(names, tagging.NameOf(step.Item))
	}
	details, err := s.tags.Details(ctx, names)
	for _, step := range steps {
		switch {
		case err != nil:
			failed[step.Item] = lacking(step.Item, false, err)
		case step.Kind != configuration.TagCategory && details.Categories[step.Category] == nil,
			step.Kind == configuration.TagAttachment && details.Tags[tagging.NameOf(step.Item)] == nil:
			failed[step.Item] = notTried(step.Item)
		default:
			if err := s.tags.Make(ctx, step, mark, details); err != nil {
				failed[step.Item] = lacking(step.Item, false, err)
			}
		}
	}
}

// removeTags detaches tags, and deletes those, and categories, that are on nothing else.
func (s *Session) removeTags(ctx context.Context, items []configuration.Item, mark string, outcome *Outcome) {
	items = slices.DeleteFunc(slices.Clone(items), configuration.Item.Grouped)
	if len(items) == 0 {
		return
	}
	defer s.tags.Forget()
	var names []inventory.TagName
	for _, item := range items {
		names = append(names, tagging.NameOf(item))
	}
	details, err := s.tags.Details(ctx, names)
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

func (s *Session) removeTag(ctx context.Context, item configuration.Item, mark string, details tagging.Details, outcome *Outcome) error {
	kept, err := s.tags.Remove(ctx, item, mark, details)
	if kept != "" {
		outcome.Kept[item] = kept
	}
	return err
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

const (
	attachmentAge = time.Minute // of what is known to be attached: vCenter need not tell of changes
	maxTagNames   = 20          // tags of which the names are looked up only to be shown
	associations  = "/com/vmware/cis/tagging/tag-association"
)

// tagging are those of a vCenter, which only the REST API has. The Attachments of all objects that it was ever asked about are
// read in one call. Names are looked up of the tags that are asked for only: hosts may carry hundreds.
type tagging struct {
	client *transport.RESTClient
	shows  func(inventory.Ref) bool

	reading transport.Slots // to read, and to use the names
	names   tagNames

	mu         sync.Mutex // guards what was read
	attached   map[inventory.Ref][]string
	ids        map[inventory.TagName]string
	several    map[string]bool // categories
	attachedAt time.Time
	outdated   time.Time // what was read before is
}

// newTagging asks nothing yet. shows reports whether the inventory has an object: vCenter refuses to read tags of one that it has not.
func newTagging(client *transport.RESTClient, shows func(inventory.Ref) bool) *tagging {
	return &tagging{client: client, shows: shows, reading: transport.OneSlot(), attached: map[inventory.Ref][]string{}}
}

// Attach attaches tags, given by identifier, to an object in one call. Those that are attached already stay so.
func (t *tagging) Attach(ctx context.Context, r inventory.Ref, tagIDs []string) error {
	if len(tagIDs) == 0 {
		return nil
	}
	body := map[string]any{"object_id": map[string]string{"type": r.Type, "id": r.Value}, "tag_ids": tagIDs}
	return t.client.Run(ctx, "attaching tags to "+r.Value, func(ctx context.Context) error {
		var result struct {
			Success bool             `json:"success"`
			Errors  tags.BatchErrors `json:"error_messages"`
		}
		call := t.client.Resource(associations).WithAction("attach-multiple-tags-to-object").Request(http.MethodPost, body)
		if err := t.client.Do(ctx, call, &result); err != nil {
			return err
		}
		if result.Success {
			return nil
		}
		return fmt.Errorf("%w: %w", attachRefusal(result.Errors), result.Errors)
	})
}

// attachRefusal returns what is wrong with tags that were not attached: the first thing that somebody has to repair.
func attachRefusal(errs tags.BatchErrors) error {
	says := func(kind string) bool {
		return slices.ContainsFunc(errs, func(e tags.BatchError) bool { return strings.Contains(strings.ToLower(e.Type), kind) })
	}
	switch {
	case says("notfound"), says("not_found"):
		return vcerrors.ErrNotFound
	case says("unauthorized"), says("permission"), says("privilege"):
		return vcerrors.ErrForbidden
	}
	return vcerrors.ErrInvalid
}

// Changed is told of tags, by name, that were attached to something or taken off it; "" may be any. It reports whether one of them was
// asked for: then what is attached is read anew when it is next asked for.
func (t *tagging) Changed(names []string) bool {
	if len(names) == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for asked := range t.ids {
		if slices.Contains(names, asked.Name) || slices.Contains(names, "") {
			t.outdated = time.Now()
			return true
		}
	}
	return false
}

// tagAttachments is what is attached to objects, and which tags the names that were asked for are.
type tagAttachments struct {
	to      map[inventory.Ref][]string // identifiers
	ids     map[inventory.TagName]string
	several map[string]bool
}

// Several reports whether vCenter lets an object carry several tags of a category that was asked for.
func (a tagAttachments) Several(category string) bool { return a.several[category] }

// Has reports whether a tag is attached to an object.
func (a tagAttachments) Has(object inventory.Ref, tag inventory.TagName) bool {
	id, exists := a.ids[tag]
	return exists && slices.Contains(a.to[object], id)
}

// On returns the tags that are attached to any of the objects.
func (a tagAttachments) On(objects []inventory.Ref) []string {
	var ids []string
	for _, object := range objects {
		ids = append(ids, a.to[object]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Of returns the tags attached to objects, no older than a minute, and which tags the wanted names are.
func (t *tagging) Of(ctx context.Context, objects []inventory.Ref, wanted []inventory.TagName) (tagAttachments, error) {
	if known, fresh := t.cached(objects, wanted); fresh {
		return known, nil
	}
	release, err := t.reading.Acquire(ctx)
	if err != nil {
		return tagAttachments{}, fmt.Errorf("reading tags: %w", err)
	}
	defer release()
	if known, fresh := t.cached(objects, wanted); fresh {
		return known, nil // who had the token before has read them
	}
	if err := t.client.Run(ctx, "reading tags", func(ctx context.Context) error { return t.read(ctx, objects, wanted) }); err != nil {
		return tagAttachments{}, err
	}
	known, _ := t.cached(objects, wanted)
	return known, nil
}

func (t *tagging) cached(objects []inventory.Ref, wanted []inventory.TagName) (tagAttachments, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := time.Since(t.attachedAt) < attachmentAge && t.attachedAt.After(t.outdated)
	known := tagAttachments{map[inventory.Ref][]string{}, map[inventory.TagName]string{}, map[string]bool{}}
	for _, object := range objects {
		ids, ok := t.attached[object]
		fresh = fresh && ok
		known.to[object] = ids
	}
	for _, tag := range wanted {
		id, ok := t.ids[tag]
		fresh = fresh && ok
		if id != "" {
			known.ids[tag], known.several[tag.Category] = id, t.several[tag.Category]
		}
	}
	return known, fresh
}

// read replaces what is known. Objects that the inventory does not show any more are left out.
func (t *tagging) read(ctx context.Context, objects []inventory.Ref, wanted []inventory.TagName) error {
	t.mu.Lock()
	all := append(slices.Clone(objects), slices.Collect(maps.Keys(t.attached))...)
	names := append(slices.Clone(wanted), slices.Collect(maps.Keys(t.ids))...)
	t.mu.Unlock()
	slices.SortFunc(all, inventory.CompareRefs)
	all = slices.DeleteFunc(slices.Compact(all), func(object inventory.Ref) bool { return !t.shows(object) })
	began := time.Now()
	manager := tags.NewManager(t.client.Client)
	references := make([]mo.Reference, len(all))
	for i := range all {
		references[i] = all[i]
	}
	answers, err := manager.ListAttachedTagsOnObjects(ctx, references)
	if err != nil {
		return err
	}
	ids, several := map[inventory.TagName]string{}, map[string]bool{}
	for _, name := range names {
		if ids[name], err = t.identify(ctx, manager, name, answers); err != nil {
			return err
		}
		several[name.Category] = t.names.several(name.Category)
	}
	attached := map[inventory.Ref][]string{}
	for _, object := range objects {
		attached[object] = nil
	}
	for _, answer := range answers {
		attached[answer.ObjectID.Reference()] = answer.TagIDs
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attached, t.ids, t.several, t.attachedAt = attached, ids, several, began
	return nil
}

// identify returns the identifier of a tag. One that is known and attached to nothing is asked for anew: it may have been deleted, and another
// made in its place.
func (t *tagging) identify(ctx context.Context, manager *tags.Manager, name inventory.TagName, answers []tags.AttachedTags) (string, error) {
	id, err := t.names.identify(ctx, manager, name)
	attached := slices.ContainsFunc(answers, func(answer tags.AttachedTags) bool { return slices.Contains(answer.TagIDs, id) })
	if err != nil || id == "" || attached {
		return id, err
	}
	tag, err := t.names.tag(ctx, manager, name)
	if tag == nil {
		return "", err
	}
	return tag.ID, nil
}

// Named tells people what some tags are called. It looks up few of them, and none if it cannot.
func (t *tagging) Named(ctx context.Context, ids []string) []inventory.TagName {
	release, err := t.reading.Acquire(ctx)
	if err != nil {
		return nil
	}
	defer release()
	var found []inventory.TagName
	_ = t.client.Run(ctx, "reading tags", func(ctx context.Context) error {
		manager := tags.NewManager(t.client.Client)
		for _, id := range ids[:min(len(ids), maxTagNames)] {
			name, err := t.names.of(ctx, manager, id)
			if err != nil {
				return err
			}
			found = append(found, name)
		}
		return nil
	})
	return found
}

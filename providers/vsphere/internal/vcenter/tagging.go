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
	attachmentAge = time.Minute // age limit of cached attachments: vCenter need not report changes
	maxTagNames   = 20          // maximum number of tags whose names are looked up only for display
	associations  = "/com/vmware/cis/tagging/tag-association"
)

// tagging reads and writes the tags of a vCenter, which only the REST API has. It reads the attachments of all objects that
// were ever requested in one call. It looks up the names of requested tags only, as hosts can carry hundreds.
type tagging struct {
	client *transport.RESTClient
	shows  func(inventory.Ref) bool

	reading transport.Slots // to read, and to use names
	names   tagNames

	mu         sync.Mutex // guards what was read
	attached   map[inventory.Ref][]string
	ids        map[inventory.TagName]string
	several    map[string]bool // categories
	attachedAt time.Time
	outdated   time.Time // what was read before is outdated
}

// newTagging returns a tagging without calling vCenter. shows reports whether the inventory has an object: vCenter rejects
// reads of the tags of an object that does not exist.
func newTagging(client *transport.RESTClient, shows func(inventory.Ref) bool) *tagging {
	return &tagging{client: client, shows: shows, reading: transport.OneSlot(), attached: map[inventory.Ref][]string{}}
}

// Attach attaches tags, given by identifier, to an object in one call. It ignores tags that are already attached.
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

// attachRefusal returns the error for tags that were not attached: the first problem that the user has to fix.
func attachRefusal(errs tags.BatchErrors) error {
	hasType := func(kind string) bool {
		return slices.ContainsFunc(errs, func(e tags.BatchError) bool { return strings.Contains(strings.ToLower(e.Type), kind) })
	}
	switch {
	case hasType("notfound"), hasType("not_found"):
		return vcerrors.ErrNotFound
	case hasType("unauthorized"), hasType("permission"), hasType("privilege"):
		return vcerrors.ErrForbidden
	}
	return vcerrors.ErrInvalid
}

// Changed handles the names of tags that were attached or detached; "" stands for any tag. It reports whether one of them is in
// use, in which case the attachments are read again on next use.
func (t *tagging) Changed(names []string) bool {
	if len(names) == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for tag := range t.ids {
		if slices.Contains(names, tag.Name) || slices.Contains(names, "") {
			t.outdated = time.Now()
			return true
		}
	}
	return false
}

// tagAttachments holds the tags attached to objects and the identifiers of the requested names.
type tagAttachments struct {
	to      map[inventory.Ref][]string // identifiers
	ids     map[inventory.TagName]string
	several map[string]bool
}

// Several reports whether vCenter allows an object to carry several tags of a requested category.
func (a tagAttachments) Several(category string) bool { return a.several[category] }

// Has reports whether a tag is attached to an object.
func (a tagAttachments) Has(object inventory.Ref, tag inventory.TagName) bool {
	id, exists := a.ids[tag]
	return exists && slices.Contains(a.to[object], id)
}

// On returns the identifiers of the tags attached to any of the objects.
func (a tagAttachments) On(objects []inventory.Ref) []string {
	var ids []string
	for _, object := range objects {
		ids = append(ids, a.to[object]...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Of returns the tags attached to objects, at most a minute old, and the identifiers of the wanted names.
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
		return known, nil // the previous holder of the slot has read them
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

// read replaces the cached attachments. It drops objects that the inventory does not show any more.
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

// identify returns the identifier of a tag. It looks up a cached tag again if it is attached to nothing, because the tag may
// have been deleted and created again.
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

// Named returns the names of tags for display. It looks up only a few of them, and none on failure.
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

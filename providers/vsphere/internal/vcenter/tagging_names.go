// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vapi/tags"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

// tagNamesAge is how long a name is cached: tags can be renamed.
const tagNamesAge = 10 * time.Minute

// tagNames caches the names of tags and categories by identifier. vCenter lists only identifiers and returns names one by one,
// so names are kept even if time ran out before all were looked up. The zero value is ready to use by one caller at a time.
type tagNames struct {
	categories, tags map[string]namedTag
}

// namedTag holds the name of a category, or of a tag and its category.
type namedTag struct {
	name, category string
	several        bool // whether several tags of the category may be on one object
	at             time.Time
}

func (n namedTag) fresh() bool { return time.Since(n.at) < tagNamesAge }

// identify returns the identifier of a tag, or "" if no tag has that name. A cached tag costs one call per tagNamesAge.
func (n *tagNames) identify(ctx context.Context, manager *tags.Manager, want inventory.TagName) (string, error) {
	for id, tag := range n.tags {
		if tag.name != want.Name || n.categories[tag.category].name != want.Category {
			continue
		}
		if now, err := n.of(ctx, manager, id); transport.IgnoreNotFound(err) != nil {
			return "", err
		} else if now == want {
			return id, nil
		}
	}
	category, err := n.categoryOf(ctx, manager, want.Category)
	if err != nil || category == "" {
		return "", err
	}
	ids, err := manager.ListTagsForCategory(ctx, category)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if now, err := n.of(ctx, manager, id); transport.IgnoreNotFound(err) != nil {
			return "", err
		} else if now == want {
			return id, nil
		}
	}
	return "", nil
}

// tag reads the tag with a name from vCenter, or returns nil if it does not exist. A cached tag may have been deleted, and another
// one may have its name.
func (n *tagNames) tag(ctx context.Context, manager *tags.Manager, want inventory.TagName) (*tags.Tag, error) {
	for {
		id, err := n.identify(ctx, manager, want)
		if err != nil || id == "" {
			return nil, err
		}
		tag, err := manager.GetTag(ctx, id)
		if err == nil {
			return tag, nil
		}
		if transport.IgnoreNotFound(err) != nil {
			return nil, err
		}
		delete(n.tags, id)
	}
}

func (n *tagNames) categoryOf(ctx context.Context, manager *tags.Manager, name string) (string, error) {
	ids, err := manager.ListCategories(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if now, err := n.category(ctx, manager, id); transport.IgnoreNotFound(err) != nil {
			return "", err
		} else if now == name {
			return id, nil
		}
	}
	return "", nil
}

// of looks up the name of a tag.
func (n *tagNames) of(ctx context.Context, manager *tags.Manager, id string) (inventory.TagName, error) {
	tag := n.tags[id]
	if !tag.fresh() {
		delete(n.tags, id)
		read, err := manager.GetTag(ctx, id)
		if err != nil {
			return inventory.TagName{}, err
		}
		if n.tags == nil {
			n.tags = map[string]namedTag{}
		}
		tag = namedTag{name: read.Name, category: read.CategoryID, at: time.Now()}
		n.tags[id] = tag
	}
	category, err := n.category(ctx, manager, tag.category)
	return inventory.TagName{Category: category, Name: tag.name}, err
}

func (n *tagNames) category(ctx context.Context, manager *tags.Manager, id string) (string, error) {
	if known := n.categories[id]; known.fresh() {
		return known.name, nil
	}
	delete(n.categories, id)
	read, err := manager.GetCategory(ctx, id)
	if err != nil {
		return "", err
	}
	if n.categories == nil {
		n.categories = map[string]namedTag{}
	}
	n.categories[id] = namedTag{name: read.Name, several: several(read), at: time.Now()}
	return read.Name, nil
}

// several reports whether an object may carry several tags of a category, according to the names looked up so far.
func (n *tagNames) several(category string) bool {
	for _, known := range n.categories {
		if known.name == category && known.several {
			return true
		}
	}
	return false
}

func several(category *tags.Category) bool { return category.Cardinality == "MULTIPLE" }

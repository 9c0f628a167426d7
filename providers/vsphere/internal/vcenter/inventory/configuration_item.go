// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"
)

// ConfiguredKind is the kind of a ConfiguredItem.
type ConfiguredKind string

// The kinds, in the order in which items are created. They are removed in the opposite order.
const (
	HostGroup     ConfiguredKind = "HostGroup"
	VMGroup       ConfiguredKind = "VMGroup"
	Rule          ConfiguredKind = "Rule"
	TagCategory   ConfiguredKind = "TagCategory"
	Tag           ConfiguredKind = "Tag"
	TagAttachment ConfiguredKind = "TagAttachment"
)

// ConfiguredItem identifies an object in vCenter that a zone uses and that can be created for it.
type ConfiguredItem struct {
	Kind     ConfiguredKind
	Name     string // of the group, rule, category or tag
	Category string // of a tag
	Object   string // reference of the compute cluster of a group or rule, or of the object to which the tag is attached
}

// String returns a description for messages.
func (i ConfiguredItem) String() string {
	switch i.Kind {
	case HostGroup:
		return fmt.Sprintf("host group %q", i.Name)
	case VMGroup:
		return fmt.Sprintf("VM group %q", i.Name)
	case Rule:
		return fmt.Sprintf("VM/host rule %q", i.Name)
	case TagCategory:
		return fmt.Sprintf("tag category %q", i.Name)
	case Tag:
		return fmt.Sprintf("tag %q of category %q", i.Name, i.Category)
	default:
		return fmt.Sprintf("tag %q of category %q on %s", i.Name, i.Category, i.Object)
	}
}

// Grouped reports whether the item is part of a compute cluster's configuration. The others are tags.
func (i ConfiguredItem) Grouped() bool {
	return i.Kind == HostGroup || i.Kind == VMGroup || i.Kind == Rule
}

// Privileges returns the privileges needed to create or change the item, or to remove it.
func (i ConfiguredItem) Privileges(remove bool) string {
	const tagging = "InventoryService.Tagging."
	switch {
	case i.Grouped():
		return "Host.Inventory.EditCluster on the compute cluster"
	case i.Kind == TagCategory && remove:
		return tagging + "DeleteCategory on the category"
	case i.Kind == TagCategory:
		return tagging + "CreateCategory"
	case i.Kind == Tag && remove:
		return tagging + "DeleteTag on the tag"
	case i.Kind == Tag:
		return tagging + "CreateTag on the category"
	default:
		return tagging + "AttachTag on the tag and " + tagging + "ObjectAttachable on " + i.Object
	}
}

// ConfiguredShape holds the contents of an item. Fields that its kind does not have are empty.
type ConfiguredShape struct {
	Hosts              []string // HostGroup: references, sorted
	VMGroup, HostGroup string   // Rule
	Mandatory          bool     // Rule
	Types              []string // TagCategory: types of objects that can carry its tags
}

// ConfiguredWanted is the desired state of an item.
type ConfiguredWanted struct {
	ConfiguredItem
	ConfiguredShape
	// Adopt uses the item as it is, even if another client created it, and never creates it.
	Adopt bool
	// Problem is why it cannot be created.
	Problem string
}

// ConfiguredFound is the actual state of an item in vCenter.
type ConfiguredFound struct {
	ConfiguredShape
	Disabled bool // Rule
	Several  bool // TagCategory: an object may carry several of its tags
	// Foreign is true if the item can carry a mark of the management cluster that created it, but does not carry ours.
	Foreign bool
}

// ConfiguredRecord holds what is recorded about an item that was created.
type ConfiguredRecord struct {
	// Made is true once the item was seen after it was last created or changed.
	Made bool
	// Hosts are the hosts last written to the host group.
	Hosts []string
}

// differs returns how an item differs from its desired state, or "".
func (w ConfiguredWanted) differs(is ConfiguredFound) string {
	switch w.Kind {
	case HostGroup:
		if !slices.Equal(w.Hosts, is.Hosts) {
			return fmt.Sprintf("it has the hosts %s instead of %s", list(is.Hosts), list(w.Hosts))
		}
	case Rule:
		switch {
		case w.VMGroup != is.VMGroup || w.HostGroup != is.HostGroup:
			return fmt.Sprintf("it applies to VM group %q and host group %q", is.VMGroup, is.HostGroup)
		case is.Disabled:
			return "it is disabled"
		case w.Mandatory && !is.Mandatory:
			return "it is not mandatory"
		}
	case TagCategory:
		if missing := w.typesBeyond(is); len(missing) > 0 {
			return "its tags cannot be attached to objects of type " + strings.Join(missing, ", ")
		}
	}
	return ""
}

// typesBeyond returns the types that a category lacks. A category without types accepts all objects.
func (w ConfiguredWanted) typesBeyond(is ConfiguredFound) []string {
	if len(is.Types) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Types), func(t string) bool { return slices.Contains(is.Types, t) })
}

func list(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}

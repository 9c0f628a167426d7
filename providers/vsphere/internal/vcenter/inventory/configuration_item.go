// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"
)

// ConfiguredKind is a kind of what is made.
type ConfiguredKind string

// The kinds, in the order in which they are made. They are removed in the opposite order.
const (
	HostGroup     ConfiguredKind = "HostGroup"
	VMGroup       ConfiguredKind = "VMGroup"
	Rule          ConfiguredKind = "Rule"
	TagCategory   ConfiguredKind = "TagCategory"
	Tag           ConfiguredKind = "Tag"
	TagAttachment ConfiguredKind = "TagAttachment"
)

// ConfiguredItem is something in a vCenter that is made, or may be.
type ConfiguredItem struct {
	Kind     ConfiguredKind
	Name     string // of the group, rule, category or tag
	Category string // of a tag
	Object   string // the compute cluster of group and rule, or the object that the tag is attached to: a reference
}

// String says what it is, for people.
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

// Privileges are those that making or changing the item takes, and removing it.
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

// ConfiguredShape is what an item consists of. Fields that its kind does not have stay empty.
type ConfiguredShape struct {
	Hosts              []string // HostGroup: references, sorted
	VMGroup, HostGroup string   // Rule
	Mandatory          bool     // Rule
	Types              []string // TagCategory: kinds of objects that its tags are for
}

// ConfiguredWanted is an item as it is to be.
type ConfiguredWanted struct {
	ConfiguredItem
	ConfiguredShape
	// Adopt takes the item as it is found, whoever has made it, and makes none.
	Adopt bool
	// Problem is why it cannot be made.
	Problem string
}

// ConfiguredFound is an item as vCenter has it.
type ConfiguredFound struct {
	ConfiguredShape
	Disabled bool // Rule
	Several  bool // TagCategory: an object may carry several of its tags
	// Foreign is what does not say of itself that this management cluster has made it, though it could.
	Foreign bool
}

// ConfiguredRecord is what is known of an item that was made.
type ConfiguredRecord struct {
	// Made says that it has been seen since it was made or changed last.
	Made bool
	// Hosts are those that the host group was given last.
	Hosts []string
}

// differs says in which way an item is not as it is to be; "" if it is.
func (w ConfiguredWanted) differs(is ConfiguredFound) string {
	switch w.Kind {
	case HostGroup:
		if !slices.Equal(w.Hosts, is.Hosts) {
			return fmt.Sprintf("it has the hosts %s and not %s", list(is.Hosts), list(w.Hosts))
		}
	case Rule:
		switch {
		case w.VMGroup != is.VMGroup || w.HostGroup != is.HostGroup:
			return fmt.Sprintf("it is between VM group %q and host group %q", is.VMGroup, is.HostGroup)
		case is.Disabled:
			return "it is disabled"
		case w.Mandatory && !is.Mandatory:
			return "it is not mandatory"
		}
	case TagCategory:
		if missing := w.typesBeyond(is); len(missing) > 0 {
			return "its tags are not for objects of type " + strings.Join(missing, ", ")
		}
	}
	return ""
}

// typesBeyond are the types that a category lacks. One without types is for all objects.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"
)

// removalOrder puts items before the items on which they depend: a rule before its groups, a tag before its category.
func removalOrder(a, b ConfiguredItem) int {
	return cmp.Or(cmp.Compare(rank(b.Kind), rank(a.Kind)), compare(a, b))
}

func rank(kind ConfiguredKind) int {
	return slices.Index([]ConfiguredKind{HostGroup, VMGroup, Rule, TagCategory, Tag, TagAttachment}, kind)
}

func compare(a, b ConfiguredItem) int {
	return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Object, b.Object))
}

// CompareConfigured orders items in the order in which they are created.
func CompareConfigured(a, b ConfiguredItem) int {
	return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)), compare(a, b))
}

// PartOf reports whether item is a tag of a category, or an attachment of a tag.
func PartOf(item, of ConfiguredItem) bool {
	switch of.Kind {
	case TagCategory:
		return item.Kind == Tag && item.Category == of.Name
	case Tag:
		return item.Kind == TagAttachment && item.Category == of.Category && item.Name == of.Name
	}
	return false
}

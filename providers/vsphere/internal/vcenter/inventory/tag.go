// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

// TagName holds the names of a tag and its category.
type TagName struct{ Category, Name string }

func (t TagName) String() string { return t.Category + ":" + t.Name }

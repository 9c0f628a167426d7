// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

// TagName is a tag and its category by name.
type TagName struct{ Category, Name string }

func (t TagName) String() string { return t.Category + ":" + t.Name }

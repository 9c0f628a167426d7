// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"
	"slices"
)

// merge returns the kept value if nothing has changed since then, and the current one if something has.
func merge(kept, then, now any) any {
	if reflect.DeepEqual(then, now) {
		return kept
	}
	switch now := now.(type) {
	case map[string]any:
		kept, isMap := kept.(map[string]any)
		then, wasMap := then.(map[string]any)
		if isMap && wasMap {
			return mergeFields(kept, then, now)
		}
	case []any:
		kept, isList := kept.([]any)
		then, wasList := then.([]any)
		if isList && wasList {
			return mergeElements(kept, then, now)
		}
	}
	return now
}

func mergeFields(kept, then, now map[string]any) map[string]any {
	merged := map[string]any{}
	for name, value := range now {
		before, was := then[name]
		instead, isKept := kept[name]
		switch {
		case was && isKept:
			merged[name] = merge(instead, before, value)
		case !was || !reflect.DeepEqual(before, value):
			merged[name] = value
		}
	}
	// A field that is missing now was removed, unless it was also missing then: the other version does not have it.
	for name, value := range kept {
		_, was := then[name]
		_, is := now[name]
		if !was && !is {
			merged[name] = value
		}
	}
	return merged
}

// mergeElements merges the elements with the same name. A list whose elements have no names keeps its current value.
func mergeElements(kept, then, now []any) []any {
	name := nameOf(kept, then, now)
	if name == "" {
		return now
	}
	merged := make([]any, 0, len(now))
	for _, element := range now {
		before, was := named(then, name, element)
		instead, is := named(kept, name, element)
		if was && is {
			element = merge(instead, before, element)
		}
		merged = append(merged, element)
	}
	return merged
}

// The fields that can be the name of list elements, in order of preference.
var elementNames = []string{"name", "id", "key", "type"} //nolint:gochecknoglobals // a constant that Go cannot express as one

// nameOf returns the field that names the elements in all the lists; "" if none exists.
func nameOf(lists ...[]any) string {
	for _, name := range elementNames {
		if !slices.ContainsFunc(lists, func(list []any) bool { return !areNames(list, name) }) {
			return name
		}
	}
	return ""
}

// areNames reports whether every element has the field, as a string, without duplicates.
func areNames(list []any, name string) bool {
	seen := map[string]bool{}
	for _, element := range list {
		fields, _ := element.(map[string]any)
		value, isText := fields[name].(string)
		if !isText || seen[value] {
			return false
		}
		seen[value] = true
	}
	return true
}

// named returns the element of a list with the same name as another one.
func named(list []any, name string, other any) (any, bool) {
	fields, _ := other.(map[string]any)
	i := slices.IndexFunc(list, func(element any) bool {
		candidate, _ := element.(map[string]any)
		return candidate[name] == fields[name]
	})
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

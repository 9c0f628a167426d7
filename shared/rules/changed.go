// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Changed forbids every field that differs between two specs, given as pointers
// to structs. Fields whose path below base, such as network.devices, is among
// mutable may differ. The way out is what the error tells to do instead.
func Changed[T any](before, after *T, base *field.Path, wayOut string, mutable ...string) field.ErrorList {
	from, err := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	if err != nil {
		return field.ErrorList{field.InternalError(base, fmt.Errorf("reading the old spec: %w", err))}
	}
	to, err := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err != nil {
		return field.ErrorList{field.InternalError(base, fmt.Errorf("reading the new spec: %w", err))}
	}
	var errs field.ErrorList
	for _, path := range differences(nil, from, to) {
		if slices.Contains(mutable, path.String()) {
			continue
		}
		errs = append(errs, field.Forbidden(base.Child(path.String()), "cannot be changed; "+wayOut))
	}
	return errs
}

// differences returns the paths of all fields that differ, sorted. Lists are
// compared as a whole.
func differences(parent *field.Path, from, to map[string]any) []*field.Path {
	names := slices.Sorted(maps.Keys(from))
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, ok := from[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	var paths []*field.Path
	for _, name := range names {
		path := field.NewPath(name)
		if parent != nil {
			path = parent.Child(name)
		}
		left, leftIsStruct := from[name].(map[string]any)
		right, rightIsStruct := to[name].(map[string]any)
		switch {
		// A struct that is left out has no fields, so the fields of the other
		// are what differs. An empty struct has none either, but is not nothing:
		// an empty selector selects all.
		case leftIsStruct && rightIsStruct,
			leftIsStruct && to[name] == nil && len(left) > 0,
			rightIsStruct && from[name] == nil && len(right) > 0:
			paths = append(paths, differences(path, left, right)...)
		case !reflect.DeepEqual(from[name], to[name]):
			paths = append(paths, path)
		}
	}
	return paths
}

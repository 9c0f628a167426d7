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

// Changed returns a Forbidden error for every field that differs between two specs, given as pointers to structs. Fields may
// differ if their path below base, such as network.devices, is in mutable. wayOut completes the message with what to do
// instead.
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
		errs = append(errs, field.Forbidden(base.Child(path.String()), "may not be changed; "+wayOut))
	}
	return errs
}

// differences returns the sorted paths of all fields that differ. Lists are compared as a whole.
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
		// If a struct is omitted, the fields of the other one differ. An empty struct has no fields but is still a difference: an
		// empty selector selects everything.
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

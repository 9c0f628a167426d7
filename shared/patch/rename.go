// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// sendRenamed is send for objects that faultlinev1.Rename may have changed. A policy may remove annotations and labels under their new names,
// so the former names are removed by a second request, after the API server has stored the new ones.
func sendRenamed(ctx context.Context, c Writer, before, after client.Object) error {
	annotations := renamed(before.GetAnnotations(), after.GetAnnotations())
	labels := renamed(before.GetLabels(), after.GetLabels())
	if len(annotations)+len(labels) == 0 {
		return send(ctx, c, before, after)
	}
	after.SetAnnotations(withFormer(after.GetAnnotations(), before.GetAnnotations(), annotations))
	after.SetLabels(withFormer(after.GetLabels(), before.GetLabels(), labels))
	if err := send(ctx, c, before, after); err != nil || isDeleted(after) {
		return err
	}
	rest := copyOf(after)
	removedAnnotations, removedLabels := withoutFormer(rest.GetAnnotations(), annotations), withoutFormer(rest.GetLabels(), labels)
	if !removedAnnotations && !removedLabels {
		return nil
	}
	// The values are stored. If this request fails, the next write removes the former names.
	if err := send(ctx, c, after, rest); err == nil {
		after.SetAnnotations(rest.GetAnnotations())
		after.SetLabels(rest.GetLabels())
		after.SetResourceVersion(rest.GetResourceVersion())
	}
	return nil
}

// renamed returns the names that a write sets in place of their former names.
func renamed(before, after map[string]string) []string {
	var names []string
	for name := range after {
		former := faultlinev1.FormerName(name)
		_, had := before[name]
		_, hadFormer := before[former]
		_, hasFormer := after[former]
		if former != "" && !had && hadFormer && !hasFormer {
			names = append(names, name)
		}
	}
	return names
}

// withFormer sets the former names to their values in before.
func withFormer(set, before map[string]string, names []string) map[string]string {
	for _, name := range names {
		set[faultlinev1.FormerName(name)] = before[faultlinev1.FormerName(name)]
	}
	return set
}

// withoutFormer removes the former names of those names that are set, and reports whether it removed any.
func withoutFormer(set map[string]string, names []string) bool {
	n := len(set)
	for _, name := range names {
		if _, kept := set[name]; kept {
			delete(set, faultlinev1.FormerName(name))
		}
	}
	return len(set) != n
}

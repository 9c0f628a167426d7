// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
)

// desired holds the inputs for the labels of a Node.
type desired struct {
	// suggested labels are only set if no other client has set the label.
	suggested labels.Set
	// imposed labels are always set.
	imposed labels.Set
	// owned reports whether a label must only be set by Faultline: it is removed if it is not wanted. nil for none.
	owned func(key string) bool
}

// plan returns the labels that the Node should have, and those of them that come from its machine, which are removed when they
// are no longer wanted. noted holds the latter from the last write.
func (w desired) plan(node, noted labels.Set) (wanted, note labels.Set) {
	ours := w.ours(node, noted)
	wanted, note = maps.Clone(node), labels.Set{}
	if wanted == nil {
		wanted = labels.Set{}
	}
	for key, value := range node {
		_, keep := ours[key]
		unchanged := noted.Has(key) && noted[key] == value
		if !keep && (unchanged || w.owns(key)) {
			delete(wanted, key)
		}
	}
	for key, value := range ours {
		if noted.Has(key) || !node.Has(key) || node[key] != value {
			note[key] = value
		}
		wanted[key] = value
	}
	return wanted, note
}

func (w desired) owns(key string) bool { return w.owned != nil && w.owned(key) }

// ours returns the labels that the Node should have from its machine.
func (w desired) ours(node, noted labels.Set) labels.Set {
	set := labels.Set{}
	for key, value := range w.suggested {
		unchanged := noted.Has(key) && noted[key] == node[key]
		if unchanged || !node.Has(key) || w.owns(key) {
			set[key] = value
		}
	}
	maps.Copy(set, w.imposed)
	return set
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
)

// wish is what the labels of a Node follow from.
type wish struct {
	// suggested are set only where nobody else has set the label.
	suggested labels.Set
	// imposed are set whatever the Node has.
	imposed labels.Set
	// owned reports whether a label is nobody else's to set: one that is not wished for is removed. nil for none.
	owned func(key string) bool
}

// plan returns the labels that the Node should have, and which of them are there because of its machine: those go when they are
// wished for no longer. Noted is what was so the last time.
func (w wish) plan(node, noted labels.Set) (wanted, note labels.Set) {
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

func (w wish) owns(key string) bool { return w.owned != nil && w.owned(key) }

// ours are the labels that the Node should have because of its machine.
func (w wish) ours(node, noted labels.Set) labels.Set {
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

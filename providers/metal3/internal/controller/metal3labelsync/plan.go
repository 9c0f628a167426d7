// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/nodelabels"
)

// wish is what the labels of a Node follow from.
type wish struct {
	// host has the labels of the host, of which those with one of the prefixes are copied.
	host     labels.Set
	prefixes []string
	// derived are labels that the failure domain stands for. Those that somebody else has set are left alone.
	derived labels.Set
}

// plan returns the labels that the Node should have, and which of them are there because of its host: those go when the
// host has them no longer. Noted is what was so the last time.
func (w wish) plan(node, noted labels.Set) (wanted, note labels.Set) {
	fromHost := w.fromHost(node, noted)
	wanted, note = maps.Clone(node), labels.Set{}
	if wanted == nil {
		wanted = labels.Set{}
	}
	for key, value := range node {
		_, keep := fromHost[key]
		unchanged := noted.Has(key) && noted[key] == value
		if !keep && (unchanged || w.exclusive(key)) {
			delete(wanted, key)
		}
	}
	for key, value := range fromHost {
		if noted.Has(key) || !node.Has(key) || node[key] != value {
			note[key] = value
		}
		wanted[key] = value
	}
	return wanted, note
}

// fromHost are the labels that the Node should have because of its host.
func (w wish) fromHost(node, noted labels.Set) labels.Set {
	set := labels.Set{}
	for key, value := range w.derived {
		ours := noted.Has(key) && noted[key] == node[key]
		if ours || !node.Has(key) {
			set[key] = value
		}
	}
	for key, value := range w.host {
		if w.synced(key) {
			set[key] = value
		}
	}
	return set
}

// synced reports whether the label is one that is copied. That by which Nodes are recognised never is.
func (w wish) synced(key string) bool {
	prefix := nodelabels.PrefixOf(key)
	return prefix != "" && key != infrav1.NodeUUIDLabel && slices.Contains(w.prefixes, prefix)
}

func (w wish) exclusive(key string) bool {
	return w.synced(key) && !nodelabels.Shared(nodelabels.PrefixOf(key))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/nodes"
)

// CopiedLabels are the labels of a host that its Node gets when a Metal3Cluster lists these prefixes. The label by which Nodes are
// recognised is never copied.
func CopiedLabels(host map[string]string, prefixes []string) nodes.Labels {
	copied := func(key string) bool {
		prefix := placement.PrefixOf(key)
		return prefix != "" && key != infrav1.NodeUUIDLabel && slices.Contains(prefixes, prefix)
	}
	set := labels.Set{}
	for key, value := range host {
		if copied(key) {
			set[key] = value
		}
	}
	return nodes.Labels{Set: set, Owned: func(key string) bool { return copied(key) && !placement.SharedPrefix(placement.PrefixOf(key)) }}
}

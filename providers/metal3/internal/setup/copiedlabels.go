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

// CopiedLabels returns the labels of a host that are copied to its Node if a Metal3Cluster lists these prefixes. The label that
// identifies a Node's host is never copied.
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

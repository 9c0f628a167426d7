// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelPrefixes parses the annotation of a Metal3Cluster that lists label prefixes. Each refused prefix includes the reason.
func LabelPrefixes(annotation string) (accepted, refused []string) {
	for _, prefix := range listedPrefixes(annotation) {
		if reason := prefixRefusal(prefix); reason != "" {
			refused = append(refused, prefix+" ("+reason+")")
		} else {
			accepted = append(accepted, prefix)
		}
	}
	return accepted, refused
}

// RefusedLabels returns the labels of a host, sorted, that the annotation selects but that must not be set on a Node.
func RefusedLabels(annotation string, host map[string]string) []string {
	prefixes := listedPrefixes(annotation)
	return slices.DeleteFunc(ReservedLabels(host), func(key string) bool { return !slices.Contains(prefixes, PrefixOf(key)) })
}

// ReservedLabels returns the labels of a host, sorted, that must never be set on a Node.
func ReservedLabels(host map[string]string) []string {
	var keys []string
	for key := range host {
		if prefix := PrefixOf(key); prefix != "" && prefixRefusal(prefix) != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// listedPrefixes returns the prefixes in the annotation, sorted and without duplicates.
func listedPrefixes(annotation string) []string {
	var prefixes []string
	for prefix := range strings.SplitSeq(annotation, ",") {
		if prefix = strings.TrimSpace(prefix); prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
}

func prefixRefusal(prefix string) string {
	if len(validation.IsDNS1123Subdomain(prefix)) > 0 {
		return "is not a DNS subdomain"
	}
	switch prefix {
	case "topology.kubernetes.io", "node.kubernetes.io", "kubelet.kubernetes.io":
		return "" // a Node may set these on itself, so they may be copied from its host
	}
	if within(prefix, "kubernetes.io") || within(prefix, "k8s.io") {
		return "is reserved to Kubernetes"
	}
	return ""
}

// SharedPrefix reports whether other actors also set labels with the prefix on Nodes. Of such labels, only those copied from the
// host are removed when the host loses them; labels with any other prefix are always synchronized with the host.
func SharedPrefix(prefix string) bool {
	return prefix == "metal3.io" || within(prefix, "cluster.x-k8s.io") || within(prefix, "kubernetes.io")
}

func within(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}

// PrefixOf returns the part before the slash, or "".
func PrefixOf(key string) string {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return prefix
}

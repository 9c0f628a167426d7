// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// LabelPrefixes reads the annotation of a Metal3Cluster that lists them. What is refused comes with the reason.
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

// RefusedLabels are the labels of a host, sorted, that the annotation wants copied and that a Node must not get.
func RefusedLabels(annotation string, host map[string]string) []string {
	prefixes := listedPrefixes(annotation)
	return slices.DeleteFunc(ReservedLabels(host), func(key string) bool { return !slices.Contains(prefixes, PrefixOf(key)) })
}

// ReservedLabels are the labels of a host, sorted, that a Node must not get whatever the annotation says.
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

// listedPrefixes are the different prefixes of the annotation, sorted.
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
		return "" // what a Node may say of itself, its host may say of it
	}
	if within(prefix, "kubernetes.io") || within(prefix, "k8s.io") {
		return "is reserved to Kubernetes"
	}
	return ""
}

// SharedPrefix reports whether others put labels with the prefix on Nodes too. Of those only what came from the host is removed
// when the host has it no longer; with another prefix the host decides alone.
func SharedPrefix(prefix string) bool {
	return prefix == "metal3.io" || within(prefix, "cluster.x-k8s.io") || within(prefix, "kubernetes.io")
}

func within(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}

// PrefixOf is what stands before the slash, "" when there is none.
func PrefixOf(key string) string {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return prefix
}

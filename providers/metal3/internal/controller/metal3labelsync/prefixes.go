// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3labelsync

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// parsePrefixes reads the annotation of a Metal3Cluster. What is refused comes with the reason.
func parsePrefixes(annotation string) (accepted, refused []string) {
	for prefix := range strings.SplitSeq(annotation, ",") {
		prefix = strings.TrimSpace(prefix)
		if prefix == "" {
			continue
		}
		if reason := refusal(prefix); reason != "" {
			refused = append(refused, prefix+" ("+reason+")")
		} else {
			accepted = append(accepted, prefix)
		}
	}
	slices.Sort(accepted)
	return slices.Compact(accepted), refused
}

func refusal(prefix string) string {
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

// shared reports whether others put labels with the prefix on Nodes too. Of those only what came from the host is removed
// when the host has it no longer; with another prefix the host decides alone.
func shared(prefix string) bool {
	return prefix == "metal3.io" || within(prefix, "cluster.x-k8s.io") || within(prefix, "kubernetes.io")
}

func within(prefix, domain string) bool {
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}

// prefixOf is what stands before the slash, "" when there is none.
func prefixOf(key string) string {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return prefix
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// preallocation is decided by a variable of the components, and addresses depend on it.
func preallocation(e *examination) {
	for i := range e.Deployments {
		deployment := &e.Deployments[i]
		args, _, _ := unstructured.NestedStringSlice(container(deployment).Object, "args")
		if value, given := flagOf(args, "enableBMHNameBasedPreallocation"); given && value == "true" && deployment.GetLabels()[providerLabel] == e.label() {
			e.about(deployment, Check, "Preallocation", "addresses are allocated by the names of hosts: set ENABLE_BMH_NAME_BASED_PREALLOCATION=true for the new components too, or hosts change their addresses")
		}
	}
}

// racks looks at failure domains, which upstream takes for a preference and this provider for a demand.
func racks(e *examination) {
	look := func(verdict Verdict, message func(name string) string) {
		e.each(verdict, "FailureDomains", func(cluster *unstructured.Unstructured) string {
			for _, name := range domainsOf(cluster) {
				if m := message(name); m != "" {
					return m
				}
			}
			return ""
		}, "Metal3Cluster")
	}
	look(Stops, func(name string) string {
		if problems := validation.IsValidLabelValue(name); len(problems) > 0 {
			return fmt.Sprintf("failure domain %q can be no label of a host: %s; give it another name first", name, strings.Join(problems, ", "))
		}
		return ""
	})
	e.each(Check, "FailureDomains", func(cluster *unstructured.Unstructured) string {
		names := domainsOf(cluster)
		if len(names) == 0 {
			return ""
		}
		return fmt.Sprintf("its machines go to hosts with the labels of failure domains %s only, and wait where there is none: label the hosts first, or set failureDomainPolicy: Preferred in new templates",
			strings.Join(names, ", "))
	}, "Metal3Cluster")
}

// domainsOf are the names of a Metal3Cluster's failure domains: a list in v1beta2, a map in v1beta1.
func domainsOf(cluster *unstructured.Unstructured) []string {
	field, _, _ := unstructured.NestedFieldNoCopy(cluster.Object, "spec", "failureDomains")
	var names []string
	switch domains := field.(type) {
	case []any:
		for _, domain := range domains {
			if fields, ok := domain.(map[string]any); ok {
				names = append(names, fmt.Sprint(fields["name"]))
			}
		}
	case map[string]any:
		for name := range domains {
			names = append(names, name)
		}
	}
	return names
}

// pools looks at load balancers that are asked for in two ways.
func pools(e *examination) {
	e.each(Check, "LoadBalancer", func(cluster *unstructured.Unstructured) string {
		has := func(field string) bool { return text(cluster, "spec", "loadBalancerConfig", field) != "" }
		pool, _, _ := unstructured.NestedMap(cluster.Object, "spec", "loadBalancerConfig", "ipPool")
		if text(cluster, "spec", "loadBalancerConfig", "ipamType") == "dhcp" && (has("ipPoolRef") || len(pool) > 0) {
			return "loadBalancerConfig has a pool and ipamType dhcp: it stays, but cannot be created again; leave the pool out"
		}
		return ""
	}, "HarvesterCluster")
}

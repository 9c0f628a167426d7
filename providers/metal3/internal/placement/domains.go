// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement tells what the hosts of a cluster mean for its failure domains, what the failure domains mean for its machines, and which
// labels of a host its Node may have. Its functions are pure; only Metal3 reads, which tells what works for every infrastructure what bare metal is.
package placement

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/distribution"
)

// Keys of the published attributes that are counted here. A user's attribute of the same name gives way.
const (
	// HostsAttribute is the number of hosts in a domain.
	HostsAttribute = "hosts"
	// FreeHostsAttribute is how many of them a machine can have now.
	FreeHostsAttribute = "freeHosts"
)

// Observations tells the shared state machine what the hosts say about each domain of the cluster.
func Observations(cluster *infrav1.Metal3Cluster, all []hosts.Host) []distribution.Observation {
	byDomain := map[string]hosts.Reasons{}
	for _, domain := range cluster.Spec.FailureDomains {
		// Nobody asks, so that a host is left out only for what it is itself.
		_, byDomain[domain.Name] = hosts.Choose(in(all, domain.Name), hosts.Wants{Domain: domain.Name})
	}
	observations := make([]distribution.Observation, len(cluster.Spec.FailureDomains))
	for i, domain := range cluster.Spec.FailureDomains {
		observations[i] = observe(domain, byDomain[domain.Name])
	}
	return observations
}

func in(all []hosts.Host, domain string) []hosts.Host {
	var list []hosts.Host
	for i := range all {
		if all[i].Domain == domain {
			list = append(list, all[i])
		}
	}
	return list
}

// observe calls a domain good as long as one of its hosts is: hosts that are in use, or are being prepared, are only not
// free. A host that is kept for the machines of one owner is free for somebody.
func observe(domain clusterv1.FailureDomain, found hosts.Reasons) distribution.Observation {
	free := found.Total + found.Counts[hosts.KeptForReuse]
	for _, n := range found.Counts {
		free -= n
	}
	o := distribution.Observation{
		Name: domain.Name, ControlPlane: ptr.Deref(domain.ControlPlane, false), Health: distribution.Good,
		Attributes: maps.Clone(domain.Attributes), Capacity: ptr.To(int32(min(free, math.MaxInt32))), //nolint:gosec // limited
	}
	if o.Attributes == nil {
		o.Attributes = map[string]string{}
	}
	o.Attributes[HostsAttribute], o.Attributes[FreeHostsAttribute] = strconv.Itoa(found.Total), strconv.Itoa(free)
	switch {
	case found.Total == 0:
		o.Health, o.Reason, o.Message = distribution.Bad, infrav1.FailureDomainWithoutHostsReason, withoutHosts(domain.Name)
	case found.AllBroken():
		o.Health, o.Reason, o.Message = distribution.Bad, infrav1.FailureDomainHostsUnhealthyReason, unhealthy(found)
	}
	return o
}

func withoutHosts(domain string) string {
	return fmt.Sprintf("no BareMetalHost of the namespace has the label %s=%s: label hosts, or remove the failure domain",
		infrav1.FailureDomainLabel, domain)
}

func unhealthy(found hosts.Reasons) string {
	return fmt.Sprintf("%s: repair the BareMetalHosts", found)
}

// Unlabelled tells that no host is in any domain of the cluster, and how hosts get there; "" when one is.
func Unlabelled(cluster *infrav1.Metal3Cluster, all []hosts.Host) string {
	if slices.ContainsFunc(all, func(host hosts.Host) bool { return lists(cluster, host.Domain) }) {
		return ""
	}
	names := make([]string, 0, len(cluster.Spec.FailureDomains))
	for _, domain := range cluster.Spec.FailureDomains {
		names = append(names, domain.Name)
	}
	return fmt.Sprintf("no BareMetalHost of namespace %s (it has %d) is in a failure domain of the cluster, which is not provisioned before: "+
		"give each host the label %s with the name of its failure domain (%s), or remove spec.failureDomains",
		cluster.Namespace, len(all), infrav1.FailureDomainLabel, strings.Join(names[:min(10, len(names))], ", "))
}

// Undeclared describes the domains that hosts name and that no cluster of the namespace has; "" when there are none.
func Undeclared(clusters []infrav1.Metal3Cluster, all []hosts.Host) string {
	unknown := map[string]int{}
	for i := range all {
		if all[i].Domain != "" {
			unknown[all[i].Domain]++
		}
	}
	for i := range clusters {
		for _, domain := range clusters[i].Spec.FailureDomains {
			delete(unknown, domain.Name)
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	var said []string
	for _, domain := range slices.Sorted(maps.Keys(unknown)) {
		said = append(said, fmt.Sprintf("%s (%d)", domain, unknown[domain]))
	}
	return fmt.Sprintf("BareMetalHosts have in their label %s what is no failure domain of any Metal3Cluster of the namespace: %s",
		infrav1.FailureDomainLabel, strings.Join(said[:min(10, len(said))], ", "))
}

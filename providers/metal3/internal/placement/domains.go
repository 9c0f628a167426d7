// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement derives the state of a cluster's failure domains from its hosts, decides which failure domains its machines
// can use, and which labels of a host can be copied to its Node. All functions are pure except the methods of Metal3, which
// implements the shared provider interface for bare metal.
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

// Keys of published attributes that are computed here. They override attributes of the same name set by the user.
const (
	// HostsAttribute is the number of hosts in a failure domain.
	HostsAttribute = "hosts"
	// FreeHostsAttribute is the number of free hosts in a failure domain.
	FreeHostsAttribute = "freeHosts"
)

// Observations returns the observed state of each failure domain of the cluster, as input of the shared state machine.
func Observations(cluster *infrav1.Metal3Cluster, all []hosts.Host) []distribution.DomainObservation {
	byDomain := map[string]hosts.Reasons{}
	for _, domain := range cluster.Spec.FailureDomains {
		// Without a machine, hosts are excluded only for their own state.
		_, byDomain[domain.Name] = hosts.Choose(in(all, domain.Name), hosts.Requirements{Domain: domain.Name})
	}
	observations := make([]distribution.DomainObservation, len(cluster.Spec.FailureDomains))
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

// observe reports a failure domain as healthy as long as one of its hosts is: hosts that are in use or being prepared are merely
// not free. A host that is kept for reuse counts as free, because some machine can claim it.
func observe(domain clusterv1.FailureDomain, found hosts.Reasons) distribution.DomainObservation {
	free := found.Total + found.Counts[hosts.KeptForReuse]
	for _, n := range found.Counts {
		free -= n
	}
	o := distribution.DomainObservation{
		Name: domain.Name, ControlPlane: ptr.Deref(domain.ControlPlane, false), Health: distribution.Healthy,
		Attributes: maps.Clone(domain.Attributes), Capacity: ptr.To(int32(min(free, math.MaxInt32))), //nolint:gosec // limited
	}
	if o.Attributes == nil {
		o.Attributes = map[string]string{}
	}
	o.Attributes[HostsAttribute], o.Attributes[FreeHostsAttribute] = strconv.Itoa(found.Total), strconv.Itoa(free)
	switch {
	case found.Total == 0:
		o.Health, o.Reason, o.Message = distribution.Unhealthy, infrav1.FailureDomainWithoutHostsReason, withoutHosts(domain.Name)
	case found.AllBroken():
		o.Health, o.Reason, o.Message = distribution.Unhealthy, infrav1.FailureDomainHostsUnhealthyReason, unhealthy(found)
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

// Unlabelled returns a message if no host is in any failure domain of the cluster, with instructions to label hosts; ""
// otherwise.
func Unlabelled(cluster *infrav1.Metal3Cluster, all []hosts.Host) string {
	if slices.ContainsFunc(all, func(host hosts.Host) bool { return lists(cluster, host.Domain) }) {
		return ""
	}
	names := make([]string, 0, len(cluster.Spec.FailureDomains))
	for _, domain := range cluster.Spec.FailureDomains {
		names = append(names, domain.Name)
	}
	return fmt.Sprintf("no BareMetalHost of namespace %s (it has %d) is in a failure domain of the cluster, which cannot be provisioned until one is: "+
		"give each host the label %s with the name of its failure domain (%s), or remove spec.failureDomains",
		cluster.Namespace, len(all), infrav1.FailureDomainLabel, strings.Join(names[:min(10, len(names))], ", "))
}

// Undeclared returns a message about failure domains that hosts are labelled with and that no cluster of the namespace declares;
// "" if there are none.
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
	var found []string
	for _, domain := range slices.Sorted(maps.Keys(unknown)) {
		found = append(found, fmt.Sprintf("%s (%d)", domain, unknown[domain]))
	}
	return fmt.Sprintf("label %s of BareMetalHosts has values that are not a failure domain of any Metal3Cluster of the namespace: %s",
		infrav1.FailureDomainLabel, strings.Join(found[:min(10, len(found))], ", "))
}

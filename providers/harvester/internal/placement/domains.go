// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// Keys of the published attributes.
const (
	// TopologyKeyAttribute holds the label of hosts that defines the domain.
	TopologyKeyAttribute = infrav1.TopologyKeyAttribute
	// TopologyValueAttribute holds the value of the label.
	TopologyValueAttribute = infrav1.TopologyValueAttribute
	// HostsAttribute holds the number of hosts in a domain.
	HostsAttribute = "hosts"
)

// SingleHost is the prefix of the note on failure domains with one host each.
const SingleHost = "failure domains with a single host:"

// Domain is a failure domain of a cluster.
type Domain struct {
	Topology

	Name         string
	ControlPlane bool
}

// Members returns the hosts of the domain.
func (d Domain) Members(hosts []Host) []Host {
	return filterHosts(hosts, func(h Host) bool { return h.Labels[d.Key] == d.Value })
}

// Domains lists the failure domains of a cluster by name: the declared ones or, without any, those discovered from the labels of hosts.
//
// A host without the label is in no domain and does not affect the others. The state of hosts does not matter here. A domain that no host
// defines any more remains while it has machines.
//
// While no host has the label, single hosts are domains if they were published as such: clusters from before Faultline have these, and
// their control planes keep them. New clusters never get them, because a virtual machine that is restricted to a single host is shut down
// whenever Harvester upgrades the host.
func Domains(cluster *infrav1.HarvesterCluster, hosts []Host) []Domain {
	var domains []Domain
	if declared := cluster.Spec.FailureDomains; len(declared) > 0 {
		for i := range declared {
			key, value := declared[i].Topology()
			domains = append(domains, Domain{
				Topology: Topology{Key: key, Value: value}, Name: declared[i].Name, ControlPlane: declared[i].ForControlPlane(),
			})
		}
		return sorted(domains)
	}
	domains = discoveredDomains(cluster, hosts)
	if len(domains) == 0 {
		domains = singleHosts(cluster, hosts)
	}
	return sorted(domains)
}

func sorted(domains []Domain) []Domain {
	slices.SortFunc(domains, func(a, b Domain) int { return cmp.Compare(a.Name, b.Name) })
	return domains
}

func discoveredDomains(cluster *infrav1.HarvesterCluster, hosts []Host) []Domain {
	key := cluster.Spec.DiscoveryKey()
	var domains []Domain
	add := func(value string) {
		domain := Domain{Topology: Topology{Key: key, Value: value}, Name: value, ControlPlane: true}
		if value != "" && !slices.Contains(domains, domain) {
			domains = append(domains, domain)
		}
	}
	for _, host := range filterHosts(hosts, func(h Host) bool { return h.Labels[key] != "" }) {
		add(host.Labels[key])
	}
	for _, known := range publishedDomains(cluster) {
		if known.Key == key && inUse(cluster, known.Name) {
			add(known.Value)
		}
	}
	return domains
}

func singleHosts(cluster *infrav1.HarvesterCluster, hosts []Host) []Domain {
	var domains []Domain
	for _, known := range publishedDomains(cluster) {
		if known.Key != corev1.LabelHostname {
			continue
		}
		host, found := named(hosts, known.Name)
		if !found && !inUse(cluster, known.Name) {
			continue
		}
		if found {
			known.Value = host.Hostname
		}
		domains = append(domains, known)
	}
	return domains
}

// named returns the host with that name or else the host with that hostname. Clusters from before Faultline use the name.
func named(hosts []Host, name string) (Host, bool) {
	all := filterHosts(hosts, func(h Host) bool { return h.Name == name })
	all = append(all, filterHosts(hosts, func(h Host) bool { return h.Hostname == name })...)
	if len(all) == 0 {
		return Host{}, false
	}
	return all[0], true
}

// publishedDomains returns the published domains, except those that are published only because they were the last ones.
func publishedDomains(cluster *infrav1.HarvesterCluster) []Domain {
	var domains []Domain
	for _, published := range cluster.Status.FailureDomains {
		if status := statusOf(cluster, published.Name); status != nil && !status.RemovedSince.IsZero() {
			continue
		}
		domains = append(domains, Domain{Name: published.Name, ControlPlane: true, Topology: Topology{
			Key:   cmp.Or(published.Attributes[TopologyKeyAttribute], corev1.LabelTopologyZone),
			Value: cmp.Or(published.Attributes[TopologyValueAttribute], published.Name),
		}})
	}
	return domains
}

func statusOf(cluster *infrav1.HarvesterCluster, domain string) *faultlinev1.DomainStatus {
	for i := range cluster.Status.Distribution.FailureDomains {
		if status := &cluster.Status.Distribution.FailureDomains[i]; status.Name == domain {
			return status
		}
	}
	return nil
}

func inUse(cluster *infrav1.HarvesterCluster, domain string) bool {
	status := statusOf(cluster, domain)
	return status != nil && status.Machines != nil && status.Machines.ControlPlane+status.Machines.Workers > 0
}

// Observations returns what the hosts show about each domain of the cluster, for the shared state machine.
func Observations(cluster *infrav1.HarvesterCluster, hosts []Host) []distribution.DomainObservation {
	domains := Domains(cluster, hosts)
	seen := make([]distribution.DomainObservation, len(domains))
	for i, domain := range domains {
		members := domain.Members(hosts)
		seen[i] = distribution.DomainObservation{Name: domain.Name, ControlPlane: domain.ControlPlane, Attributes: attributes(domain, members)}
		seen[i].Health, seen[i].Reason, seen[i].Message = health(domain, members)
	}
	return seen
}

// Unobserved returns observations with unknown health while Harvester cannot be read. It covers the known domains with their published
// attributes.
func Unobserved(cluster *infrav1.HarvesterCluster, reason, message string) []distribution.DomainObservation {
	domains := publishedDomains(cluster)
	if len(cluster.Spec.FailureDomains) > 0 {
		domains = Domains(cluster, nil)
	}
	seen := make([]distribution.DomainObservation, len(domains))
	for i, domain := range domains {
		seen[i] = distribution.DomainObservation{
			Name: domain.Name, ControlPlane: domain.ControlPlane, Attributes: attributes(domain, nil),
			Health: distribution.Unknown, Reason: reason, Message: message,
		}
		for _, published := range cluster.Status.FailureDomains {
			for key, value := range published.Attributes {
				if published.Name == domain.Name && key != distribution.StateAttribute && key != distribution.ReasonAttribute {
					seen[i].Attributes[key] = value
				}
			}
		}
	}
	return seen
}

// attributes returns the labels for the guest's Nodes, the topology for Harvester's scheduler, and the number of hosts.
func attributes(domain Domain, members []Host) map[string]string {
	all := map[string]string{TopologyKeyAttribute: domain.Key, TopologyValueAttribute: domain.Value}
	if domain.Key == corev1.LabelTopologyZone {
		all[faultlinev1.ZoneAttribute] = domain.Value
	}
	if members == nil {
		return all
	}
	all[HostsAttribute] = strconv.Itoa(len(members))
	region := members[0].Labels[corev1.LabelTopologyRegion]
	if region != "" && !slices.ContainsFunc(members, func(h Host) bool { return h.Labels[corev1.LabelTopologyRegion] != region }) {
		all[faultlinev1.RegionAttribute] = region
	}
	return all
}

// health reports a domain as healthy while one of its hosts accepts virtual machines.
func health(domain Domain, members []Host) (health distribution.Health, reason, message string) {
	switch {
	case len(members) == 0:
		return distribution.Unhealthy, infrav1.FailureDomainWithoutHostsReason, withoutHostsMessage(domain)
	case slices.ContainsFunc(members, func(h Host) bool { return h.Ready && h.Schedulable }):
		return distribution.Healthy, "", ""
	case slices.ContainsFunc(members, func(h Host) bool { return h.Ready }):
		return distribution.Unhealthy, infrav1.FailureDomainHostsCordonedReason, fmt.Sprintf(
			"no host accepts virtual machines, because the ready ones are cordoned or tainted: %s: uncordon one, or add another", hostNames(members))
	default:
		return distribution.Unhealthy, infrav1.FailureDomainHostsUnhealthyReason, fmt.Sprintf(
			"no host is ready to run virtual machines: %s: repair one, or add another", hostNames(members))
	}
}

func withoutHostsMessage(domain Domain) string {
	return fmt.Sprintf("no host of Harvester has the label %s=%s: label hosts, or remove the failure domain", domain.Key, domain.Value)
}

// Notes returns remarks on the domains that do not affect their health, one line each.
func Notes(cluster *infrav1.HarvesterCluster, hosts []Host) []string {
	domains := Domains(cluster, hosts)
	var notes []string
	if cluster.Spec.Distribution.LogicalDomains() > 0 {
		if note := preferenceNote(cluster, hosts); note != "" {
			notes = append(notes, note)
		}
	}
	if len(domains) == 0 {
		return append(notes, fmt.Sprintf("no host of Harvester has the label %s, so the cluster has no failure domains: "+
			"label hosts, or set spec.failureDomains", cluster.Spec.DiscoveryKey()))
	}
	if domains[0].Key == corev1.LabelHostname && len(cluster.Spec.FailureDomains) == 0 && cluster.Spec.DiscoveryKey() != corev1.LabelHostname {
		notes = append(notes, fmt.Sprintf("the failure domains are still the single hosts that were published before: label hosts with %s to replace them",
			cluster.Spec.DiscoveryKey()))
	}
	if unassigned := outsideDomains(domains, hosts); len(unassigned) > 0 {
		notes = append(notes, fmt.Sprintf("hosts outside all failure domains, which run only machines without a failure domain: %s: add the label of a failure domain",
			hostNames(unassigned)))
	}
	var alone []string
	for _, domain := range domains {
		if members := domain.Members(hosts); len(members) == 1 {
			alone = append(alone, fmt.Sprintf("%s (%s)", domain.Name, members[0].Name))
		}
	}
	if len(alone) > 0 {
		notes = append(notes, fmt.Sprintf(SingleHost+" %s: virtual machines cannot migrate within them and are shut down "+
			"when Harvester upgrades the host: add a second host", joinLimited(alone)))
	}
	return notes
}

func outsideDomains(domains []Domain, hosts []Host) []Host {
	return filterHosts(hosts, func(h Host) bool { return !inAnyDomain(domains, h) })
}

// inAnyDomain reports whether the host is in one of the domains.
func inAnyDomain(domains []Domain, host Host) bool {
	return slices.ContainsFunc(domains, func(d Domain) bool { return host.Labels[d.Key] == d.Value })
}

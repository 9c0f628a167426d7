// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// Resolve returns the topology of the failure domain that a machine names. It returns a refusal if the domain has no hosts. It
// also accepts a domain that the cluster does not list, if it is a value of the discovery label or the name of a host.
func Resolve(cluster *infrav1.HarvesterCluster, hosts []Host, domain string) (Topology, distribution.Refusal) {
	for _, listed := range Domains(cluster, hosts) {
		if listed.Name != domain {
			continue
		}
		if len(listed.Members(hosts)) == 0 {
			return Topology{}, distribution.Refusal{Reason: infrav1.FailureDomainWithoutHostsReason, Message: fmt.Sprintf(
				"failure domain %s: %s", domain, withoutHostsMessage(listed))}
		}
		return listed.Topology, distribution.Refusal{}
	}
	key := cluster.Spec.DiscoveryKey()
	if len(filterHosts(hosts, func(h Host) bool { return h.Labels[key] == domain })) > 0 {
		return Topology{Key: key, Value: domain}, distribution.Refusal{}
	}
	if host, found := named(hosts, domain); found {
		return Topology{Key: corev1.LabelHostname, Value: host.Hostname}, distribution.Refusal{}
	}
	return Topology{}, distribution.Refusal{Reason: infrav1.FailureDomainNotFoundReason, Message: fmt.Sprintf(
		"HarvesterCluster %[2]s does not list failure domain %[1]s, and no host of Harvester has the label %[3]s=%[4]s or that name: "+
			"add the failure domain, label hosts, or delete the Machine", domain, cluster.Name, key, domain)}
}

// MayReceive decides whether a machine of the cluster may be created in the domain now. A domain that the cluster does not list has the
// state that spec.distribution gives it, if any. A pending domain refuses machines, because volumes and a virtual machine are created at
// once from the domain's declaration.
func MayReceive(cluster *infrav1.HarvesterCluster, domain string) distribution.Refusal {
	_, refusal := distribution.Receives(cluster.Spec.Distribution, cluster.Status.Distribution, domain, distribution.PendingRefuses)
	return refusal
}

// Unlisted describes a domain that a machine names but its cluster does not list; "" if the cluster lists it.
func Unlisted(cluster *infrav1.HarvesterCluster, hosts []Host, domain string) string {
	if domain == "" || slices.ContainsFunc(Domains(cluster, hosts), func(d Domain) bool { return d.Name == domain }) {
		return ""
	}
	topology, refusal := Resolve(cluster, hosts, domain)
	if refusal.Reason != "" {
		return ""
	}
	return fmt.Sprintf("HarvesterCluster %[2]s does not list failure domain %[1]s: the machine uses only hosts with the label %[3]s=%[4]s, and their "+
		"health is not monitored; add the failure domain to spec.failureDomains", domain, cluster.Name, topology.Key, topology.Value)
}

// Observed returns the failure domain of a machine by its host: the requested one if it contains the host, or else the first by name that
// does; "" if none does.
func Observed(cluster *infrav1.HarvesterCluster, hosts []Host, host, requested string) string {
	at := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == host })
	if at < 0 {
		return ""
	}
	labels := hosts[at].Labels
	if topology, refusal := Resolve(cluster, hosts, requested); requested != "" && refusal.Reason == "" && matches(hosts[at], topology) {
		return requested
	}
	for _, domain := range Domains(cluster, hosts) {
		if labels[domain.Key] == domain.Value {
			return domain.Name
		}
	}
	return ""
}

// matches compares Hostname rather than the hostname label, which a host may lack.
func matches(host Host, topology Topology) bool {
	if topology.Key == corev1.LabelHostname {
		return host.Hostname == topology.Value
	}
	return host.Labels[topology.Key] == topology.Value
}

// RequirementsOf returns what determines the scheduling of a new virtual machine for a machine of the cluster, in the resolved
// domain. The note describes which request cannot be satisfied as required; "" if all can.
func RequirementsOf(
	cluster *infrav1.HarvesterCluster, hosts []Host, machine *infrav1.HarvesterMachine, controlPlane bool, domain Topology,
) (requirements Requirements, note string) {
	physical := physicalKey(cluster, hosts)
	requirements = Requirements{
		ClusterID: cluster.ID(), ControlPlane: controlPlane,
		Deployment: machine.Labels[clusterv1.MachineDeploymentNameLabel], Domain: domain,
		SpreadKey: cmp.Or(physical, cluster.Spec.DiscoveryKey()),
		Node:      machine.Spec.NodeAffinity, Pod: machine.Spec.WorkloadAffinity,
	}
	key := faultlinev1.Value(machine.Labels, faultlinev1.DistributionKeyLabel)
	if key == "" || controlPlane {
		return requirements, ""
	}
	note = preferenceNote(cluster, hosts)
	required := cluster.Spec.Distribution.Workers.Required
	requirements.Logical = Logical{Key: key, TopologyKey: physical, Required: required != nil && *required && physical != "" && note == ""}
	return requirements, note
}

// preferenceNote returns why separation of logical failure domains is only a preference; "" if it is required, or if only a
// preference was requested. If it were required, a machine in a domain with one host could not migrate, and Harvester would shut
// it down to upgrade the host.
func preferenceNote(cluster *infrav1.HarvesterCluster, hosts []Host) string {
	workers, key := cluster.Spec.Distribution.Workers, physicalKey(cluster, hosts)
	if workers.Required == nil || !*workers.Required || key == "" {
		return ""
	}
	alone := singleHostValues(cluster, hosts, key)
	if len(alone) == 0 {
		return ""
	}
	const taken = "Harvester's scheduler treats spec.distribution.workers.required as a preference, because"
	if key == corev1.LabelHostname {
		return taken + " each host is a domain of its own, and no machine could migrate: " +
			"set topologyKey to a label that several hosts share"
	}
	return fmt.Sprintf("%s only a single host has each of these values of the label %s: %s: add a second host for each, "+
		"and then replace machines that were created before", taken, key, joinLimited(alone))
}

// singleHostValues lists the values of the label that only a single host has. If the cluster has failure domains, only hosts in
// them count, because its machines with a logical failure domain run on no others.
func singleHostValues(cluster *infrav1.HarvesterCluster, hosts []Host, key string) []string {
	domains := Domains(cluster, hosts)
	count := map[string]int{}
	for _, host := range filterHosts(hosts, func(h Host) bool { return h.Labels[key] != "" && (len(domains) == 0 || inAnyDomain(domains, h)) }) {
		count[host.Labels[key]]++
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n > 1 })
	return slices.Sorted(maps.Keys(count))
}

// physicalKey returns the label of hosts whose values are the physical domains of logical failure domains: the label that the
// cluster requests, or by default the label of its own failure domains. It returns "" if these have different labels: then only
// each machine's own domain keeps logical ones apart.
func physicalKey(cluster *infrav1.HarvesterCluster, hosts []Host) string {
	requested := cmp.Or(cluster.Spec.Distribution.Workers.TopologyKey, faultlinev1.TopologyKeyZone)
	if requested != faultlinev1.TopologyKeyZone {
		return requested
	}
	domains := Domains(cluster, hosts)
	if len(domains) == 0 {
		return cluster.Spec.DiscoveryKey()
	}
	if slices.ContainsFunc(domains, func(d Domain) bool { return d.Key != domains[0].Key }) {
		return ""
	}
	return domains[0].Key
}

// ApartByHost reports whether the cluster's logical failure domains must be on different hosts while its failure domains can have
// more than one host.
func ApartByHost(cluster *infrav1.HarvesterCluster) bool {
	return cluster.Spec.Distribution.Workers.TopologyKey == corev1.LabelHostname &&
		!slices.ContainsFunc(cluster.Status.FailureDomains, func(d clusterv1.FailureDomain) bool {
			return d.Attributes[TopologyKeyAttribute] == corev1.LabelHostname
		})
}

// WaitsFor returns the reason why the machine waits for a failure domain or a host; "" if it does not. A virtual machine that no host has
// capacity for waits within its domain.
func WaitsFor(machine *infrav1.HarvesterMachine) string {
	if !conditions.IsFalse(machine, infrav1.MachineCreatedCondition) {
		return distribution.Waits{Condition: infrav1.VMProvisioningReadyCondition, Reasons: []string{infrav1.VMUnschedulableReason}}.For(machine)
	}
	return distribution.Waits{Condition: infrav1.MachineCreatedCondition, Reasons: []string{
		infrav1.FailureDomainNotFoundReason, infrav1.FailureDomainNotReadyReason, infrav1.FailureDomainWithoutHostsReason,
		infrav1.FailureDomainHostsUnhealthyReason, infrav1.FailureDomainHostsCordonedReason, infrav1.FailureDomainNotNamedReason,
		infrav1.FailureDomainNotAssignedReason, infrav1.AffinityImpossibleReason,
	}}.For(machine)
}

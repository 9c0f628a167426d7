// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/distribution"
)

// MayReceive returns a refusal if a machine of the cluster cannot be placed in the failure domain now. A failure domain that the
// cluster does not list has the state set in spec.distribution, if any, and otherwise depends on its hosts. Machines may wait for
// hosts in a failure domain that has never been healthy.
func MayReceive(cluster *infrav1.Metal3Cluster, domain string) distribution.Refusal {
	_, refusal := distribution.Receives(cluster.Spec.Distribution, cluster.Status.Distribution, domain, distribution.PendingWaits)
	return refusal
}

// Unlisted returns a message about a failure domain that a machine names and its cluster does not list; "" if it is listed.
func Unlisted(cluster *infrav1.Metal3Cluster, domain string) string {
	if domain == "" || lists(cluster, domain) {
		return ""
	}
	return fmt.Sprintf("failure domain %s, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster %s: "+
		"the machine uses only BareMetalHosts with the label %s=%s, whose health is not monitored; add the failure domain",
		domain, cluster.Name, infrav1.FailureDomainLabel, domain)
}

func lists(cluster *infrav1.Metal3Cluster, domain string) bool {
	return slices.ContainsFunc(cluster.Spec.FailureDomains, func(d clusterv1.FailureDomain) bool { return d.Name == domain })
}

// Closed returns the failure domains of the cluster that receive no machines.
func Closed(cluster *infrav1.Metal3Cluster) map[string]bool {
	closed := map[string]bool{}
	for _, domain := range cluster.Spec.FailureDomains {
		if MayReceive(cluster, domain.Name) != (distribution.Refusal{}) {
			closed[domain.Name] = true
		}
	}
	return closed
}

// Waiting returns why a machine of the cluster was given no host, and how to fix it.
func Waiting(cluster *infrav1.Metal3Cluster, why hosts.Reasons) distribution.Refusal {
	switch {
	case len(why.Returning) > 0:
		return distribution.Refusal{Reason: infrav1.NoCapacityReason, Message: fmt.Sprintf(
			"waiting for BareMetalHost %s, kept for reuse, to be available again; remove its label %s to use another",
			why.Returning[0], infrav1.NodeReuseLabel)}
	case why.Total == 0 && why.Domain != "" && !lists(cluster, why.Domain):
		return distribution.Refusal{Reason: infrav1.FailureDomainNotFoundReason, Message: fmt.Sprintf(
			"failure domain %s, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster %s, and no BareMetalHost "+
				"of the namespace has the label %s=%s: add the failure domain and label hosts, or delete the Machine",
			why.Domain, cluster.Name, infrav1.FailureDomainLabel, why.Domain)}
	case why.Total == 0 && why.Domain != "":
		return distribution.Refusal{Reason: infrav1.FailureDomainWithoutHostsReason, Message: withoutHosts(why.Domain)}
	case why.AllBroken() && why.Domain != "":
		return distribution.Refusal{Reason: infrav1.FailureDomainHostsUnhealthyReason, Message: unhealthy(why)}
	default:
		return distribution.Refusal{Reason: infrav1.NoCapacityReason, Message: fmt.Sprintf(
			"%s: waiting for a host to be free; add or free hosts, or delete the Machine", why)}
	}
}

// WaitsFor returns the reason why the machine waits for a host; "" if it does not wait.
func WaitsFor(machine *infrav1.Metal3Machine) string {
	return distribution.Waits{Condition: infrav1.Metal3MachineAssociateBareMetalHostCondition, Reasons: []string{
		infrav1.FailureDomainNotFoundReason, infrav1.FailureDomainNotReadyReason, infrav1.FailureDomainWithoutHostsReason,
		infrav1.FailureDomainHostsUnhealthyReason, infrav1.FailureDomainNotNamedReason, infrav1.FailureDomainNotAssignedReason,
		infrav1.NoCapacityReason, infrav1.Metal3MachineHostRefusedReason, infrav1.Metal3MachineTemplateNotFoundReason,
	}}.For(machine)
}

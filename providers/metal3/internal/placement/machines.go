// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// MayReceive decides whether a machine of the cluster may be put into the domain now. The condition's reason is "" when it
// may. A domain that the cluster does not list has the state that spec.distribution gives it, if any: its hosts decide.
func MayReceive(cluster *infrav1.Metal3Cluster, domain string) metav1.Condition {
	state, why, message := receives(cluster, domain)
	if state == faultlinev1.DomainActive {
		return metav1.Condition{}
	}
	reason := infrav1.FailureDomainNotReadyReason
	if why == infrav1.FailureDomainWithoutHostsReason || why == infrav1.FailureDomainHostsUnhealthyReason {
		reason = why
	}
	return metav1.Condition{Reason: reason, Message: message}
}

// receives lets machines into a domain that has never been seen healthy: they wait there for its hosts.
func receives(cluster *infrav1.Metal3Cluster, domain string) (state faultlinev1.DomainState, reason, message string) {
	return distribution.Receives(cluster.Spec.Distribution, cluster.Status.Distribution, domain, distribution.PendingWaits)
}

// Unlisted tells of a domain that a machine names and its cluster does not list; "" when it does.
func Unlisted(cluster *infrav1.Metal3Cluster, domain string) string {
	if domain == "" || lists(cluster, domain) {
		return ""
	}
	return fmt.Sprintf("failure domain %s, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster %s: "+
		"the machine is kept to the BareMetalHosts with the label %s=%s, and nothing watches over their health; add the failure domain",
		domain, cluster.Name, infrav1.FailureDomainLabel, domain)
}

func lists(cluster *infrav1.Metal3Cluster, domain string) bool {
	return slices.ContainsFunc(cluster.Spec.FailureDomains, func(d clusterv1.FailureDomain) bool { return d.Name == domain })
}

// Closed lists the domains of the cluster that receive no machines.
func Closed(cluster *infrav1.Metal3Cluster) map[string]bool {
	closed := map[string]bool{}
	for _, domain := range cluster.Spec.FailureDomains {
		if state, _, _ := receives(cluster, domain.Name); state != faultlinev1.DomainActive {
			closed[domain.Name] = true
		}
	}
	return closed
}

// Waiting tells a machine of the cluster that was given no host why, and what to do.
func Waiting(cluster *infrav1.Metal3Cluster, why hosts.Reasons) metav1.Condition {
	switch {
	case len(why.Returning) > 0:
		return metav1.Condition{Reason: infrav1.NoCapacityReason, Message: fmt.Sprintf(
			"waiting for BareMetalHost %s, kept for reuse, to be available again; remove its label %s to take another",
			why.Returning[0], infrav1.NodeReuseLabel)}
	case why.Total == 0 && why.Domain != "" && !lists(cluster, why.Domain):
		return metav1.Condition{Reason: infrav1.FailureDomainNotFoundReason, Message: fmt.Sprintf(
			"failure domain %s, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster %s, and no BareMetalHost "+
				"of the namespace has the label %s=%s: add the failure domain and label hosts, or delete the Machine",
			why.Domain, cluster.Name, infrav1.FailureDomainLabel, why.Domain)}
	case why.Total == 0 && why.Domain != "":
		return metav1.Condition{Reason: infrav1.FailureDomainWithoutHostsReason, Message: withoutHosts(why.Domain)}
	case why.AllBroken() && why.Domain != "":
		return metav1.Condition{Reason: infrav1.FailureDomainHostsUnhealthyReason, Message: unhealthy(why)}
	default:
		return metav1.Condition{Reason: infrav1.NoCapacityReason, Message: fmt.Sprintf(
			"%s: waiting for a host to be free; add or free hosts, or delete the Machine", why)}
	}
}

// WaitsFor is the reason for which the machine waits for a host; "" when it does not.
func WaitsFor(machine *infrav1.Metal3Machine) string {
	if !conditions.IsFalse(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition) {
		return ""
	}
	switch reason := conditions.GetReason(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition); reason {
	case infrav1.FailureDomainNotFoundReason, infrav1.FailureDomainNotReadyReason, infrav1.FailureDomainWithoutHostsReason,
		infrav1.FailureDomainHostsUnhealthyReason, infrav1.FailureDomainNotNamedReason, faultlinev1.ReasonFailureDomainNotAssigned, infrav1.NoCapacityReason,
		infrav1.Metal3MachineHostRefusedReason, infrav1.Metal3MachineTemplateNotFoundReason:
		return reason
	default:
		return ""
	}
}

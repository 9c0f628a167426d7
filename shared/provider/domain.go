// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// assignmentGrace is the time within which a new machine is normally assigned its failure domain, even when hundreds of machines
// are created at once and the API server is loaded. The cluster's WorkersBalanced condition reports immediately which machines
// cannot be assigned one.
const assignmentGrace = 20 * time.Second

// RequestedDomain returns the failure domain that a machine belongs to: the one set in its Machine's spec.failureDomain, otherwise
// the one assigned to its infrastructure machine, or "" if it has neither. place is the current placement of the machine. Every
// provider calls RequestedDomain before it places a machine, and must not place it while wait has a reason.
//
// A machine without a failure domain waits if it would otherwise be placed anywhere, possibly next to another one. A
// control-plane machine waits if its cluster has, or had, failure domains for control planes. A MachineDeployment's machine waits
// if its cluster spreads workers, until it is assigned a failure domain and, if the cluster has logical failure domains, one of
// these too. A worker that may already exist in the infrastructure does not wait, because it is no longer assigned a domain.
func RequestedDomain(cluster Cluster, machine *clusterv1.Machine, infra client.Object, place Location) (domain string, wait distribution.Refusal) {
	domain = DomainOf(machine, infra)
	_, known := cluster.Distribution()
	switch {
	case util.IsControlPlaneMachine(machine):
		if domain != "" || known.ControlPlaneNeedsDomain == nil || !*known.ControlPlaneNeedsDomain {
			return domain, distribution.Refusal{}
		}
		return "", distribution.Refusal{Reason: faultlinev1.ReasonFailureDomainNotNamed, Message: fmt.Sprintf(
			"control-plane Machine %s has no failure domain, although its cluster has some for control planes: "+
				"set spec.failureDomain of the Machine, or delete it, and its control plane creates one with a failure domain", machine.Name)}
	case machine.Spec.FailureDomain == "" && !place.Exists && Spread(cluster, machine) && !assigned(cluster, infra):
		return "", distribution.Refusal{Reason: faultlinev1.ReasonFailureDomainNotAssigned, Message: fmt.Sprintf(
			"Machine %s has no failure domain and has not been assigned one yet: if this persists, see the condition %s of %s; "+
				"set spec.failureDomain in the template of its MachineDeployment to choose one",
			machine.Name, faultlinev1.WorkersBalancedCondition, cluster.GetName())}
	default:
		return domain, distribution.Refusal{}
	}
}

// DomainOf returns the failure domain that a machine belongs to, whether it waits or already exists; "" if it has none. See
// RequestedDomain.
func DomainOf(machine *clusterv1.Machine, infra client.Object) string {
	return cmp.Or(machine.Spec.FailureDomain, faultlinev1.Value(infra.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation))
}

// AssignmentGrace returns how long a controller should leave a new infrastructure machine untouched because it only waits to be
// assigned a failure domain; 0 if it should not wait. wait is the result of RequestedDomain. Another controller writes the
// assignment next, and a status write that only reports the wait could make that write fail with a conflict. Once the time is
// over, the controller should report the wait in the machine's status.
func AssignmentGrace(wait distribution.Refusal, infra client.Object, now time.Time) time.Duration {
	age := now.Sub(infra.GetCreationTimestamp().Time)
	if wait.Reason != faultlinev1.ReasonFailureDomainNotAssigned || age > assignmentGrace || age < -assignmentGrace { // the API server's clock differs
		return 0
	}
	return min(assignmentGrace, assignmentGrace-age)
}

// Spread reports whether the cluster spreads the machine, which requires that it belongs to a MachineDeployment. Machines of
// MachinePools and standalone Machines, which no controller replaces, are not spread.
func Spread(cluster Cluster, machine *clusterv1.Machine) bool {
	wanted, _ := cluster.Distribution()
	return wanted.SpreadsWorkers() && machine.Labels[clusterv1.MachineDeploymentNameLabel] != "" && !util.IsControlPlaneMachine(machine)
}

// assigned reports whether an infrastructure machine has been assigned a failure domain and, if the cluster has logical failure
// domains, a key.
func assigned(cluster Cluster, infra client.Object) bool {
	wanted, _ := cluster.Distribution()
	return faultlinev1.Value(infra.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation) != "" &&
		(wanted.LogicalDomains() == 0 || faultlinev1.Value(infra.GetLabels(), faultlinev1.DistributionKeyLabel) != "")
}

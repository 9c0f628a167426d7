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

// soon is how long a new machine is expected to be assigned its failure domain in, also when hundreds are made at once and the API
// server has much to do. The condition of the cluster says at once which machines cannot be assigned any.
const soon = 20 * time.Second

// Asked is the failure domain that a machine belongs to: the one that its Machine names, else the one that its infrastructure
// machine was assigned; "" when it belongs to none. Place is where the machine is. Every provider asks before it gives a machine a
// place, and gives it none as long as wait has a reason.
//
// A machine that belongs to no domain waits if it would be put anywhere, next to another one perhaps: if it is a control plane's and
// its cluster has, or had, domains for control planes; or if it is a MachineDeployment's and its cluster spreads workers, until it
// is assigned one, and a logical one too where there are such. A worker that may exist already waits for nothing: it is assigned
// nothing any more.
func Asked(cluster Cluster, machine *clusterv1.Machine, infra client.Object, place Place) (domain string, wait distribution.Refusal) {
	domain = Belongs(machine, infra)
	_, known := cluster.Distribution()
	switch {
	case util.IsControlPlaneMachine(machine):
		if domain != "" || known.ControlPlaneNeedsDomain == nil || !*known.ControlPlaneNeedsDomain {
			return domain, distribution.Refusal{}
		}
		return "", distribution.Refusal{Reason: faultlinev1.ReasonFailureDomainNotNamed, Message: fmt.Sprintf(
			"control-plane Machine %s names no failure domain, although its cluster has some for control planes: "+
				"set spec.failureDomain of the Machine, or delete it, and its control plane makes one that names a domain", machine.Name)}
	case machine.Spec.FailureDomain == "" && !place.Exists && Spread(cluster, machine) && !assigned(cluster, infra):
		return "", distribution.Refusal{Reason: faultlinev1.ReasonFailureDomainNotAssigned, Message: fmt.Sprintf(
			"Machine %s names no failure domain and has not been assigned one yet: if that lasts, the condition %s of %s says why; "+
				"set spec.failureDomain in the template of its MachineDeployment to choose one yourself",
			machine.Name, faultlinev1.WorkersBalancedCondition, cluster.GetName())}
	default:
		return domain, distribution.Refusal{}
	}
}

// Belongs is the failure domain that a machine belongs to, whether it waits or is there already: see Asked.
func Belongs(machine *clusterv1.Machine, infra client.Object) string {
	return cmp.Or(machine.Spec.FailureDomain, infra.GetAnnotations()[faultlinev1.AssignedFailureDomainAnnotation])
}

// AssignedSoon is how long an infrastructure machine is to be left as it is, because it has just been made and only waits to be
// assigned a failure domain: wait is Asked's answer. The assignment is the next write to come, and would be refused if it lost against
// one that says no more than that. When the time is over, it is to be shown that the machine waits.
func AssignedSoon(wait distribution.Refusal, infra client.Object, now time.Time) time.Duration {
	age := now.Sub(infra.GetCreationTimestamp().Time)
	if wait.Reason != faultlinev1.ReasonFailureDomainNotAssigned || age > soon || age < -soon { // the clock of the API server is another
		return 0
	}
	return min(soon, soon-age)
}

// Spread reports whether the machine is one of those that the cluster spreads: a MachineDeployment's. Those of MachinePools, and
// those that nobody makes anew, are not.
func Spread(cluster Cluster, machine *clusterv1.Machine) bool {
	wanted, _ := cluster.Distribution()
	return wanted.SpreadsWorkers() && machine.Labels[clusterv1.MachineDeploymentNameLabel] != "" && !util.IsControlPlaneMachine(machine)
}

// assigned reports whether an infrastructure machine has all that it is to be given.
func assigned(cluster Cluster, infra client.Object) bool {
	wanted, _ := cluster.Distribution()
	return infra.GetAnnotations()[faultlinev1.AssignedFailureDomainAnnotation] != "" &&
		(wanted.LogicalDomains() == 0 || infra.GetLabels()[faultlinev1.DistributionKeyLabel] != "")
}

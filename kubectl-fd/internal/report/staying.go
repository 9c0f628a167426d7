// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Staying lists machines that no controller will move out of failure domains that are being emptied.
type Staying struct {
	// Of is "the control plane", or "MachineDeployment" and its name.
	Of       string
	Machines []string
	// Why states the reason, and what to change so that they are moved.
	Why string
}

// StayingMachines returns the machines in failure domains that no controller will move out of them, by owner and reason. Machines
// that are being deleted are omitted.
func StayingMachines(c Cluster, deployments []Deployment, domains []string) []Staying {
	var all []Staying
	for _, domain := range c.Domains {
		if !slices.Contains(domains, domain.Name) {
			continue
		}
		for _, machine := range domain.Machines {
			why := stayReason(c, deployments, domains, machine)
			if machine.Deleting || why == "" {
				continue
			}
			at := slices.IndexFunc(all, func(s Staying) bool { return s.Of == of(machine) && s.Why == why })
			if at < 0 {
				at = len(all)
				all = append(all, Staying{Of: of(machine), Why: why})
			}
			all[at].Machines = append(all[at].Machines, machine.Name)
		}
	}
	return all
}

// of describes the owner of a machine.
func of(machine Machine) string {
	switch {
	case machine.ControlPlane:
		return "the control plane"
	case machine.Deployment == "":
		return "no MachineDeployment"
	}
	return "MachineDeployment " + machine.Deployment
}

// stayReason returns why no controller will move a machine out of failure domains, "" if one may.
func stayReason(c Cluster, deployments []Deployment, domains []string, machine Machine) string {
	switch {
	case machine.ControlPlane:
		return cmp.Or(controlPlaneStays(c), controlPlaneCannot(c), noneLeft(c, domains))
	case machine.Deployment == "":
		return "no controller replaces them in another domain: delete them, or let their owner delete them"
	}
	template := machine.Named
	if at := slices.IndexFunc(deployments, func(d Deployment) bool { return d.Name == machine.Deployment }); at >= 0 {
		template = deployments[at].Named
	}
	switch {
	case template != machine.Named: // A rollout replaces the machine.
		return ""
	case slices.Contains(domains, template):
		return fmt.Sprintf("its template names failure domain %s, so they stay until %s names another one", template, templateField(c))
	case template != "":
		return fmt.Sprintf("its template names another failure domain, %s: delete these Machines one after the other", template)
	case !c.Wanted.SpreadsWorkers():
		return notSpread
	}
	return cmp.Or(workersStay(c), noneLeft(c, domains))
}

// noneLeft returns why no failure domain can take the machines of others, "" if one is wanted Active. Its health is not considered, because
// it may recover.
func noneLeft(c Cluster, domains []string) string {
	for _, domain := range c.Domains {
		if domain.Listed && domain.Wanted == "" && !slices.Contains(domains, domain.Name) {
			return ""
		}
	}
	return "every failure domain of the cluster is set to Cordoned or Evicting, so none can take them: activate one"
}

const notSpread = "its template names no failure domain, and workers are not spread: set spec.distribution.workers.enabled to spread its machines"

// templateField returns the field in which a MachineDeployment names the failure domain of its machines.
func templateField(c Cluster) string {
	if c.Topology {
		return "failureDomain of its entry in spec.topology.workers.machineDeployments of the Cluster"
	}
	return "its spec.template.spec.failureDomain"
}

// controlPlaneStays returns why no control-plane machine is moved, "" if spec.distribution enables it.
func controlPlaneStays(c Cluster) string {
	switch mode := c.Wanted.Rebalance(); mode {
	case faultlinev1.ControlPlaneRebalanceAdvise, faultlinev1.ControlPlaneRebalanceOff:
		return fmt.Sprintf("rebalance is %s, so no machine is moved: set spec.distribution.controlPlane.rebalance to SurgeOne to move them", mode)
	}
	return ""
}

// controlPlaneCannot returns what the controller reports that blocks moves of control-plane machines until the user changes it.
func controlPlaneCannot(c Cluster) string {
	condition := c.Condition(faultlinev1.ControlPlaneBalancedCondition)
	if condition == nil {
		return ""
	}
	switch condition.Reason {
	case faultlinev1.ReasonControlPlaneNotSupported, faultlinev1.ReasonControlPlaneVersionNotTested, faultlinev1.ReasonEvenReplicas,
		faultlinev1.ReasonNoSurge:
		return condition.Type + " is False, " + strings.Join(strings.Fields(condition.Message), " ")
	}
	return ""
}

// workersStay returns why no worker is moved, "" if spec.distribution enables it.
func workersStay(c Cluster) string {
	if c.Wanted.Workers.Rebalance == faultlinev1.WorkersRebalanceDeleteOne {
		return ""
	}
	return "rebalance is Off, so no machine is moved: set spec.distribution.workers.rebalance to DeleteOne to move them"
}

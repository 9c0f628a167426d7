// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/spread"
)

// Observed holds the objects read for one cluster.
type Observed struct {
	Cluster *clusterv1.Cluster
	// Infrastructure is the infrastructure cluster; nil if none exists, and then Problem states why.
	Infrastructure *unstructured.Unstructured
	Problem        string
	Machines       []clusterv1.Machine
	// Assigned maps machines without a failure domain in their spec to their assigned failure domains.
	Assigned map[string]string
}

// part is the part of an infrastructure cluster that is read, for any provider.
type part struct {
	Spec struct {
		Distribution faultlinev1.Distribution `json:"distribution"`
	} `json:"spec"`
	Status struct {
		Distribution faultlinev1.DistributionStatus `json:"distribution"`
		Conditions   []metav1.Condition             `json:"conditions"`
	} `json:"status"`
}

// Of creates the report on a cluster.
func Of(o Observed) Cluster {
	c := Cluster{Namespace: o.Cluster.Namespace, Name: o.Cluster.Name, Topology: o.Cluster.Spec.Topology.IsDefined(), Problem: o.Problem}
	if o.Cluster.Status.ControlPlane != nil {
		c.Replicas = o.Cluster.Status.ControlPlane.DesiredReplicas
	}
	if o.Infrastructure != nil {
		c.Infrastructure = Reference{
			APIVersion: o.Infrastructure.GetAPIVersion(), Kind: o.Infrastructure.GetKind(), Name: o.Infrastructure.GetName(),
		}
		c.Problem = c.fill(o)
	}
	for i := range o.Machines {
		c.add(&o.Machines[i], o.Assigned[o.Machines[i].Name])
	}
	c.sort()
	return c
}

// fill copies the state that the infrastructure cluster reports, and returns what is wrong with it.
func (c *Cluster) fill(o Observed) string {
	var seen part
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Infrastructure.Object, &seen); err != nil {
		return fmt.Sprintf("%s %s cannot be read: %v: is this kubectl fd as new as the provider?", c.Infrastructure.Kind, c.Infrastructure.Name, err)
	}
	known := seen.Status.Distribution
	c.Parents = spread.ParentsOf(seen.Spec.Distribution, o.Cluster.Status.FailureDomains)
	c.Wanted, c.Skew, c.ControlPlane, c.Workers = seen.Spec.Distribution, known.ControlPlaneSkew, known.ControlPlane, known.Workers
	for _, condition := range seen.Status.Conditions {
		switch condition.Type {
		case faultlinev1.FailureDomainsReadyCondition, faultlinev1.MachinesInPlaceCondition, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.WorkersBalancedCondition,
			faultlinev1.QuorumProtectedCondition:
			c.Conditions = append(c.Conditions, condition)
		}
	}
	requests := Requests(o.Infrastructure.GetAnnotations())
	for i := range known.FailureDomains {
		domain := c.domain(&known.FailureDomains[i])
		// A request for another state is outdated: another client has set the state since.
		if request, recorded := requests[domain.Name]; recorded && request.State == c.Wanted.Intent(domain.Name) {
			domain.Request = &request
		}
		c.Domains = append(c.Domains, domain)
	}
	if len(c.Domains) > 0 {
		return ""
	}
	// A cluster of another provider only has the domains that it publishes for Cluster API.
	for _, published := range o.Cluster.Status.FailureDomains {
		c.Domains = append(c.Domains, Domain{
			Name: published.Name, Listed: true, ControlPlane: published.ControlPlane != nil && *published.ControlPlane,
		})
	}
	if len(c.Domains) == 0 {
		return fmt.Sprintf("%s %s has no failure domains: declare some as described in docs/failure-domains.md", c.Infrastructure.Kind, c.Infrastructure.Name)
	}
	return fmt.Sprintf("%s %s does not report the state of its failure domains: status.distribution is written by Faultline's providers",
		c.Infrastructure.Kind, c.Infrastructure.Name)
}

func (c *Cluster) domain(seen *faultlinev1.DomainStatus) Domain {
	d := Domain{
		Name: seen.Name, Listed: true, State: seen.State, ControlPlane: seen.ControlPlane != nil && *seen.ControlPlane,
		Reason: seen.Reason, Message: seen.Message, Since: seen.Since, StaleSince: seen.StaleSince, Capacity: seen.Capacity,
	}
	if wanted := c.Wanted.Intent(seen.Name); wanted != faultlinev1.DomainActive {
		d.Wanted = wanted
	}
	return d
}

// add adds a machine to its domain.
func (c *Cluster) add(machine *clusterv1.Machine, assigned string) {
	name := cmp.Or(machine.Status.FailureDomain, machine.Spec.FailureDomain, assigned)
	at := slices.IndexFunc(c.Domains, func(d Domain) bool { return d.Name == name })
	if at < 0 {
		at = len(c.Domains)
		c.Domains = append(c.Domains, Domain{Name: name})
	}
	m := machineOf(machine)
	if c.Wanted.LogicalDomains() > 0 && !m.ControlPlane {
		m.Class, m.Key = spread.Class(machine.Labels), faultlinev1.Value(machine.Labels, faultlinev1.DistributionKeyLabel)
	}
	c.Domains[at].Machines = append(c.Domains[at].Machines, m)
}

func machineOf(machine *clusterv1.Machine) Machine {
	_, controlPlane := machine.Labels[clusterv1.MachineControlPlaneLabel]
	m := Machine{
		Name: machine.Name, ControlPlane: controlPlane, Deployment: machine.Labels[clusterv1.MachineDeploymentNameLabel],
		Infrastructure: Reference{Kind: machine.Spec.InfrastructureRef.Kind, Name: machine.Spec.InfrastructureRef.Name},
		Named:          machine.Spec.FailureDomain, Joined: machine.Status.NodeRef.IsDefined(), Created: machine.CreationTimestamp, State: Running,
	}
	m.Healthy = m.Joined && !isNotTrue(machine, clusterv1.MachineHealthCheckSucceededCondition) && !isNotTrue(machine, clusterv1.MachineNodeHealthyCondition)
	provisioned := machine.Status.Initialization.InfrastructureProvisioned
	switch {
	case !machine.DeletionTimestamp.IsZero():
		m.Deleting, m.State = true, MachineState(distribution.DeletionPhase(machine))
		m.explain(machine, clusterv1.MachineDeletingCondition)
	case provisioned == nil || !*provisioned:
		m.State = Waiting
		m.explain(machine, clusterv1.MachineInfrastructureReadyCondition)
	case !m.Joined:
		m.State = Joining
		m.explain(machine, clusterv1.MachineNodeReadyCondition)
	case isNotTrue(machine, clusterv1.MachineHealthCheckSucceededCondition):
		m.State = Unhealthy
		m.explain(machine, clusterv1.MachineHealthCheckSucceededCondition)
	case isNotTrue(machine, clusterv1.MachineNodeHealthyCondition):
		m.State = Unhealthy
		m.explain(machine, clusterv1.MachineNodeHealthyCondition)
	}
	return m
}

// isNotTrue reports whether a condition is False or Unknown. A missing condition is ignored.
func isNotTrue(machine *clusterv1.Machine, conditionType string) bool {
	condition := conditions.Get(machine, conditionType)
	return condition != nil && condition.Status != metav1.ConditionTrue
}

func (m *Machine) explain(machine *clusterv1.Machine, conditionType string) {
	if condition := conditions.Get(machine, conditionType); condition != nil {
		m.Reason, m.Message = condition.Reason, condition.Message
	}
}

// sort sorts domains by name, those that are not listed last, and machines by role and name.
func (c *Cluster) sort() {
	slices.SortFunc(c.Domains, func(a, b Domain) int {
		if a.Listed != b.Listed {
			if a.Listed {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	for _, domain := range c.Domains {
		slices.SortFunc(domain.Machines, func(a, b Machine) int {
			if a.ControlPlane != b.ControlPlane {
				if a.ControlPlane {
					return -1
				}
				return 1
			}
			return cmp.Or(cmp.Compare(a.Deployment, b.Deployment), cmp.Compare(a.Name, b.Name))
		})
	}
}

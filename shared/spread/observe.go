// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// scope holds the state of one reconcile. Its objects are shared with the cache and must be copied before they are changed.
type scope struct {
	owner   *clusterv1.Cluster
	cluster provider.Cluster
	// members maps the names of the cluster's Machines.
	members map[string]member
	// deployments lists the MachineDeployments whose machines are spread, by name; named lists those whose template names a
	// domain.
	deployments, named []*clusterv1.MachineDeployment
	// within is true if logical failure domains are separated inside a failure domain, where this is not visible.
	within bool
	// markedByOthers holds the MachineDeployments whose machines another client has marked since this manager has started.
	markedByOthers map[types.UID]bool
	// state is the input of Assign and Plan.
	state Cluster
}

// member is a Machine with its infrastructure machine, which is nil if none exists.
type member struct {
	machine *clusterv1.Machine
	infra   client.Object
}

// observe reads everything that decisions depend on. It returns nil while the cluster has no owner.
func (r *Reconciler) observe(ctx context.Context, cluster provider.Cluster) (*scope, error) {
	owner, err := reconcile.OwnerCluster(ctx, r.Client, cluster)
	if err != nil || owner == nil {
		return nil, err
	}
	s := &scope{owner: owner, cluster: cluster, members: map[string]member{}}
	ours := watch.OfInfrastructure(cluster)
	all, err := machines.Read(ctx, r.Client, ours, r.Provider.NewMachine())
	if err != nil {
		return nil, err
	}
	if err := r.deployments(ctx, s, ours); err != nil {
		return nil, err
	}
	wanted, known := cluster.Distribution()
	separates := r.Provider.Capabilities().SeparatesWithin
	s.within = separates != nil && separates(cluster)
	s.state = Cluster{
		Domains: workerDomains(*wanted, *known), Parent: ParentsOf(*wanted, *cluster.FailureDomains()), Logical: wanted.LogicalDomains(), Required: ptr.Deref(wanted.Workers.Required, false) && !s.within,
	}
	for i := range all.Machines {
		m := member{machine: &all.Machines[i], infra: all.InfraOf(&all.Machines[i])}
		s.members[m.machine.Name] = m
		state := r.stateOf(m)
		if provider.Spread(cluster, m.machine) && m.infra != nil && !s.isNamed(m.machine.Labels[clusterv1.MachineDeploymentNameLabel]) {
			state.Deployment, state.Class = m.machine.Labels[clusterv1.MachineDeploymentNameLabel], Class(m.machine.Labels)
			state.Set = s.setOf(m.machine)
		}
		s.state.Machines = append(s.state.Machines, state)
	}
	return s, r.observeCapacity(ctx, s)
}

// observeCapacity reads the capacity for machines that must be placed and have requirements of their own.
func (r *Reconciler) observeCapacity(ctx context.Context, s *scope) error {
	can := r.Provider.Capabilities()
	if can.Capacity == nil {
		return nil
	}
	s.state.Capacity = map[string]map[string]int{}
	for i := range s.state.Machines {
		m := &s.state.Machines[i]
		infra := s.members[m.Name].infra
		if infra == nil || !m.waits() && !m.pending() {
			continue
		}
		m.Suits = can.Requirements(infra)
		if _, known := s.state.Capacity[m.Suits]; known || m.Suits == "" {
			continue
		}
		capacity, err := can.Capacity(ctx, infra)
		if err != nil {
			return fmt.Errorf("reading the capacity for Machine %s: %w", m.Name, err)
		}
		s.state.Capacity[m.Suits] = capacity
	}
	return nil
}

// deployments reads the MachineDeployments of a cluster.
func (r *Reconciler) deployments(ctx context.Context, s *scope, ours watch.OfCluster) error {
	list := &clusterv1.MachineDeploymentList{}
	if err := r.Client.List(ctx, list, ours, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing MachineDeployments of %s: %w", ours.Name, err)
	}
	for i := range list.Items {
		md := &list.Items[i]
		if md.Spec.Template.Spec.FailureDomain != "" {
			s.named = append(s.named, md)
		} else if md.DeletionTimestamp.IsZero() {
			s.deployments = append(s.deployments, md)
		}
	}
	for _, all := range [][]*clusterv1.MachineDeployment{s.deployments, s.named} {
		slices.SortFunc(all, func(a, b *clusterv1.MachineDeployment) int { return cmp.Compare(a.Name, b.Name) })
	}
	return nil
}

// setOf returns the MachineSet with which the machine counts. With OnDelete, outdated machines can stay for good, so all machines
// of the MachineDeployment count alike and a new one replaces a missing one.
func (s *scope) setOf(machine *clusterv1.Machine) string {
	for _, md := range s.deployments {
		if md.Name == machine.Labels[clusterv1.MachineDeploymentNameLabel] && md.Spec.Rollout.Strategy.Type == clusterv1.OnDeleteMachineDeploymentStrategyType {
			return ""
		}
	}
	return machine.Labels[clusterv1.MachineSetNameLabel]
}

// isNamed reports whether the template of the MachineDeployment names a domain.
func (s *scope) isNamed(deployment string) bool {
	return slices.ContainsFunc(s.named, func(md *clusterv1.MachineDeployment) bool { return md.Name == deployment })
}

// workerDomains returns the domains of a cluster as they receive workers. A domain that has never been seen healthy receives
// none: there are others, and a worker that is placed there stays there.
func workerDomains(wanted faultlinev1.Distribution, known faultlinev1.DistributionStatus) []failuredomain.Domain {
	domains := make([]failuredomain.Domain, 0, len(known.FailureDomains))
	for i := range known.FailureDomains {
		seen := &known.FailureDomains[i]
		state, _ := distribution.Receives(wanted, known, seen.Name, distribution.PendingRefuses)
		domain := failuredomain.Domain{Name: seen.Name, State: failuredomain.State(state)}
		if seen.Capacity != nil {
			domain.Capacity = ptr.To(int(*seen.Capacity))
		}
		domains = append(domains, domain)
	}
	return domains
}

// stateOf returns a Machine as one that is not spread. A recent assignment counts even if the cache does not show it yet.
func (r *Reconciler) stateOf(m member) Machine {
	state := Machine{
		Name: m.machine.Name, Created: m.machine.CreationTimestamp.Time, Deleting: !m.machine.DeletionTimestamp.IsZero(),
		Named: m.machine.Spec.FailureDomain != "", Unhealthy: unhealthy(m.machine), Exists: true,
		Rank:   rankOf(m.machine),
		Domain: cmp.Or(m.machine.Status.FailureDomain, m.machine.Spec.FailureDomain),
	}
	if m.infra == nil {
		return state
	}
	place := r.Provider.Location(m.infra)
	domain, key := r.assigned.read(m.infra)
	state.Exists, state.Key = place.Exists, key
	state.Deleting = state.Deleting || !m.infra.GetDeletionTimestamp().IsZero()
	state.Domain = cmp.Or(place.Domain, m.machine.Spec.FailureDomain, domain, m.machine.Status.FailureDomain)
	return state
}

// unhealthy reports whether a machine will be replaced or its Node is not healthy, so that it is not available.
func unhealthy(machine *clusterv1.Machine) bool {
	return machines.Unhealthy(machine) || isUnwell(machine)
}

// isUnwell reports whether a machine has failed a health check or its Node is not healthy, by the rules of Cluster API's MachineSet
// controller.
func isUnwell(machine *clusterv1.Machine) bool {
	return conditions.IsFalse(machine, clusterv1.MachineHealthCheckSucceededCondition) ||
		machine.Status.NodeRef.IsDefined() && conditions.IsFalse(machine, clusterv1.MachineNodeHealthyCondition)
}

// rankOf returns the deletion rank of the machine in Cluster API's MachineSet controller.
func rankOf(machine *clusterv1.Machine) Rank {
	_, updating := machine.Annotations[clusterv1.UpdateInProgressAnnotation]
	switch {
	case updating:
		return RankUpdating
	case isUnwell(machine) || !machine.Status.NodeRef.IsDefined():
		return RankUnhealthy
	}
	return RankHealthy
}

// of returns the spread machines of a MachineDeployment, by name.
func (s *scope) of(deployment string) []*Machine {
	var machines []*Machine
	for i := range s.state.Machines {
		if s.state.Machines[i].Deployment == deployment {
			machines = append(machines, &s.state.Machines[i])
		}
	}
	slices.SortFunc(machines, func(a, b *Machine) int { return cmp.Compare(a.Name, b.Name) })
	return machines
}

// groupOf returns the group in which the machines of a MachineDeployment are spread.
func (s *scope) groupOf(md *clusterv1.MachineDeployment) string {
	if s.state.Logical == 0 {
		return md.Name
	}
	labels := maps.Clone(md.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.MachineDeploymentNameLabel] = md.Name
	return Class(labels)
}

// isWorker reports whether a Machine may be spread.
func isWorker(machine *clusterv1.Machine) bool {
	return machine.Labels[clusterv1.MachineDeploymentNameLabel] != "" && !util.IsControlPlaneMachine(machine)
}

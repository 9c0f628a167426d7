// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot reads the observable state of a cluster at one moment, and reports what is missing or wrong.
package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
)

// ControlPlanes is the default number of control-plane machines in the templates.
const ControlPlanes = 3

// Take takes a snapshot of a cluster with these failure domains.
func Take(ctx context.Context, from client.Reader, cluster client.ObjectKey, names []string, infrastructure provider.Simulation) (Snapshot, error) {
	var published clusterv1.Cluster
	if err := from.Get(ctx, cluster, &published); client.IgnoreNotFound(err) != nil {
		return Snapshot{}, fmt.Errorf("reading the Cluster: %w", err)
	}
	var machines clusterv1.MachineList
	err := from.List(ctx, &machines, client.InNamespace(cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name})
	if err != nil {
		return Snapshot{}, fmt.Errorf("listing Machines: %w", err)
	}
	placements, err := infrastructure.Machines(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("listing the machines of the infrastructure: %w", err)
	}
	return Snapshot{Domains: domains(names, published.Status.FailureDomains), Machines: merge(machines.Items, placements)}, nil
}

// Snapshot holds the observable state of a cluster at one moment, in display order.
type Snapshot struct {
	Domains  []Domain
	Machines []Machine
}

// Domain is a failure domain as published by the Cluster.
type Domain struct {
	Name string
	// State is the domain's state, Reason why it is not Active. State is "" until the Cluster publishes the domain.
	State, Reason string
	// ControlPlane reports whether the domain accepts control-plane machines.
	ControlPlane bool
}

// Machine is one machine of the cluster.
type Machine struct {
	Name string
	// Role is "control plane" or the name of a worker group; "" for a machine that only the infrastructure has.
	Role  string
	Phase string
	// Asked is the domain that Cluster API chose, Reported the domain that the provider reports, Domain and Host the actual placement in
	// the infrastructure. All may be "".
	Asked, Reported, Domain, Host string
	Ready                         bool
	Deleting                      bool
}

// IsOf reports whether a machine is in a domain, or was stopped there and must return there.
func (m Machine) IsOf(domain string) bool {
	return m.Domain == domain || m.Domain == "" && m.Asked == domain
}

// RoleControlPlane is the role of control-plane machines.
const RoleControlPlane = "control plane"

// domains combines the published failure domains with the expected names.
func domains(names []string, published []clusterv1.FailureDomain) []Domain {
	list := make([]Domain, len(names))
	for i, name := range names {
		list[i] = Domain{Name: name}
		for _, p := range published {
			if p.Name != name {
				continue
			}
			list[i].ControlPlane = p.ControlPlane != nil && *p.ControlPlane
			list[i].State, list[i].Reason = p.Attributes["state"], p.Attributes["reason"]
			if list[i].State == "" {
				list[i].State = "published"
			}
		}
	}
	return list
}

// merge joins Machines with the placements of the infrastructure, by the name of the infrastructure machine.
func merge(machines []clusterv1.Machine, placements []provider.Placement) []Machine {
	places := map[string]provider.Placement{}
	for _, p := range placements {
		places[p.Name] = p
	}
	list := make([]Machine, 0, len(machines))
	for _, m := range machines {
		place := places[m.Spec.InfrastructureRef.Name]
		delete(places, m.Spec.InfrastructureRef.Name)
		list = append(list, Machine{
			Name: m.Name, Role: role(m), Phase: m.Status.Phase,
			Asked: m.Spec.FailureDomain, Reported: m.Status.FailureDomain,
			Domain: place.Domain, Host: place.Host,
			Ready:    meta.IsStatusConditionTrue(m.Status.Conditions, clusterv1.ReadyCondition),
			Deleting: !m.DeletionTimestamp.IsZero(),
		})
	}
	for _, p := range places {
		list = append(list, Machine{Name: p.Name, Domain: p.Domain, Host: p.Host})
	}
	slices.SortFunc(list, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// rank sorts the control plane first and unknown machines last.
func rank(m Machine) int {
	switch m.Role {
	case RoleControlPlane:
		return 0
	case "":
		return 2
	}
	return 1
}

func role(m clusterv1.Machine) string {
	if _, ok := m.Labels[clusterv1.MachineControlPlaneLabel]; ok {
		return RoleControlPlane
	}
	if name, ok := m.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel]; ok {
		return name
	}
	return strings.TrimPrefix(m.Labels[clusterv1.MachineDeploymentNameLabel], m.Spec.ClusterName+"-")
}

// In returns the machines of a role in a domain, or in any domain if domain is "".
func (s Snapshot) In(role, domain string) []Machine {
	var list []Machine
	for _, m := range s.Machines {
		if m.Role == role && (domain == "" || m.Domain == domain) {
			list = append(list, m)
		}
	}
	return list
}

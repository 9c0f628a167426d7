// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ippools

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// ErrNoMatch reports that no pool matches a load balancer that names none.
var ErrNoMatch = errors.New("no matched IPPool with requirement")

// everything matches all projects, namespaces or clusters, in a pool and in a requirement.
const everything = "*"

// Requirement describes a load balancer that names no pool.
type Requirement struct {
	Network, Project, Namespace, Cluster string
	// VLAN is the VLAN of the network, "" or 0 for none.
	VLAN string
	// WorkloadCluster is set for a guest cluster. If no pool matches it, not even the global one, pools match whose scope leaves out the
	// project or the cluster, which the UI of Harvester does not ask for.
	WorkloadCluster bool
}

// Select returns the pool to allocate an address from, by these rules:
//
//   - The network must match. A pool with a network is only for load balancers that require it, and a pool without one only for those
//     that require none. A network without a namespace is in the namespace of the requirement. A pool without a network whose label
//     has a VLAN is also for load balancers that require a network in that VLAN for which there is no pool.
//   - A scope of the pool must match the project, the namespace and the cluster of the requirement; * on either side matches any. A
//     project is cluster/project or cluster:project. If no guest cluster requires the address, a scope without a project matches any,
//     because virtual machines are in a project without naming it. A pool without a scope is never selected.
//   - The matching pool with the highest priority is selected, by name if several have the same priority.
//   - For a guest cluster that requires a network, the next choice is a pool for the network or its VLAN whose scope leaves out the
//     project or the cluster: it is more specific than a global pool.
//   - The last choice is the global pool, whose only scope is * for all three. A global pool with a network is only for that network;
//     one without is for all. A load balancer that requires no network accepts any global pool, for compatibility. If there are
//     several, the one for the network precedes one without.
//
// Pools that are being deleted are ignored. The error wraps ErrNoMatch.
func Select(pools []lbv1.IPPool, want Requirement) (*lbv1.IPPool, error) {
	for _, suits := range want.tiers() {
		if chosen := best(pools, suits); chosen != nil {
			return chosen, nil
		}
	}
	return nil, fmt.Errorf("%w network %q, project %q, namespace %q, cluster %q", ErrNoMatch, want.Network, want.Project, want.Namespace, want.Cluster)
}

// tiers returns the predicates of the tiers. A tier is used only if no pool is in an earlier one.
func (r Requirement) tiers() []func(*lbv1.IPPool) bool {
	on := func(loose bool) []func(*lbv1.IPPool) bool {
		return []func(*lbv1.IPPool) bool{
			func(p *lbv1.IPPool) bool { return !IsGlobal(p) && r.onNetwork(p) && r.inScope(p, loose) },
			func(p *lbv1.IPPool) bool { return !IsGlobal(p) && r.inVLAN(p) && r.inScope(p, loose) },
		}
	}
	tiers := on(false)
	if r.WorkloadCluster && r.Network != "" {
		tiers = append(tiers, on(true)...)
	}
	tiers = append(tiers,
		func(p *lbv1.IPPool) bool { return IsGlobal(p) && r.onNetwork(p) },
		func(p *lbv1.IPPool) bool { return IsGlobal(p) && (r.Network == "" || p.Spec.Selector.Network == "") })
	if r.WorkloadCluster && r.Network == "" {
		tiers = append(tiers, on(true)...)
	}
	return tiers
}

// Admits reports whether a load balancer that names a pool, or shows an address of it, is in its scope. It compares the namespace and the
// project of the load balancer and the guest cluster that it names; a project or cluster that the scope leaves out matches any. The
// network is not compared, because the load balancer chooses it. A pool without a scope is for load balancers that name it.
func Admits(pool *lbv1.IPPool, lb *lbv1.LoadBalancer) bool {
	within := func(scope, is string) bool { return scope == "" || scope == everything || scope == is }
	scope := pool.Spec.Selector.Scope
	return len(scope) == 0 || slices.ContainsFunc(scope, func(t lbv1.Tuple) bool {
		return (t.Namespace == everything || t.Namespace == lb.Namespace) && within(t.GuestCluster, lb.Annotations[lbv1.ClusterAnnotation]) &&
			within(Project(t.Project), Project(lb.Annotations[lbv1.ProjectAnnotation]))
	})
}

// Covering returns the pool whose ranges contain an address, or nil.
func Covering(pools []lbv1.IPPool, address string) *lbv1.IPPool {
	addr, ok := ipaddr.Parse(strings.TrimSpace(address))
	for i := range pools {
		if ok && slices.ContainsFunc(completed(pools[i].Spec.Ranges), func(r ipaddr.Range) bool { return r.Contains(addr) }) {
			return &pools[i]
		}
	}
	return nil
}

// IsGlobal reports whether a pool is for all load balancers that have no pool of their own.
func IsGlobal(pool *lbv1.IPPool) bool {
	return slices.Equal(pool.Spec.Selector.Scope, []lbv1.Tuple{{Project: everything, Namespace: everything, GuestCluster: everything}})
}

// best returns the matching pool with the highest priority.
func best(pools []lbv1.IPPool, suits func(*lbv1.IPPool) bool) *lbv1.IPPool {
	var chosen *lbv1.IPPool
	for i := range pools {
		pool := &pools[i]
		if pool.DeletionTimestamp.IsZero() && suits(pool) && (chosen == nil || before(pool, chosen)) {
			chosen = pool
		}
	}
	return chosen
}

func before(a, b *lbv1.IPPool) bool {
	return cmp.Or(cmp.Compare(b.Spec.Selector.Priority, a.Spec.Selector.Priority), strings.Compare(a.Name, b.Name)) < 0
}

func (r Requirement) onNetwork(pool *lbv1.IPPool) bool {
	network := pool.Spec.Selector.Network
	if network == r.Network {
		return true
	}
	own := r.Network != "" && r.Namespace != "" && !strings.Contains(r.Network, "/")
	return own && network == r.Namespace+"/"+r.Network
}

// inVLAN reports whether a pool without a network has addresses in the VLAN of the required network, according to its label.
func (r Requirement) inVLAN(pool *lbv1.IPPool) bool {
	tagged := r.Network != "" && r.VLAN != "" && r.VLAN != "0"
	return tagged && pool.Spec.Selector.Network == "" && pool.Labels[lbv1.VLANLabel] == r.VLAN
}

func (r Requirement) inScope(pool *lbv1.IPPool, loose bool) bool {
	return slices.ContainsFunc(pool.Spec.Selector.Scope, func(t lbv1.Tuple) bool {
		return covers(Project(t.Project), Project(r.Project), loose || !r.WorkloadCluster) && covers(t.Namespace, r.Namespace, false) && covers(t.GuestCluster, r.Cluster, loose)
	})
}

// Project returns a Rancher project as cluster/project. Namespaces have it as cluster:project, and scopes may, too.
func Project(name string) string { return strings.Replace(name, ":", "/", 1) }

func covers(scope, required string, loose bool) bool {
	return scope == required || scope == everything || required == everything || loose && scope == ""
}

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

// ErrNoMatch says that no pool suits somebody who names none.
var ErrNoMatch = errors.New("no matched IPPool with requirement")

// everything stands for all projects, namespaces or clusters, in a pool as in a requirement.
const everything = "*"

// Requirement is who wants an address, and on which network, where no pool is named.
type Requirement struct {
	Network, Project, Namespace, Cluster string
	// VLAN is that of the network, "" or 0 for none.
	VLAN string
	// WorkloadCluster says that it is for a guest cluster. When there is no pool for it, not even the global one, pools are good enough
	// whose scope leaves the project or the cluster out, which the user interface of Harvester does not ask for.
	WorkloadCluster bool
}

// Select chooses the pool that an address is to be from, by these rules:
//
//   - The network is a hard condition. A pool that is for a network gives addresses to those only who require it, and one without gives
//     them to those only who require none; a network without a namespace is one of the requirement's own. A pool without one whose label
//     says a VLAN also serves those who require a network in that, and have no pool of the network.
//   - One of the scopes of the pool has the project, the namespace and the cluster of the requirement; * on either side is any. A project
//     is cluster/project or cluster:project, and one that is left out is any where no guest cluster requires an address: what is for
//     virtual machines is in a project without saying so. A pool without a scope is never chosen.
//   - Of several the one with the highest priority is chosen, and of several with the same the first by name.
//   - A guest cluster that requires a network has one next that is for the network, or its VLAN, and whose scope leaves the project or the cluster
//     out: it says more of the address than a global pool does.
//   - Without any, it is the global pool, whose only scope is * for all three. One that is for a network is for no other; one that is for
//     none is for all. Who requires no network says nothing that a global pool could contradict: any serves, as it always has. When there
//     should be several, the one for the network comes before one without.
//
// Pools that are being deleted give nothing. The error wraps ErrNoMatch.
func Select(pools []lbv1.IPPool, want Requirement) (*lbv1.IPPool, error) {
	for _, suits := range want.tiers() {
		if chosen := best(pools, suits); chosen != nil {
			return chosen, nil
		}
	}
	return nil, fmt.Errorf("%w network %q, project %q, namespace %q, cluster %q", ErrNoMatch, want.Network, want.Project, want.Namespace, want.Cluster)
}

// tiers are which pools suit: those of a tier where no pool is of an earlier one.
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

// Admits reports whether a load balancer that names a pool, or shows an address of it, is in its scope. Namespace and project are what the load
// balancer is in, and the guest cluster is one that it names; a project or a cluster that the scope leaves out is any. The network is the load
// balancer's own choice. A pool without a scope is for those that name it.
func Admits(pool *lbv1.IPPool, lb *lbv1.LoadBalancer) bool {
	within := func(scope, is string) bool { return scope == "" || scope == everything || scope == is }
	scope := pool.Spec.Selector.Scope
	return len(scope) == 0 || slices.ContainsFunc(scope, func(t lbv1.Tuple) bool {
		return (t.Namespace == everything || t.Namespace == lb.Namespace) && within(t.GuestCluster, lb.Annotations[lbv1.ClusterAnnotation]) &&
			within(Project(t.Project), Project(lb.Annotations[lbv1.ProjectAnnotation]))
	})
}

// Covering returns the pool that has an address in its ranges; nil for none.
func Covering(pools []lbv1.IPPool, address string) *lbv1.IPPool {
	addr, ok := ipaddr.Parse(strings.TrimSpace(address))
	for i := range pools {
		if ok && slices.ContainsFunc(completed(pools[i].Spec.Ranges), func(r ipaddr.Range) bool { return r.Contains(addr) }) {
			return &pools[i]
		}
	}
	return nil
}

// IsGlobal reports whether a pool is for all who have none of their own.
func IsGlobal(pool *lbv1.IPPool) bool {
	return slices.Equal(pool.Spec.Selector.Scope, []lbv1.Tuple{{Project: everything, Namespace: everything, GuestCluster: everything}})
}

// best is the pool with the highest priority of those that suit.
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

// inVLAN reports whether a pool that is for no network has addresses of the VLAN that the network is in, as its label says.
func (r Requirement) inVLAN(pool *lbv1.IPPool) bool {
	tagged := r.Network != "" && r.VLAN != "" && r.VLAN != "0"
	return tagged && pool.Spec.Selector.Network == "" && pool.Labels[lbv1.VLANLabel] == r.VLAN
}

func (r Requirement) inScope(pool *lbv1.IPPool, loose bool) bool {
	return slices.ContainsFunc(pool.Spec.Selector.Scope, func(t lbv1.Tuple) bool {
		return covers(Project(t.Project), Project(r.Project), loose || !r.WorkloadCluster) && covers(t.Namespace, r.Namespace, false) && covers(t.GuestCluster, r.Cluster, loose)
	})
}

// Project is a project of Rancher's as cluster/project. Namespaces have it as cluster:project, and so may who writes down a scope.
func Project(name string) string { return strings.Replace(name, ":", "/", 1) }

func covers(scope, required string, loose bool) bool {
	return scope == required || scope == everything || required == everything || loose && scope == ""
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// useLabel on an IPPool names its purpose, if it was created for a cluster.
const useLabel = "infrastructure.cluster.x-k8s.io/harvester-pool-for"

// PoolUse is the purpose of a pool; it is part of its name.
type PoolUse string

// Purposes of pools: the load balancer of the control plane, and machines.
const (
	LoadBalancerPool PoolUse = "lb-ippool"
	MachinePool      PoolUse = "vm-ippool"
)

// former returns the name of the pool before Faultline.
func (u PoolUse) former(by By) string {
	if u == LoadBalancerPool {
		return by.FormerNameFor("ippool")
	}
	return by.FormerNameFor(string(u))
}

// Owns reports whether a pool was created for the cluster and the purpose.
func (u PoolUse) Owns(by By, pool *lbv1.IPPool) bool {
	return pool.Labels[useLabel] == string(u) && by.HasNamed(pool, by.NameFor(string(u)), u.former(by))
}

// Given returns the pool to create for the purpose, if any. Before Faultline, the name of a created pool was set as if the user had
// referred to it; such a pool still counts as created.
func (u PoolUse) Given(by By) (infrav1.IPPool, bool) {
	made := func(refs []string) bool { return len(refs) == 0 || len(refs) == 1 && refs[0] == u.former(by) }
	config, lb := by.Cluster.Spec.VMNetworkConfig, by.Cluster.Spec.LoadBalancerConfig
	switch {
	case u == LoadBalancerPool:
		given := lb.IPAMType == infrav1.POOL && lb.IPPool != (infrav1.IPPool{})
		return lb.IPPool, given && (lb.IPPoolRef == "" || made([]string{lb.IPPoolRef}))
	case config == nil || config.IPPool == nil || !made(config.PoolRefs()):
		return infrav1.IPPool{}, false
	default:
		return *config.IPPool, true
	}
}

// WantedPool returns the pool to create.
func WantedPool(by By, use PoolUse, given infrav1.IPPool) *lbv1.IPPool {
	network := given.VMNetwork
	if network != "" && !strings.Contains(network, "/") {
		network = by.Cluster.Spec.TargetNamespace + "/" + network
	}
	pool := &lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: by.NameFor(string(use)), Labels: map[string]string{useLabel: string(use)}},
		Spec: lbv1.IPPoolSpec{
			Description: "Made for cluster " + by.Cluster.Namespace + "/" + by.Name,
			Ranges: []lbv1.Range{{
				Subnet: given.Subnet, Gateway: given.Gateway, RangeStart: given.RangeStart, RangeEnd: given.RangeEnd,
			}},
			Selector: lbv1.Selector{Network: network},
		},
	}
	by.Mark(pool)
	return pool
}

// ChangePool updates an existing pool and reports whether it has changed.
func ChangePool(pool, wanted *lbv1.IPPool, by By) bool {
	changed := by.Mark(pool)
	if use := wanted.Labels[useLabel]; pool.Labels[useLabel] != use {
		pool.Labels[useLabel], changed = use, true
	}
	if !slices.Equal(pool.Spec.Ranges, wanted.Spec.Ranges) {
		pool.Spec.Ranges, changed = wanted.Spec.Ranges, true
	}
	return changed
}

// OwnPool returns the pool that was created for a cluster and a purpose, or one created for it before Faultline: that has the former
// name, the same addresses and no id. foreign is another pool that occupies the name.
func OwnPool(by By, use PoolUse, wanted *lbv1.IPPool, all []lbv1.IPPool) (own, foreign *lbv1.IPPool) {
	for i := range all {
		pool := &all[i]
		switch {
		case use.Owns(by, pool):
			return pool, nil
		case pool.Labels[infrav1.ClusterIDLabel] == "" && pool.Name == use.former(by) && slices.Equal(pool.Spec.Ranges, wanted.Spec.Ranges):
			own = pool
		case pool.Name == wanted.Name:
			foreign = pool
		}
	}
	if own != nil {
		return own, nil
	}
	return nil, foreign
}

// PoolsOf returns the pools that were created for a cluster.
func PoolsOf(by By, all []lbv1.IPPool) []*lbv1.IPPool {
	var own []*lbv1.IPPool
	for i := range all {
		if LoadBalancerPool.Owns(by, &all[i]) || MachinePool.Owns(by, &all[i]) {
			own = append(own, &all[i])
		}
	}
	return own
}

// PoolsForMachines returns the names of the pools for machines of the cluster, by its vmNetworkConfig or one that takes precedence: the
// referenced ones, else the one created for the cluster. None means that it has not been created yet.
func PoolsForMachines(cluster *infrav1.HarvesterCluster, config *infrav1.VMNetworkConfig, all []lbv1.IPPool) []string {
	if refs := config.PoolRefs(); len(refs) > 0 {
		return refs
	}
	for _, pool := range PoolsOf(By{Cluster: cluster}, all) {
		if pool.Labels[useLabel] == string(MachinePool) {
			return []string{pool.Name}
		}
	}
	return nil
}

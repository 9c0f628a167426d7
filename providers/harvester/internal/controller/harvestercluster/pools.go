// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/status"
)

// poolReport holds the condition, its reasons and the spec field of a pool.
type poolReport struct {
	condition, ready, refused, field string
}

func reportOf(use owned.PoolUse) poolReport {
	if use == owned.MachinePool {
		return poolReport{infrav1.VMIPPoolReadyCondition, infrav1.VMIPPoolReadyReason, infrav1.VMIPPoolCreationFailedReason, "spec.vmNetworkConfig.ipPool"}
	}
	return poolReport{
		infrav1.CustomIPPoolCreatedCondition, infrav1.CustomIPPoolCreatedSuccessfullyReason,
		infrav1.CustomPoolCreationInHarvesterFailedReason, "spec.loadBalancerConfig.ipPool",
	}
}

// reconcileMachinePools creates the pool of spec.vmNetworkConfig.ipPool, or checks that the referenced pools exist.
func (s *scope) reconcileMachinePools(ctx context.Context) (bool, error) {
	if given, wanted := owned.MachinePool.Given(s.by); wanted {
		pool, err := s.reconcilePool(ctx, owned.MachinePool, given)
		if pool != nil {
			status.True(s.cluster, infrav1.VMIPPoolCreatedByControllerCondition, infrav1.VMIPPoolCreatedByControllerReason)
		}
		return pool != nil, err
	}
	conditions.Delete(s.cluster, infrav1.VMIPPoolCreatedByControllerCondition)
	refs := s.poolRefs()
	if len(refs) == 0 {
		conditions.Delete(s.cluster, infrav1.VMIPPoolReadyCondition)
		return true, nil
	}
	all, err := s.allPools(ctx)
	if err != nil {
		return false, s.reportRejected(err, infrav1.VMIPPoolReadyCondition, infrav1.IPPoolNotFoundReason, "listing IPPools")
	}
	refs = slices.DeleteFunc(refs, func(name string) bool { return named(all, name) != nil })
	if len(refs) > 0 {
		s.conn.Await(requester(client.ObjectKeyFromObject(s.cluster)))
		status.False(s.cluster, infrav1.VMIPPoolReadyCondition, infrav1.IPPoolNotFoundReason, fmt.Sprintf(
			"IPPools that vmNetworkConfig of the cluster or of a failure domain names do not exist on Harvester: %s: create them, or name others",
			strings.Join(refs, ", ")))
		return false, nil
	}
	status.True(s.cluster, infrav1.VMIPPoolReadyCondition, infrav1.VMIPPoolReadyReason)
	return true, nil
}

// poolRefs lists the pools that the cluster and its failure domains reference.
func (s *scope) poolRefs() []string {
	var refs []string
	if config := s.cluster.Spec.VMNetworkConfig; config != nil {
		refs = append(refs, config.PoolRefs()...)
	}
	for i := range s.cluster.Spec.FailureDomains {
		if config := s.cluster.Spec.FailureDomains[i].VMNetworkConfig; config != nil {
			refs = append(refs, config.PoolRefs()...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// allPools lists all IPPools on the Harvester cluster, regardless of their owners.
func (s *scope) allPools(ctx context.Context) ([]lbv1.IPPool, error) {
	list := &lbv1.IPPoolList{}
	if err := s.conn.List(ctx, list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

func named(all []lbv1.IPPool, name string) *lbv1.IPPool {
	if i := slices.IndexFunc(all, func(p lbv1.IPPool) bool { return p.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// reconcilePool creates or updates a pool of the cluster. It returns nil while the cluster has no such pool.
func (s *scope) reconcilePool(ctx context.Context, use owned.PoolUse, given infrav1.IPPool) (*lbv1.IPPool, error) {
	wanted, report := owned.WantedPool(s.by, use, given), reportOf(use)
	all, err := s.allPools(ctx)
	if err != nil {
		return nil, s.reportRejected(err, report.condition, report.refused, "listing IPPools")
	}
	own, foreign := owned.OwnPool(s.by, use, wanted, all)
	if own == nil && foreign == nil {
		own, foreign, err = s.createPool(ctx, wanted)
	} else if own != nil {
		err = s.updatePool(ctx, own, wanted)
	}
	what := fmt.Sprintf("IPPool %s of %s", wanted.Name, report.field)
	switch {
	case err != nil:
		return nil, s.reportRejected(err, report.condition, report.refused, what)
	case foreign != nil:
		s.conn.Await(requester(client.ObjectKeyFromObject(s.cluster)))
		status.False(s.cluster, report.condition, infrav1.IPPoolNotOursReason, fmt.Sprintf("%s cannot be created, because an IPPool of that name belongs to another owner: delete it, "+
			"or name an existing IPPool in ipPoolRef", what))
		return nil, nil
	}
	status.True(s.cluster, report.condition, report.ready)
	return own, nil
}

// createPool creates the pool. If it already exists, which the cache may not show yet, it returns the existing one.
func (s *scope) createPool(ctx context.Context, wanted *lbv1.IPPool) (own, foreign *lbv1.IPPool, err error) {
	err = s.conn.Create(ctx, wanted)
	if err == nil {
		s.record(infrav1.CustomIPPoolCreatedSuccessfullyReason, "Created IPPool %s on Harvester", wanted.Name)
		return wanted, nil, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, nil, err
	}
	existing := &lbv1.IPPool{}
	if err := s.conn.Live().Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return nil, nil, err
	}
	if s.by.Has(existing) {
		return existing, nil, nil
	}
	return nil, existing, nil
}

// updatePool writes differing fields.
func (s *scope) updatePool(ctx context.Context, pool, wanted *lbv1.IPPool) error {
	before := pool.DeepCopy()
	if !owned.ChangePool(pool, wanted, s.by) {
		return nil
	}
	return s.patch.Tolerate(s.onHarvester.Write(ctx, s.conn, before, pool))
}

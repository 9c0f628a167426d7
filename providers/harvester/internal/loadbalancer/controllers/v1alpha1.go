// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/watch"
)

// pendingBackendsField of a load balancer is "true" while it has requested backends that have not been found.
const pendingBackendsField = "asks"

func hasPendingBackends(o client.Object) []string {
	if len(loadbalancer.RequestedServers(o.(*lbv1.LoadBalancer))) > 0 {
		return []string{"true"}
	}
	return nil
}

// instanceToLoadBalancers returns the load balancers that may have requested an instance.
func (r *LoadBalancerReconciler) instanceToLoadBalancers(ctx context.Context, o client.Object) []ctrl.Request {
	return watch.Requests[*lbv1.LoadBalancer](ctx, r.Client, &lbv1.LoadBalancerList{}, nil,
		client.InNamespace(o.GetNamespace()), client.MatchingFields{pendingBackendsField: "true"})
}

// complete resolves what v1alpha1 expresses differently and stores it before any other change, so that the load balancer keeps its
// address, or releases it to the right pool.
func (s *scope) complete(ctx context.Context) error {
	pools, machines := &lbv1.IPPoolList{}, &kubevirtv1.VirtualMachineInstanceList{}
	if loadbalancer.NeedsPool(s.lb) {
		if err := s.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing pools: %w", err)
		}
	}
	if len(loadbalancer.RequestedServers(s.lb)) > 0 {
		if err := s.Client.List(ctx, machines, client.InNamespace(s.lb.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing machines: %w", err)
		}
	}
	if loadbalancer.Complete(s.lb, pools.Items, machines.Items) {
		return s.store(ctx)
	}
	return nil
}

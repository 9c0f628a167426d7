// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// releaseLeaked releases the addresses of LoadBalancers that do not exist, and returns those that remain allocated, each with its holder.
// Harvester allocates an address before it adds its finalizer to the LoadBalancer and records the address there, so it never releases
// the address of a LoadBalancer that is deleted in between. IPPools have no status subresource, and Harvester accepts the change: what the
// status of a pool records is all that its allocator knows. The pool was read before its holders, so a pool that has changed since then
// causes a conflict.
func (s *scope) releaseLeaked(ctx context.Context, pool *lbv1.IPPool) (held []string, _ error) {
	before := pool.DeepCopy()
	var released []string
	for address, holder := range before.Status.Allocated {
		leaked, err := s.isLeaked(ctx, pool, holder)
		switch {
		case err != nil:
			return nil, err
		case leaked:
			delete(pool.Status.Allocated, address)
			pool.Status.Available++
			released = append(released, address+": "+holder)
		default:
			held = append(held, address+": "+holder)
		}
	}
	slices.Sort(held)
	if len(released) == 0 {
		return held, nil
	}
	if err := s.conn.Patch(ctx, pool, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, err
	}
	slices.Sort(released)
	s.record("AddressReleased", "Released addresses of IPPool %s whose LoadBalancers do not exist: %s", pool.Name, strings.Join(released, ", "))
	return held, nil
}

// isLeaked reports whether the holder can only be a LoadBalancer that does not exist. A Service can still announce the address. Machines
// of earlier releases and upstream hold addresses under names like those of LoadBalancers, but not in pools for load balancers unless a
// user named such a pool. The cluster's account may be restricted to the target namespace, so holders elsewhere are unknown.
func (s *scope) isLeaked(ctx context.Context, pool *lbv1.IPPool, holder string) (bool, error) {
	namespace, name, _ := strings.Cut(holder, "/")
	if !owned.LoadBalancerPool.Owns(s.by, pool) || namespace != s.cluster.Spec.TargetNamespace || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return false, nil
	}
	for _, kind := range []client.Object{&lbv1.LoadBalancer{}, &corev1.Service{}, &kubevirtv1.VirtualMachine{}} {
		found, err := reconcile.Find(ctx, s.conn.Live(), client.ObjectKey{Namespace: namespace, Name: name}, kind)
		if err != nil || found != nil {
			return false, err
		}
	}
	return true, nil
}

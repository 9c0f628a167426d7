// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// finalize releases what the load balancer has: its Service first, and its address only after the Service is deleted, so that no other
// holder gets an address that is still announced.
func (s *scope) finalize(ctx context.Context) error {
	s.Health.Remove(s.key())
	if !controllerutil.ContainsFinalizer(s.lb, lbv1.LoadBalancerFinalizer) {
		return nil
	}
	gone, err := s.deleteService(ctx)
	if err != nil || !gone {
		return err
	}
	before, err := s.slices(ctx)
	if err != nil {
		return err
	}
	if _, err := s.writeSlices(ctx, before, nil); err != nil {
		return err
	}
	if there, err := s.isStored(ctx); err != nil || !there {
		return err
	}
	pools, err := s.heldPools(ctx)
	if err != nil {
		return err
	}
	if err := s.release(ctx, pools); err != nil {
		return err
	}
	s.confirmed.Delete(s.key())
	controllerutil.RemoveFinalizer(s.lb, lbv1.LoadBalancerFinalizer)
	return nil
}

// heldPools returns the pools in which the load balancer may hold an address, regardless of its status and annotations, which any client
// can write. Addresses in blocks of a pool are covered only by the confirmed address.
func (s *scope) heldPools(ctx context.Context) ([]string, error) {
	s.restore()
	names := possiblePools(s.lb)
	pools := &lbv1.IPPoolList{}
	if err := s.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil { // read-only, and pools can be large
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	for i := range pools.Items {
		for _, holder := range pools.Items[i].Status.Allocated {
			if holder == id(s.lb) {
				names = append(names, pools.Items[i].Name)
				break
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// deleteService deletes the Service and reports whether it no longer exists. Its deletion enqueues the load balancer again.
func (s *scope) deleteService(ctx context.Context) (bool, error) {
	service, err := reconcile.Find(ctx, s.Client, s.key(), &corev1.Service{})
	if err == nil && service == nil && isForVMs(s.lb) {
		service, err = reconcile.Find(ctx, s.Live, s.key(), &corev1.Service{}) // the cache may not have it yet
	}
	if err != nil {
		return false, err
	}
	if service == nil || !belongs(s.lb, service) {
		return true, nil
	}
	s.ready(problem{reasonDeleting, fmt.Sprintf("waiting for the deletion of Service %s with finalizers %v: the address is released afterwards",
		s.key(), service.Finalizers)})
	if service.DeletionTimestamp.IsZero() {
		err := s.Client.Delete(ctx, service, client.Preconditions{UID: &service.UID})
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("deleting Service: %w", err)
		}
	}
	return false, nil
}

// isStored reports whether the load balancer is the stored one: a new one of the same name may already have an address, under the same
// id.
func (s *scope) isStored(ctx context.Context) (bool, error) {
	stored, err := reconcile.Find(ctx, s.Live, s.key(), &lbv1.LoadBalancer{})
	return stored != nil && stored.UID == s.lb.UID, err
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation is what the webhooks refuse, for those who want to know it before they ask one.
package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	lbwebhook "github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/webhook"
	"github.com/faultline-io/faultline/providers/harvester/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// Written has the rules of creating Harvester objects of every kind, as they are written in v1alpha1 or v1beta1.
func Written() (rules.Written, error) { return webhook.Written() }

// WrittenLoadBalancers has the rules of creating LoadBalancers and IPPools, as they are written in v1alpha1 or v1beta1. They look at the
// object alone.
func WrittenLoadBalancers() (rules.Written, error) { return lbwebhook.Written() }

// PoolObstacles are why a pool that is stored gives no address beside others that were there before. It may be one of them.
func PoolObstacles(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	return rules.Added(ippools.Validate(pool.Spec), ippools.Obstacles(pool, others))
}

// PoolUnclear is why it is not certain who has addresses of a pool that is stored beside others that were there before. It gives them all
// the same.
func PoolUnclear(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	return rules.Added(ippools.Validate(pool.Spec), ippools.Unclear(pool, others))
}

// IsGlobalPool reports whether a pool is for all.
func IsGlobalPool(pool *lbv1.IPPool) bool { return ippools.IsGlobal(pool) }

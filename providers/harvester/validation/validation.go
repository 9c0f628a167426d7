// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation exposes the validation rules of the webhooks to programs that validate objects without a webhook.
package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	lbwebhook "github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/webhook"
	"github.com/faultline-io/faultline/providers/harvester/internal/webhook"
	"github.com/faultline-io/faultline/shared/rules"
)

// Written returns the create validation of all Harvester kinds, for objects written as v1alpha1 or v1beta1.
func Written() (rules.Validators, error) { return webhook.Written() }

// WrittenLoadBalancers returns the create validation of LoadBalancers and IPPools, for objects written as v1alpha1 or v1beta1. It
// validates each object by itself.
func WrittenLoadBalancers() (rules.Validators, error) { return lbwebhook.Written() }

// PoolObstacles returns why a stored pool allocates no address given others, the pools that existed before it. others may contain the
// pool.
func PoolObstacles(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	return rules.Added(ippools.Validate(pool.Spec), ippools.Obstacles(pool, others))
}

// PoolUnclear returns why it is ambiguous which load balancers use a stored pool given others, the pools that existed before it. The pool
// allocates addresses nevertheless.
func PoolUnclear(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	return rules.Added(ippools.Validate(pool.Spec), ippools.Unclear(pool, others))
}

// IsGlobalPool reports whether every load balancer may use the pool.
func IsGlobalPool(pool *lbv1.IPPool) bool { return ippools.IsGlobal(pool) }

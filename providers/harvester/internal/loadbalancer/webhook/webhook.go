// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults, validates and converts IPPools and LoadBalancers.
//
// The rules are pure functions that the controllers call, too, since concurrent writes are not validated against each other here. The
// rules of pools are in package ippools, those of load balancers in package loadbalancer. Each error names the field and the fix. Updates
// are rejected only for errors that the object did not have before, so that a stored object can always be updated and deleted.
//
// Other objects are read from the API server and not from a cache, so that new objects are found. They are read only if a field that the
// rule depends on has changed, which is not the case for allocations.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/rules"
)

// SetupWithManager registers the webhooks of all kinds. The manager's scheme must have both versions.
func SetupWithManager(mgr ctrl.Manager) error {
	pool, lb := ipPool{Reader: mgr.GetAPIReader()}, loadBalancer{Reader: mgr.GetAPIReader()}
	defaulting := admission.WithDefaulter(mgr.GetScheme(), rules.Defaulter[*lbv1.LoadBalancer](lb.setDefaults))
	defaulting.Handler = lists{defaulting.Handler}
	mgr.GetWebhookServer().Register("/mutate-loadbalancer-harvesterhci-io-v1beta1-loadbalancer", defaulting)
	return rules.Setup(mgr,
		rules.Webhooks[*lbv1.IPPool]{Default: pool.setDefaults, Create: pool.create, Update: pool.update, Delete: pool.delete},
		rules.Webhooks[*lbv1.IPPoolBlock]{Delete: deleteBlock(mgr.GetAPIReader())},
		rules.Webhooks[*lbv1.LoadBalancer]{Converter: loadbalancer.Converter(), Create: lb.create, Update: lb.update},
	)
}

// Written returns the create validation of both kinds that depends only on the object, for objects in any version.
func Written() (rules.Validators, error) {
	return rules.NewValidators(func(scheme *runtime.Scheme) error {
		return errors.Join(lbv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}, rules.Webhooks[*lbv1.IPPool]{Validate: func(pool *lbv1.IPPool) field.ErrorList { return ippools.Validate(pool.Spec) }},
		rules.Webhooks[*lbv1.LoadBalancer]{Converter: loadbalancer.Converter(), Validate: func(lb *lbv1.LoadBalancer) field.ErrorList {
			setHealthCheckDefaults(lb.Spec.HealthCheck)
			return loadbalancer.Validate(lb.Spec)
		}})
}

// stored returns the object before the admission request in the context, or nil.
func stored[T any](ctx context.Context) (*T, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the admission request: %w", err)
	}
	if len(request.OldObject.Raw) == 0 {
		return nil, nil
	}
	before := new(T)
	if err := json.Unmarshal(request.OldObject.Raw, before); err != nil {
		return nil, fmt.Errorf("reading the object before the request: %w", err)
	}
	return before, nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates IPPools and LoadBalancers when they are written, and has them converted between their versions.
//
// Rules are pure functions that the controllers call too, as two writers at a time do not see each other here: those of pools are in
// package ipam, those of load balancers in package loadbalancer. Each error names the field and the way out. On update only errors that
// the object did not have before count, so that an object which was let in once can always be updated and deleted.
//
// What a rule needs of other objects is read from the API server, not from a cache: what was made a moment ago counts. It is read only
// when what the rule is about has changed, which it does not when addresses are given.
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

// SetupWithManager registers the webhooks of all kinds. The manager's scheme has both versions.
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

// Written has the rules of creating objects of both kinds that look at nothing else, for those who have them as they are written in any
// version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(lbv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}, rules.Webhooks[*lbv1.IPPool]{Validate: func(pool *lbv1.IPPool) field.ErrorList { return ippools.Validate(pool.Spec) }},
		rules.Webhooks[*lbv1.LoadBalancer]{Converter: loadbalancer.Converter(), Validate: func(lb *lbv1.LoadBalancer) field.ErrorList {
			completeHealthCheck(lb.Spec.HealthCheck)
			return loadbalancer.Validate(lb.Spec)
		}})
}

// stored is the object before the request that the context is of; nil when there was none.
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

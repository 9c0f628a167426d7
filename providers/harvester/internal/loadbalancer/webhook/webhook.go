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
	return rules.Setup(mgr,
		rules.Kind{Name: "IPPool", Webhooks: &IPPool{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "IPPoolBlock", Webhooks: &IPPoolBlock{Reader: mgr.GetAPIReader()}},
		rules.Kind{Name: "LoadBalancer", Webhooks: &LoadBalancer{Reader: mgr.GetAPIReader()}},
	)
}

// Written has the rules of creating objects of both kinds that look at nothing else, for those who have them as they are written in any
// version.
func Written() (rules.Written, error) {
	return rules.NewWritten(func(scheme *runtime.Scheme) error {
		return errors.Join(lbv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
	}, map[string]rules.Creation{
		"IPPool": rules.Create(nil, func(pool *lbv1.IPPool) field.ErrorList { return ippools.Validate(pool.Spec) }),
		"LoadBalancer": rules.Create(loadbalancer.Converter(), func(lb *lbv1.LoadBalancer) field.ErrorList {
			completeHealthCheck(lb.Spec.HealthCheck)
			return loadbalancer.Validate(lb.Spec)
		}),
	})
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	return rules.Refuse(lbv1.GroupVersion.WithKind(kind), name, errs)
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

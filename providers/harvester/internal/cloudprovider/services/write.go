// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// onHarvester writes LoadBalancers. The account has the right to update them, and not to patch them.
type onHarvester struct{ Harvester }

// Patch updates the whole LoadBalancer, as it was read but for what is changed.
func (h onHarvester) Patch(ctx context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return h.Update(ctx, o)
}

// Scheme has the kind LoadBalancer.
func (h onHarvester) Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = lbv1.AddToScheme(scheme) // It adds types to an empty one.
	return scheme
}

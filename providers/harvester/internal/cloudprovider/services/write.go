// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// onHarvester writes the desired LoadBalancer. The account may update LoadBalancers, but not patch them.
type onHarvester struct {
	Harvester
	wanted *lbv1.LoadBalancer
}

// Patch updates the whole LoadBalancer and sets o to the response. It decodes into an unstructured object, so that fields missing in the
// response are cleared.
func (h onHarvester) Patch(ctx context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(h.wanted)
	if err != nil {
		return fmt.Errorf("writing LoadBalancer %s: %w", h.wanted.Name, err)
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetGroupVersionKind(lbv1.GroupVersion.WithKind("LoadBalancer"))
	if err := h.Update(ctx, sent); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(sent.Object, o)
}

// Scheme returns a scheme with the kind LoadBalancer.
func (h onHarvester) Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = lbv1.AddToScheme(scheme) // cannot fail for an empty scheme
	return scheme
}

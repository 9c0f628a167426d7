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

// onHarvester writes a LoadBalancer as it is wanted. The account has the right to update them, and not to patch them.
type onHarvester struct {
	Harvester
	wanted *lbv1.LoadBalancer
}

// Patch updates the whole LoadBalancer, and sets o to the answer, which leaves nothing there that it does not have: it is decoded into an object
// without a type.
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

// Scheme has the kind LoadBalancer.
func (h onHarvester) Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	_ = lbv1.AddToScheme(scheme) // It adds types to an empty one.
	return scheme
}

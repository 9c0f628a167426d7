// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
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

// inGuest writes Services of the guest cluster.
type inGuest struct{ kubernetes.Interface }

// Patch changes a Service, which has then what the API server has made of it.
func (g inGuest) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	service, ok := o.(*corev1.Service)
	if !ok {
		return fmt.Errorf("%T is no Service", o)
	}
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	is, err := g.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, p.Type(), data, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	is.DeepCopyInto(service)
	return nil
}

// Scheme has the kind Service.
func (g inGuest) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

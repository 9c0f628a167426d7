// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// hardwareFinalizer blocks the deletion of the HardwareData while its host exists.
const hardwareFinalizer = bmov1alpha1.BareMetalHostFinalizer + "/hardwareData"

// HardwareData reads and writes HardwareData.
type HardwareData struct {
	client client.Client
	// live reads from the API server.
	live client.Reader
}

// NewHardwareData returns a HardwareData that writes with c. Objects that may not be in the cache of c are read from live.
func NewHardwareData(c client.Client, live client.Reader) *HardwareData {
	return &HardwareData{client: c, live: live}
}

// Of returns the hardware details in the host's HardwareData, or nil.
func (d *HardwareData) Of(ctx context.Context, host *bmov1alpha1.BareMetalHost) (*bmov1alpha1.HardwareDetails, error) {
	data := &bmov1alpha1.HardwareData{}
	if err := d.client.Get(ctx, client.ObjectKeyFromObject(host), data); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return data.Spec.HardwareDetails, nil
}

// Publish creates or replaces the host's HardwareData.
func (d *HardwareData) Publish(ctx context.Context, host *bmov1alpha1.BareMetalHost, details *bmov1alpha1.HardwareDetails) error {
	data := &bmov1alpha1.HardwareData{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace, Name: host.Name, Finalizers: []string{hardwareFinalizer},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(host, bmov1alpha1.GroupVersion.WithKind("BareMetalHost")),
			},
		},
		Spec: bmov1alpha1.HardwareDataSpec{HardwareDetails: details},
	}
	err := d.client.Create(ctx, data)
	if !apierrors.IsAlreadyExists(err) {
		return hardwareDataError(err, "creating", host)
	}
	existing := &bmov1alpha1.HardwareData{}
	if err := d.live.Get(ctx, client.ObjectKeyFromObject(host), existing); err != nil {
		return hardwareDataError(err, "reading", host)
	}
	before := existing.DeepCopy()
	existing.Finalizers, existing.OwnerReferences, existing.Spec = data.Finalizers, data.OwnerReferences, data.Spec
	return hardwareDataError(d.client.Patch(ctx, existing, client.MergeFrom(before)), "writing", host)
}

// Retract deletes the host's HardwareData without relying on garbage collection.
func (d *HardwareData) Retract(ctx context.Context, host *bmov1alpha1.BareMetalHost) error {
	data := &bmov1alpha1.HardwareData{}
	if err := d.live.Get(ctx, client.ObjectKeyFromObject(host), data); err != nil {
		return hardwareDataError(client.IgnoreNotFound(err), "reading", host)
	}
	before := data.DeepCopy()
	data.Finalizers = nil
	if err := d.client.Patch(ctx, data, client.MergeFrom(before)); err != nil {
		return hardwareDataError(client.IgnoreNotFound(err), "releasing", host)
	}
	return hardwareDataError(client.IgnoreNotFound(d.client.Delete(ctx, data)), "deleting", host)
}

func hardwareDataError(err error, doing string, host *bmov1alpha1.BareMetalHost) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s HardwareData %s: %w", doing, host.Name, err)
}

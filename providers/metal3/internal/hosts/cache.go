// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheOptions adds to the options of a manager's cache that of BareMetalHosts only what this provider reads is kept.
func CacheOptions(options *cache.Options) {
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[&bmov1alpha1.BareMetalHost{}] = cache.ByObject{Transform: strip}
}

// strip drops most of what inspection found, which is most of a BareMetalHost.
func strip(o any) (any, error) {
	host, ok := o.(*bmov1alpha1.BareMetalHost)
	if !ok {
		return o, nil // a tombstone
	}
	host.ManagedFields = nil
	delete(host.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	host.Status.OperationHistory = bmov1alpha1.OperationHistory{}
	host.Status.Conditions = nil
	if hardware := host.Status.HardwareDetails; hardware != nil {
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{NIC: hardware.NIC, Hostname: hardware.Hostname}
	}
	return host, nil
}

// List observes all hosts of a namespace. The reader is to be a cache.
func List(ctx context.Context, reader client.Reader, namespace string) ([]Host, error) {
	list := &bmov1alpha1.BareMetalHostList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing BareMetalHosts: %w", err)
	}
	hosts := make([]Host, len(list.Items))
	for i := range list.Items {
		hosts[i] = Observe(&list.Items[i])
	}
	return hosts, nil
}

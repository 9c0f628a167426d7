// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheOptions adds a transform to the cache options that keeps only the fields of BareMetalHosts that this provider reads.
func CacheOptions(options *cache.Options) {
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	options.ByObject[&bmov1alpha1.BareMetalHost{}] = cache.ByObject{Transform: strip}
}

// strip keeps the fields of a BareMetalHost that are needed to choose, describe, configure and render for a host. Patches cannot change the
// dropped fields: they are missing both before and after.
func strip(o any) (any, error) {
	host, ok := o.(*bmov1alpha1.BareMetalHost)
	if !ok {
		return o, nil // a DeletedFinalStateUnknown
	}
	disk := rootDisk(host)
	host.ManagedFields = nil
	if _, applied := host.Annotations[corev1.LastAppliedConfigAnnotation]; applied {
		// The manager shares the annotations of cached objects, and after a relist the cache transforms objects twice.
		host.Annotations = maps.Clone(host.Annotations)
		delete(host.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	spec, known := &host.Spec, host.Status
	spec.RAID, spec.RootDeviceHints, spec.Taints, spec.Description = nil, nil, nil, ""
	spec.Firmware = nil //nolint:staticcheck // No driver uses it any more, but hosts may still have it.
	host.Status = bmov1alpha1.BareMetalHostStatus{
		OperationalStatus: known.OperationalStatus, ErrorMessage: known.ErrorMessage, PoweredOn: known.PoweredOn,
		Provisioning: bmov1alpha1.ProvisionStatus{State: known.Provisioning.State},
	}
	if manageable := meta.FindStatusCondition(known.Conditions, bmov1alpha1.ManageableCondition); manageable != nil {
		host.Status.Conditions = []metav1.Condition{{Type: manageable.Type, Status: manageable.Status, Reason: manageable.Reason}}
	}
	if hardware := known.HardwareDetails; hardware != nil {
		host.Status.HardwareDetails = &bmov1alpha1.HardwareDetails{
			Hostname: hardware.Hostname, RAMMebibytes: hardware.RAMMebibytes,
			CPU: bmov1alpha1.CPU{Arch: hardware.CPU.Arch, Count: hardware.CPU.Count},
		}
		if disk > 0 {
			host.Status.HardwareDetails.Storage = []bmov1alpha1.Storage{{SizeBytes: disk}}
		}
		for _, nic := range hardware.NIC {
			host.Status.HardwareDetails.NIC = append(host.Status.HardwareDetails.NIC, bmov1alpha1.NIC{Name: nic.Name, MAC: nic.MAC, IP: nic.IP})
		}
	}
	return host, nil
}

// List returns all hosts of a namespace. The reader must be a cache.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"maps"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Hardware is the hardware of a host, or what each of several hosts has.
type Hardware struct {
	CPUs, MemoryMiB int
	// Disk is the size of the disk for the operating system; 0 if it is not known.
	Disk bmov1alpha1.Capacity
	// Architecture is "" if it is not known, or differs between the hosts.
	Architecture faultlinev1.Architecture
}

// LeastHardware returns what each host of a namespace has that the selector matches, in use or not; nil if none was inspected. It
// takes the least of each resource, so that what fits it runs on any of the hosts. The reader must be a cache.
func LeastHardware(ctx context.Context, reader client.Reader, namespace string, selector labels.Selector) (*Hardware, error) {
	list := &bmov1alpha1.BareMetalHostList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing BareMetalHosts: %w", err)
	}
	var least *Hardware
	for i := range list.Items {
		switch found := hardware(&list.Items[i]); {
		case found == nil:
		case least == nil:
			least = found
		default:
			least.limit(*found)
		}
	}
	return least, nil
}

// limit lowers each resource to that of the other host.
func (h *Hardware) limit(other Hardware) {
	h.CPUs, h.MemoryMiB, h.Disk = min(h.CPUs, other.CPUs), min(h.MemoryMiB, other.MemoryMiB), min(h.Disk, other.Disk)
	if h.Architecture != other.Architecture {
		h.Architecture = ""
	}
}

// HardwareChanged reports whether a change of a host may change LeastHardware.
func HardwareChanged(before, after *bmov1alpha1.BareMetalHost) bool {
	a, b := hardware(before), hardware(after)
	return (a == nil) != (b == nil) || a != nil && (*a != *b || !maps.Equal(before.Labels, after.Labels))
}

// hardware returns the hardware of a host; nil if it was not inspected, or no machine will use the host.
func hardware(host *bmov1alpha1.BareMetalHost) *Hardware {
	details := host.Status.HardwareDetails
	if details == nil || details.CPU.Count <= 0 || details.RAMMebibytes <= 0 || !host.DeletionTimestamp.IsZero() || external(host) {
		return nil
	}
	return &Hardware{
		CPUs: details.CPU.Count, MemoryMiB: details.RAMMebibytes, Disk: rootDisk(host), Architecture: architecture(details.CPU.Arch),
	}
}

// smallestRootDisk is the size that a disk must have for Ironic to install an operating system on it.
const smallestRootDisk = 4 * bmov1alpha1.GibiByte

// rootDisk returns the size of the disk on which Ironic installs the operating system: the smallest that is large enough. It returns 0
// for a host with rootDeviceHints, which may select any disk.
func rootDisk(host *bmov1alpha1.BareMetalHost) bmov1alpha1.Capacity {
	if host.Spec.RootDeviceHints != nil || host.Status.HardwareDetails == nil {
		return 0
	}
	var smallest bmov1alpha1.Capacity
	for i := range host.Status.HardwareDetails.Storage {
		if size := host.Status.HardwareDetails.Storage[i].SizeBytes; size >= smallestRootDisk && (smallest == 0 || size < smallest) {
			smallest = size
		}
	}
	return smallest
}

// architecture returns Kubernetes' name of an architecture, from Linux's; "" if it is not known.
func architecture(name string) faultlinev1.Architecture {
	switch name {
	case "x86_64":
		return faultlinev1.ArchitectureAMD64
	case "aarch64":
		return faultlinev1.ArchitectureARM64
	case "s390x":
		return faultlinev1.ArchitectureS390X
	case "ppc64le":
		return faultlinev1.ArchitecturePPC64LE
	default:
		return ""
	}
}

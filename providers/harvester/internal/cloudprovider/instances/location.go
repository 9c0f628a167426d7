// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// location is the zone and the region of a virtual machine; "" if unknown.
type location struct {
	zone, region string
	// certain is set if "" means that the host has no zone or region.
	certain bool
}

// locate returns the zone and region of the host. If the account may not read hosts, or the host has no labels, it returns those in the
// annotations of the instance, which Harvester sets only on virtual machines of its node driver.
func (i *Instances) locate(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (location, error) {
	noted := locationIn(vmi.Annotations)
	if vmi.Status.NodeName == "" {
		return noted, nil
	}
	host, err := i.harvester.Host(ctx, vmi.Status.NodeName)
	switch {
	case apierrors.IsForbidden(err):
		return noted, nil
	case err != nil:
		return location{}, err
	case host == nil:
		return noted, nil
	}
	at := locationIn(host.Labels)
	if at == (location{}) {
		at = noted
	}
	at.certain = true
	return at, nil
}

func locationIn(values map[string]string) location {
	return location{zone: values[corev1.LabelTopologyZone], region: values[corev1.LabelTopologyRegion]}
}

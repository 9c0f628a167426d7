// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// place is where a virtual machine runs; its parts are "" where Harvester does not say.
type place struct {
	zone, region string
	// certain says that what is "" is nowhere, as the host itself says.
	certain bool
}

// place is that of the host. Where the account may not see hosts, or the host has no labels, it is what Harvester has noted on the
// instance: it does that for virtual machines of its node driver only.
func (i *Instances) place(ctx context.Context, vmi *kubevirtv1.VirtualMachineInstance) (place, error) {
	noted := placeIn(vmi.Annotations)
	if vmi.Status.NodeName == "" {
		return noted, nil
	}
	host, err := i.harvester.Host(ctx, vmi.Status.NodeName)
	switch {
	case apierrors.IsForbidden(err):
		return noted, nil
	case err != nil:
		return place{}, err
	case host == nil:
		return noted, nil
	}
	at := placeIn(host.Labels)
	if at == (place{}) {
		at = noted
	}
	at.certain = true
	return at, nil
}

func placeIn(values map[string]string) place {
	return place{zone: values[corev1.LabelTopologyZone], region: values[corev1.LabelTopologyRegion]}
}

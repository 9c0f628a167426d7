// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/lifecycle"
)

// Placement describes a host and its consumer.
type Placement struct {
	Host, Domain string
	// Consumer is the name of the host's consumer, or ""; Kind is its kind.
	Consumer, Kind string
	State          bmov1alpha1.ProvisioningState
	// PoweredOn is the power state last read by the operator; NoPower is true if the operator can no longer control the power.
	PoweredOn, NoPower bool
	// Error is the error message of the host; "" if it has none.
	Error string
}

// Placements returns the hosts of a namespace, or of all namespaces if it is "", sorted by name.
func Placements(ctx context.Context, c client.Reader, namespace string) ([]Placement, error) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	if err := c.List(ctx, hosts, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing hosts: %w", err)
	}
	out := make([]Placement, 0, len(hosts.Items))
	for i := range hosts.Items {
		out = append(out, placementOf(&hosts.Items[i]))
	}
	slices.SortFunc(out, func(a, b Placement) int { return strings.Compare(a.Host, b.Host) })
	return out, nil
}

// WithoutPower reports whether the operator can no longer control the power of a host's machine. The host's status keeps the
// values last read.
func WithoutPower(host *bmov1alpha1.BareMetalHost) bool { return lifecycle.PowerFailure(host) }

func placementOf(host *bmov1alpha1.BareMetalHost) Placement {
	p := Placement{
		Host: host.Name, Domain: host.Labels[DomainLabel],
		State: host.Status.Provisioning.State, PoweredOn: host.Status.PoweredOn, NoPower: WithoutPower(host), Error: host.Status.ErrorMessage,
	}
	if ref := host.Spec.ConsumerRef; ref != nil {
		p.Consumer, p.Kind = ref.Name, ref.Kind
	}
	return p
}

// ByDomain returns the number of hosts with a consumer, by failure domain.
func ByDomain(placements []Placement) map[string]int {
	out := map[string]int{}
	for _, p := range placements {
		if p.Consumer != "" {
			out[p.Domain]++
		}
	}
	return out
}

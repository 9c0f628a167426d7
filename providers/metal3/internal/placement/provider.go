// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/provider"
)

// Metal3 reads BareMetalHosts from a cache.
type Metal3 struct {
	Client client.Reader
}

var _ provider.Provider = Metal3{}

// Name returns the provider name used by clusterctl.
func (Metal3) Name() string { return "metal3" }

// NewCluster returns an empty Metal3Cluster.
func (Metal3) NewCluster() provider.Cluster { return &infrav1.Metal3Cluster{} }

// NewMachine returns an empty Metal3Machine.
func (Metal3) NewMachine() client.Object { return &infrav1.Metal3Machine{} }

// Domains observes the hosts of each failure domain that the cluster lists.
func (m Metal3) Domains(ctx context.Context, cluster provider.Cluster) ([]distribution.DomainObservation, error) {
	metal3, ok := cluster.(*infrav1.Metal3Cluster)
	if !ok {
		return nil, fmt.Errorf("observing failure domains: %T is not a Metal3Cluster", cluster)
	}
	seen, _, err := m.Observe(ctx, metal3)
	return seen, err
}

// Observe is Domains for a Metal3Cluster. It also returns the observed hosts: all hosts of the namespace.
func (m Metal3) Observe(ctx context.Context, cluster *infrav1.Metal3Cluster) ([]distribution.DomainObservation, []hosts.Host, error) {
	all, err := hosts.List(ctx, m.Client, cluster.Namespace)
	if err != nil {
		return nil, nil, err
	}
	return Observations(cluster, all), all, nil
}

// Location counts a machine as existing as soon as it may have claimed a host: the annotation is stored before the claim.
func (Metal3) Location(machine client.Object) provider.Location {
	metal3, ok := machine.(*infrav1.Metal3Machine)
	if !ok {
		return provider.Location{}
	}
	return provider.Location{
		Domain: metal3.Status.FailureDomain,
		Exists: metal3.Annotations[infrav1.HostAnnotation] != "" || metal3.Spec.ProviderID != "",
	}
}

// Capabilities returns the optional capabilities, which depend on the hostSelector of machines.
func (m Metal3) Capabilities() provider.Capabilities {
	return provider.Capabilities{Unsuited: m.Unsuited, Requirements: m.Requirements, Capacity: m.Capacity}
}

// Unsuited returns why no free host of the failure domain matches the machine's hostSelector.
func (m Metal3) Unsuited(ctx context.Context, machine client.Object, domain string) (string, error) {
	metal3, ok := machine.(*infrav1.Metal3Machine)
	if !ok {
		return "", fmt.Errorf("choosing a host: %T is not a Metal3Machine", machine)
	}
	selector, err := hosts.Selector(metal3.Spec.HostSelector)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // no host suits a selector that is wrong; the user reads it in the condition
	}
	all, err := hosts.List(ctx, m.Client, metal3.Namespace)
	if err != nil {
		return "", err
	}
	order, why := hosts.Choose(all, hosts.Requirements{Domain: domain, Selector: selector})
	if len(order) > 0 {
		return "", nil
	}
	return fmt.Sprintf("%s: free or label a host there, or cordon it", why), nil
}

// Requirements returns the machine's hostSelector. An invalid selector matches no host; the machine's own condition reports it.
func (Metal3) Requirements(machine client.Object) string {
	metal3, ok := machine.(*infrav1.Metal3Machine)
	if !ok {
		return ""
	}
	selector, err := hosts.Selector(metal3.Spec.HostSelector)
	if err != nil || selector == nil {
		return ""
	}
	return selector.String()
}

// Capacity returns the number of free hosts that match the machine's hostSelector, by failure domain.
func (m Metal3) Capacity(ctx context.Context, machine client.Object) (map[string]int, error) {
	metal3, ok := machine.(*infrav1.Metal3Machine)
	if !ok {
		return nil, fmt.Errorf("counting hosts: %T is not a Metal3Machine", machine)
	}
	selector, err := hosts.Selector(metal3.Spec.HostSelector)
	if err != nil {
		return nil, err
	}
	all, err := hosts.List(ctx, m.Client, metal3.Namespace)
	if err != nil {
		return nil, err
	}
	order, _ := hosts.Choose(all, hosts.Requirements{Selector: selector})
	room := map[string]int{}
	for i := range order {
		room[order[i].Domain]++
	}
	return room, nil
}

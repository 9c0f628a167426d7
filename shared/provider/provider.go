// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider defines the interface between Faultline's shared controllers and an infrastructure. The shared controllers use
// an infrastructure only through this package; each provider implements it once.
package provider

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/status"
)

// Cluster is an infrastructure cluster: an object with conditions and the fields that the kinds of all providers have.
type Cluster interface {
	status.Object
	// Distribution returns pointers to spec.distribution and status.distribution.
	Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus)
	// FailureDomains returns a pointer to status.failureDomains, which Cluster API reads.
	FailureDomains() *[]clusterv1.FailureDomain
}

// Provider is implemented once by each infrastructure provider. Implementations keep no state between calls.
type Provider interface {
	// Name returns the name that clusterctl uses for the provider, such as vsphere.
	Name() string
	// NewCluster and NewMachine return empty objects of the provider's kinds, used to read, list and watch.
	NewCluster() Cluster
	NewMachine() client.Object
	// Domains returns the current observation of each failure domain of the cluster: its health, its capacity, and whether it is
	// meant for control planes. It returns a domain that could not be checked as Unknown and never leaves it out. It returns an
	// error only if the state of all domains is unknown.
	Domains(ctx context.Context, cluster Cluster) ([]distribution.DomainObservation, error)
	// Location returns the placement of an infrastructure machine according to its status.
	Location(machine client.Object) Location
	// Capabilities returns the optional functions of the provider. Return the zero value if every machine can use every host of a
	// domain.
	Capabilities() Capabilities
}

// Capabilities holds functions that only some providers implement. A nil function means that the provider does not support it.
// All of them read from a cache.
type Capabilities struct {
	// Unsuited returns why none of the capacity that is currently available in the domain suits a machine created from the same
	// template as the infrastructure machine, and "" if some does. Set it if machines have requirements of their own, such as a
	// host selector.
	Unsuited func(ctx context.Context, machine client.Object, domain string) (why string, err error)
	// Requirements returns a key for what an infrastructure machine requires of a host: machines with the same key suit the same
	// hosts. It returns "" for a machine that suits every host. Set it if Capacity is set.
	Requirements func(machine client.Object) string
	// Capacity returns how many more machines with the requirements of this one each domain can take now. A domain that is not in
	// the map takes none. If it is nil, controllers plan with the whole capacity of a domain.
	Capacity func(ctx context.Context, machine client.Object) (map[string]int, error)
	// SeparatesWithin reports whether the infrastructure keeps the cluster's logical failure domains apart within one failure
	// domain, for example on different hosts, because spec.distribution.workers.topologyKey requests it. Then one failure domain
	// may hold several logical ones, and no reported state shows whether they share a host.
	SeparatesWithin func(cluster Cluster) bool
}

// Location is the placement of a machine. It is read from the cache and may be stale: a caller that acts on it must write with the
// machine's resourceVersion, and must trust Domain even if another domain was requested.
type Location struct {
	// Domain is the failure domain reported by the infrastructure; "" if it has not reported one.
	Domain string
	// Exists is true if the infrastructure has, or may have, something of the machine, so that its failure domain can no longer be
	// chosen.
	Exists bool
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider is the seam between what Faultline does for every infrastructure and what one infrastructure is. The
// controllers that work for all of them know an infrastructure by this package alone; a provider implements it once.
package provider

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/status"
)

// Cluster is an infrastructure cluster: an object with conditions and the fields that every provider's kind has.
type Cluster interface {
	status.Object
	// Distribution points to spec.distribution and status.distribution.
	Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus)
	// FailureDomains points to status.failureDomains, from where Cluster API takes them.
	FailureDomains() *[]clusterv1.FailureDomain
}

// Provider is what is to be known of an infrastructure. It keeps nothing between two calls.
type Provider interface {
	// Name is clusterctl's, such as vsphere.
	Name() string
	// NewCluster and NewMachine make empty objects of the provider's kinds, to read, list and watch.
	NewCluster() Cluster
	NewMachine() client.Object
	// Domains is what is seen now of each failure domain of the cluster: its health, its room, and whether it is meant for
	// control planes. A domain that could not be looked at is Unknown, not left out; an error says that nothing is known of any.
	Domains(ctx context.Context, cluster Cluster) ([]distribution.Observation, error)
	// Place says where an infrastructure machine is, as its status has it.
	Place(machine client.Object) Place
	// Capabilities returns what else the provider answers; the zero value is that of one whose machines suit every host of a domain.
	Capabilities() Capabilities
}

// Capabilities are the questions that only some providers answer. A function that is nil is not answered. All of them read a cache.
type Capabilities struct {
	// Unsuited returns why none of the capacity that the domain has now suits a machine that is made as the infrastructure machine was, "" when some
	// does. Set it where machines have requirements of their own, such as a selector of hosts.
	Unsuited func(ctx context.Context, machine client.Object, domain string) (why string, err error)
	// Requirements names what an infrastructure machine requires of a host: those of one name suit the same hosts. It is "" for a machine that suits
	// every host. It is set where Capacity is.
	Requirements func(machine client.Object) string
	// Capacity returns how many more machines with the requirements of this one each domain takes now; one that is not in the answer takes none.
	// Without it controllers plan with the whole capacity of a domain.
	Capacity func(ctx context.Context, machine client.Object) (map[string]int, error)
	// SeparatesWithin returns whether the infrastructure keeps the logical failure domains of the cluster apart within one failure domain, such as
	// by host, because spec.distribution.workers.topologyKey asks for that: then several may be in one failure domain, and nothing that is reported
	// shows whether they share a host.
	SeparatesWithin func(cluster Cluster) bool
}

// Place is where a machine is. A provider's cache shows it, so it may be a moment old: who acts on it writes with the machine's
// resource version, and takes Domain for the truth whatever was asked.
type Place struct {
	// Domain is the failure domain that the infrastructure reports; "" when it has not reported one.
	Domain string
	// Exists says that something of the machine exists in the infrastructure, or may: its place cannot be chosen anew.
	Exists bool
}

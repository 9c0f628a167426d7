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
}

// Selective is what a Provider is besides whose machines do not all suit wherever a domain has room, such as one with a selector of
// hosts. Others need not implement it.
type Selective interface {
	// Unsuited says why no room that the domain has now suits a machine that is made as the infrastructure machine was; "" when some
	// does. It reads a cache.
	Unsuited(ctx context.Context, machine client.Object, domain string) (why string, err error)
}

// Counting is what a Selective Provider is besides that can say how much of a domain's room suits a machine.
type Counting interface {
	Selective
	// Suits names what an infrastructure machine asks of a place: those of one name suit the same places. It is "" for a machine that suits wherever
	// a domain has room.
	Suits(machine client.Object) string
	// Room is how many more machines that suit as this one does each domain takes now; one that is not in the answer takes none. It reads a
	// cache.
	Room(ctx context.Context, machine client.Object) (map[string]int, error)
}

// Finer is what a Provider is besides that can keep logical failure domains apart inside of a failure domain, such as by host. Others
// need not implement it.
type Finer interface {
	// ApartWithin reports whether it does so for the cluster, because that is what spec.distribution.workers.topologyKey asks for: then
	// several may be in one failure domain, and nothing that is reported tells whether they share what is inside.
	ApartWithin(cluster Cluster) bool
}

// Place is where a machine is. A provider's cache shows it, so it may be a moment old: who acts on it writes with the machine's
// resource version, and takes Domain for the truth whatever was asked.
type Place struct {
	// Domain is the failure domain that the infrastructure reports; "" when it has not reported one.
	Domain string
	// Exists says that something of the machine exists in the infrastructure, or may: its place cannot be chosen anew.
	Exists bool
}

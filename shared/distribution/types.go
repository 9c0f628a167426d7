// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Health is a provider's momentary view of a domain.
type Health string

const (
	// Healthy means that the domain can run machines.
	Healthy Health = "Good"
	// Unhealthy means that the domain was checked and cannot run machines.
	Unhealthy Health = "Bad"
	// Unknown means that the domain could not be checked. The zero value means the same.
	Unknown Health = "Unknown"
)

// DomainObservation is a provider's view of one domain at one moment.
type DomainObservation struct {
	// Name is the name of the domain, as used in Machine.spec.failureDomain.
	Name string
	// ControlPlane is true if the domain is meant for control-plane machines.
	ControlPlane bool
	// Deleting is true if the domain is being deleted: it keeps its machines and receives none.
	Deleting bool
	// Health is the observed health.
	Health Health
	// Reason and Message explain a Health other than Healthy.
	Reason, Message string
	// Attributes are published with the domain, such as region and zone.
	Attributes map[string]string
	// Capacity is how many more machines the domain can take; nil if no limit is known.
	Capacity *int32
}

// Input holds everything that Evaluate needs.
type Input struct {
	// Spec is the user's intent.
	Spec faultlinev1.Distribution
	// Previous is Result.Domains of the previous evaluation, as stored in the status. For a cluster whose domains were published
	// without that status, use Adopt.
	Previous []faultlinev1.DomainStatus
	// Observations has one entry for each domain of the cluster, in any order. List a domain whose lookup failed as Unknown: a
	// missing domain counts as removed, and is only kept if it is the last for control planes. If two entries have the same name,
	// the first one counts.
	Observations []DomainObservation
	// Now is the time of the observations.
	Now time.Time
}

// Result is the result of Evaluate.
type Result struct {
	// Domains should be stored in status.distribution.failureDomains; it is sorted by name. Status adds the numbers of machines.
	Domains []faultlinev1.DomainStatus
	// Published should be stored in status.failureDomains of the infrastructure cluster; it is sorted by name. Its attributes are
	// those of the observation, plus state and, if set, reason.
	Published []clusterv1.FailureDomain
	// ControlPlaneDomains is the number of domains published for control planes.
	ControlPlaneDomains int
	// NoControlPlaneDomain is true while domains are meant for control planes and none has been published for them yet. The
	// provider must not report the cluster's infrastructure as provisioned then.
	NoControlPlaneDomain bool
	// ControlPlaneNeedsDomain is true if a control-plane machine without a failure domain must wait: a domain is, or was, meant
	// for control planes.
	ControlPlaneNeedsDomain bool
	// TooManyUnhealthy is true while more than half of the domains have turned unhealthy at once, so that no health changes for
	// the worse.
	TooManyUnhealthy bool
	// Kept names the domain that is published for control planes only because no other can be; "" if none exists. It is chosen
	// among the domains meant for control planes, in this order of preference: not being deleted; left Active by the user, then
	// cordoned, then evicted; has ever been healthy; is healthy now, the longest first; is unhealthy for the shortest time; by
	// name.
	Kept string
	// Undeclared lists the names in Spec that have no observation, sorted.
	Undeclared []string
	// NextCheck is the time until the next grace or hold period ends, 0 if none is running. Evaluate again then, if nothing
	// triggers it before.
	NextCheck time.Duration
}

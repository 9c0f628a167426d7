// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Health is what a provider sees of a domain at one moment.
type Health string

const (
	// Good means that the domain can run machines.
	Good Health = "Good"
	// Bad means that the domain was looked at and cannot run machines.
	Bad Health = "Bad"
	// Unknown means that the domain could not be looked at. The zero Health
	// means the same.
	Unknown Health = "Unknown"
)

// Observation is what a provider sees of one domain.
type Observation struct {
	// Name is the domain's name, as Machine.spec.failureDomain carries it.
	Name string
	// ControlPlane says whether the domain is meant for control-plane machines.
	ControlPlane bool
	// Deleting says that the domain is being deleted: it keeps its machines until
	// they go and receives none.
	Deleting bool
	// Health is what was seen.
	Health Health
	// Reason and Message explain a Health other than Good.
	Reason, Message string
	// Attributes are published with the domain, such as region and zone.
	Attributes map[string]string
	// Capacity is how many more machines the domain can take; nil when no limit
	// is known.
	Capacity *int32
}

// Input is all that Evaluate decides from.
type Input struct {
	// Spec is what the user wants.
	Spec faultlinev1.Distribution
	// Previous is Result.Domains of the evaluation before, as stored in the
	// status. For a cluster that has published domains without such a status,
	// take Adopt.
	Previous []faultlinev1.DomainStatus
	// Observations has one entry for each domain of the cluster, by any order. A
	// domain that is missing is one that has been removed, and stays only as the
	// last for control planes: a domain whose look-up failed is listed as Unknown. Of two entries of one name the first counts.
	Observations []Observation
	// Now is the time of the observations.
	Now time.Time
}

// Result is what Evaluate decides.
type Result struct {
	// Domains is to be stored in status.distribution.failureDomains, by name.
	// Status adds the counts of machines.
	Domains []faultlinev1.DomainStatus
	// Published is to be stored in status.failureDomains of the infrastructure
	// cluster, by name. Its attributes are those of the observation, plus state
	// and, where there is one, reason.
	Published []clusterv1.FailureDomain
	// ControlPlaneDomains is the number of domains published for control planes.
	ControlPlaneDomains int
	// NoControlPlaneDomain is true while domains are meant for control planes and
	// none has been published as such yet. The provider must not report the
	// cluster's infrastructure as provisioned then.
	NoControlPlaneDomain bool
	// ControlPlaneNeedsDomain is true while a control-plane machine that names no
	// domain must wait: a domain is meant for control planes, or was.
	ControlPlaneNeedsDomain bool
	// TooManyUnhealthy is true while more than half of the domains have turned
	// unhealthy at once, so that no health verdict changes for the worse.
	TooManyUnhealthy bool
	// Kept names the domain that is published for control planes only because no
	// other can be. It is chosen among the domains meant for control planes: one
	// that is not being deleted; one that the user leaves Active rather than one cordoned rather than one
	// evicted; one that has ever been healthy; one healthy now, the longest
	// first; the one unhealthy for the shortest time; by name.
	Kept string
	// Undeclared are the names in Spec that no observation has, by name.
	Undeclared []string
	// NextCheck is the time until the next grace or hold period ends, 0 when none
	// is running. Evaluate again then, if nothing happens before.
	NextCheck time.Duration
}

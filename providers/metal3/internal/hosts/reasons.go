// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"strings"
)

// Reasons describes why a machine was given no host.
type Reasons struct {
	// Domain is the failure domain that the host must be in; "" means any.
	Domain string
	// Total is the number of hosts in failure domains that the machine can use.
	Total int
	// Counts is the number of these hosts by unavailability.
	Counts map[Unavailability]int
	// Elsewhere is the number of hosts in other domains.
	Elsewhere int
	// Returning lists the hosts kept for the machine's owner that become available again.
	Returning []string
	// Refusal is the API server's message for the first host whose claim it rejected, or "".
	Refusal string
}

func newReasons(requirements Requirements) Reasons {
	why := Reasons{Counts: map[Unavailability]int{}}
	if !requirements.Preferred {
		why.Domain = requirements.Domain
	}
	return why
}

func (r *Reasons) count(unavailability Unavailability) {
	r.Total++
	if unavailability != "" {
		r.Counts[unavailability]++
	}
}

// AllBroken reports whether hosts exist and none of them can run a machine until it is repaired.
func (r Reasons) AllBroken() bool {
	broken := 0
	for unavailability, n := range r.Counts {
		if unavailability.Broken() {
			broken += n
		}
	}
	return r.Total > 0 && broken == r.Total
}

// unavailabilities returns all unavailabilities in the order of messages.
func unavailabilities() []Unavailability {
	return []Unavailability{
		InUse, Promised, InError, NoPower, Unhealthy, Detached, Paused, Deleting, External, NotReady, InClosedDomain, KeptForReuse, NotSelected, Refused,
	}
}

// String returns, for example, "failure domain rack-2: 5 hosts, 3 in use, 1 in error, 1 not matching spec.hostSelector".
func (r Reasons) String() string {
	where := "namespace"
	if r.Domain != "" {
		where = "failure domain " + r.Domain
	}
	if r.Total == 0 {
		return where + ": no hosts"
	}
	parts := []string{fmt.Sprintf("%d hosts", r.Total)}
	if r.Total == 1 {
		parts[0] = "1 host"
	}
	for _, unavailability := range unavailabilities() {
		if n := r.Counts[unavailability]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unavailability))
		}
	}
	return where + ": " + strings.Join(parts, ", ")
}

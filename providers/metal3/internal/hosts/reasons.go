// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"strings"
)

// Reasons tells why a machine was given no host.
type Reasons struct {
	// Domain is the one that the machine must be in; "" when it may be anywhere.
	Domain string
	// Total is the number of hosts that the machine may be on for their domain.
	Total int
	// Counts is how many of them have which obstacle.
	Counts map[Obstacle]int
	// Elsewhere is the number of hosts in other domains.
	Elsewhere int
	// Returning names the hosts, kept for the machine's owner, that are on their way back.
	Returning []string
	// Refusal is what the API server said of the first of the hosts that it refuses to the machine; "" when there is none.
	Refusal string
}

func newReasons(wants Wants) Reasons {
	why := Reasons{Counts: map[Obstacle]int{}}
	if !wants.Preferred {
		why.Domain = wants.Domain
	}
	return why
}

func (r *Reasons) count(obstacle Obstacle) {
	r.Total++
	if obstacle != "" {
		r.Counts[obstacle]++
	}
}

// AllBroken reports whether there are hosts and none of them can run a machine until somebody repairs it.
func (r Reasons) AllBroken() bool {
	broken := 0
	for obstacle, n := range r.Counts {
		if obstacle.Broken() {
			broken += n
		}
	}
	return r.Total > 0 && broken == r.Total
}

// obstacles lists all in the order in which messages name them.
func obstacles() []Obstacle {
	return []Obstacle{
		InUse, Promised, InError, NoPower, Unhealthy, Detached, Paused, Deleting, External, NotReady, InClosedDomain, KeptForReuse, NotSelected, Refused,
	}
}

// String is such as "failure domain rack-2: 5 hosts, 3 in use, 1 in error, 1 not matching spec.hostSelector".
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
	for _, obstacle := range obstacles() {
		if n := r.Counts[obstacle]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, obstacle))
		}
	}
	return where + ": " + strings.Join(parts, ", ")
}

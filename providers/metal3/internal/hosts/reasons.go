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
	// Counts is the number of these hosts by obstacle.
	Counts map[Obstacle]int
	// Elsewhere is the number of hosts in other domains.
	Elsewhere int
	// Returning lists the hosts kept for the machine's owner that become available again.
	Returning []string
	// Refusal is the API server's message for the first host whose claim it rejected, or "".
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

// AllBroken reports whether hosts exist and none of them can run a machine until it is repaired.
func (r Reasons) AllBroken() bool {
	broken := 0
	for obstacle, n := range r.Counts {
		if obstacle.Broken() {
			broken += n
		}
	}
	return r.Total > 0 && broken == r.Total
}

// obstacles returns all obstacles in the order of messages.
func obstacles() []Obstacle {
	return []Obstacle{
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
	for _, obstacle := range obstacles() {
		if n := r.Counts[obstacle]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, obstacle))
		}
	}
	return where + ": " + strings.Join(parts, ", ")
}

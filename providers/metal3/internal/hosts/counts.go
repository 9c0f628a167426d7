// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

// counts holds the number of hosts of a domain.
type counts struct {
	total, broken int
}

func (t counts) with(unavailability Unavailability, n int) counts {
	t.total += n
	if unavailability.Broken() {
		t.broken += n
	}
	return t
}

// reason is why a waiting machine gets no host of a domain, and whether one can become free.
type reason string

const (
	noHosts     reason = "no hosts"
	allBroken   reason = "all broken"
	someHealthy reason = "some work"
)

func (t counts) reason() reason {
	switch t.total {
	case 0:
		return noHosts
	case t.broken:
		return allBroken
	default:
		return someHealthy
	}
}

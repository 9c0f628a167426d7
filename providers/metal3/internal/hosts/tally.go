// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

// tally counts the hosts of a domain.
type tally struct {
	total, broken int
}

func (t tally) with(obstacle Obstacle, n int) tally {
	t.total += n
	if obstacle.Broken() {
		t.broken += n
	}
	return t
}

// outlook is what a machine has to hope for from the hosts of a domain when none is free.
type outlook string

const (
	noHosts   outlook = "no hosts"
	allBroken outlook = "all broken"
	someWork  outlook = "some work"
)

func (t tally) outlook() outlook {
	switch t.total {
	case 0:
		return noHosts
	case t.broken:
		return allBroken
	default:
		return someWork
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// failureMemory is how long others are preferred to a host that has failed a machine: long enough for somebody to look at it.
const failureMemory = 24 * time.Hour

// Wants is what a machine asks of its host.
type Wants struct {
	Machine types.NamespacedName
	// Cluster is the machine's.
	Cluster string
	// Since is when the machine was created: who waits longest is served first.
	Since time.Time
	// Selector is spec.hostSelector.
	Selector labels.Selector
	// Domain is the failure domain that the host must be in; "" means any.
	Domain string
	// Preferred makes Domain a wish: hosts elsewhere are taken when there is none in it.
	Preferred bool
	// Now tells hosts that have failed a machine not long ago from the others.
	Now time.Time
	// Closed are failure domains that receive no machines.
	Closed map[string]bool
	// Refused are hosts that the machine has tried to claim not long ago and that it is not to try again as they are.
	Refused map[string]Refusal
	// Reuse is the node-reuse label of hosts that machines of the same owner had; "" when the owner has no name.
	Reuse string
	// Random takes the candidates in an order that is different for each machine instead of by name.
	Random bool
}

// Choose puts the candidates that the machine may have into the order in which to try them: those in its domain first, then
// those kept for reuse by its owner, then those that have not failed a machine lately, then by name or at random. The order does not depend on that of the candidates. It is
// empty while a host kept for reuse is on its way back, because that is the one the owner wants; why tells how many hosts
// were left out for what.
func Choose(candidates []Host, wants Wants) (order []Host, why Reasons) {
	why = newReasons(wants)
	var refused []string
	for i := range candidates {
		host := &candidates[i]
		if !wants.mayBeIn(host) {
			why.Elsewhere++
			continue
		}
		obstacle := wants.obstacle(host)
		why.count(obstacle)
		if obstacle == "" {
			order = append(order, *host)
		} else if wants.awaits(host, obstacle) {
			why.Returning = append(why.Returning, host.Name)
		}
		if obstacle == Refused {
			refused = append(refused, host.Name)
		}
	}
	why.Refusal = wants.firstRefusal(refused)
	slices.Sort(why.Returning)
	if len(why.Returning) > 0 && !slices.ContainsFunc(order, func(h Host) bool { return wants.reuses(&h) }) {
		return nil, why
	}
	slices.SortFunc(order, wants.compare)
	return order, why
}

func (w Wants) mayBeIn(host *Host) bool {
	return w.Domain == "" || w.Preferred || host.Domain == w.Domain
}

func (w Wants) obstacle(host *Host) Obstacle {
	switch {
	case host.Obstacle != "":
		return host.Obstacle
	case w.Closed[host.Domain]:
		return InClosedDomain
	case !w.selects(host):
		return NotSelected
	case host.Reuse != "" && !w.reuses(host):
		return KeptForReuse
	case w.refuses(host):
		return Refused
	default:
		return ""
	}
}

func (w Wants) selects(host *Host) bool {
	return w.Selector == nil || w.Selector.Matches(host.Labels)
}

func (w Wants) reuses(host *Host) bool {
	return host.Reuse != "" && host.Reuse == w.Reuse && (host.KeptFor == "" || host.KeptFor == w.Cluster)
}

// awaits reports whether the host is one of the owner's that will be available again by itself. With a preferred domain only
// hosts in it are worth waiting for.
func (w Wants) awaits(host *Host, obstacle Obstacle) bool {
	return obstacle == NotReady && w.reuses(host) && w.selects(host) && !w.Closed[host.Domain] && (w.Domain == "" || host.Domain == w.Domain)
}

func (w Wants) compare(a, b Host) int {
	return cmp.Or(
		first(w.Domain != "" && a.Domain == w.Domain, w.Domain != "" && b.Domain == w.Domain),
		first(w.reuses(&a), w.reuses(&b)),
		w.failed(&a).Compare(w.failed(&b)),
		cmp.Compare(w.rank(a.Name), w.rank(b.Name)),
		cmp.Compare(a.Name, b.Name),
	)
}

// failed is when the host failed its last machine; zero when that is no reason any more to prefer another.
func (w Wants) failed(host *Host) time.Time {
	if w.Now.Sub(host.Failed) > failureMemory {
		return time.Time{}
	}
	return host.Failed
}

// first orders what is true before what is false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// rank scatters machines over hosts. It is the same each time the machine asks, so that a retry does not wander.
func (w Wants) rank(host string) uint64 {
	if !w.Random {
		return 0
	}
	hash := fnv.New64a()
	for _, part := range []string{w.Machine.Namespace, "/", w.Machine.Name, "/", w.Since.UTC().Format(time.RFC3339), "/", host} {
		_, _ = hash.Write([]byte(part)) // never fails
	}
	return mix(hash.Sum64())
}

// mix lets the last bytes, which are all that differs between hosts, decide about the whole number.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

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

// failureMemory is how long other hosts are preferred to a host that has failed a machine: long enough for an operator to inspect
// it.
const failureMemory = 24 * time.Hour

// Wants holds the requirements of a machine on its host.
type Wants struct {
	Machine types.NamespacedName
	// Cluster is the cluster of the machine.
	Cluster string
	// Since is the creation time of the machine. The oldest machine is served first.
	Since time.Time
	// Selector is spec.hostSelector.
	Selector labels.Selector
	// Domain is the failure domain that the host must be in; "" means any.
	Domain string
	// Preferred makes Domain a preference: a host of another failure domain is used when none in Domain is free.
	Preferred bool
	// Now is the current time. It separates hosts that have failed a machine recently from the others.
	Now time.Time
	// Closed are failure domains that receive no machines.
	Closed map[string]bool
	// Refused holds the hosts whose recent claim by the machine was rejected. They are not tried again until they change.
	Refused map[string]Refusal
	// Reuse is the value of the node-reuse label of hosts that machines of the same owner have used; "" if the owner has no name.
	Reuse string
	// Random orders the candidates randomly but stably per machine, instead of by name.
	Random bool
}

// Choose returns the candidates that the machine can claim, in the order in which to try them: hosts in its domain first, then
// hosts kept for reuse by its owner, then hosts that have not failed a machine recently, then by name or at random. The order of
// the candidates does not matter. The result is empty while a host kept for reuse becomes available again, because the owner
// prefers that host. why counts the excluded hosts by obstacle.
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

// awaits reports whether the host is kept for the owner and becomes available again by itself. If the domain is only preferred,
// only hosts in it are worth waiting for.
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

// failed returns when the host failed its last machine, or zero if that is too long ago to prefer another host.
func (w Wants) failed(host *Host) time.Time {
	if w.Now.Sub(host.Failed) > failureMemory {
		return time.Time{}
	}
	return host.Failed
}

// first sorts true before false.
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

// rank distributes machines over hosts. It is constant per machine and host, so that retries try the same host.
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

// mix spreads the last bytes, the only ones that differ between hosts, over the whole number.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

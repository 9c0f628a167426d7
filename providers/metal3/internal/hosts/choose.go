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

// Requirements holds the requirements of a machine on its host.
type Requirements struct {
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
// prefers that host. why counts the excluded hosts by the reason for their unavailability.
func Choose(candidates []Host, requirements Requirements) (order []Host, why Reasons) {
	why = newReasons(requirements)
	var refused []string
	for i := range candidates {
		host := &candidates[i]
		if !requirements.allowsDomainOf(host) {
			why.Elsewhere++
			continue
		}
		unavailability := requirements.unavailability(host)
		why.count(unavailability)
		if unavailability == "" {
			order = append(order, *host)
		} else if requirements.awaits(host, unavailability) {
			why.Returning = append(why.Returning, host.Name)
		}
		if unavailability == Refused {
			refused = append(refused, host.Name)
		}
	}
	why.Refusal = requirements.firstRefusal(refused)
	slices.Sort(why.Returning)
	if len(why.Returning) > 0 && !slices.ContainsFunc(order, func(h Host) bool { return requirements.reuses(&h) }) {
		return nil, why
	}
	slices.SortFunc(order, requirements.compare)
	return order, why
}

func (r Requirements) allowsDomainOf(host *Host) bool {
	return r.Domain == "" || r.Preferred || host.Domain == r.Domain
}

func (r Requirements) unavailability(host *Host) Unavailability {
	switch {
	case host.Unavailability != "":
		return host.Unavailability
	case r.Closed[host.Domain]:
		return InClosedDomain
	case !r.selects(host):
		return NotSelected
	case host.Reuse != "" && !r.reuses(host):
		return KeptForReuse
	case r.refuses(host):
		return Refused
	default:
		return ""
	}
}

func (r Requirements) selects(host *Host) bool {
	return r.Selector == nil || r.Selector.Matches(host.Labels)
}

func (r Requirements) reuses(host *Host) bool {
	return host.Reuse != "" && host.Reuse == r.Reuse && (host.KeptFor == "" || host.KeptFor == r.Cluster)
}

// awaits reports whether the host is kept for the owner and becomes available again by itself. If the domain is only preferred,
// only hosts in it are worth waiting for.
func (r Requirements) awaits(host *Host, unavailability Unavailability) bool {
	return unavailability == NotReady && r.reuses(host) && r.selects(host) && !r.Closed[host.Domain] && (r.Domain == "" || host.Domain == r.Domain)
}

func (r Requirements) compare(a, b Host) int {
	return cmp.Or(
		first(r.Domain != "" && a.Domain == r.Domain, r.Domain != "" && b.Domain == r.Domain),
		first(r.reuses(&a), r.reuses(&b)),
		r.failed(&a).Compare(r.failed(&b)),
		cmp.Compare(r.rank(a.Name), r.rank(b.Name)),
		cmp.Compare(a.Name, b.Name),
	)
}

// failed returns when the host failed its last machine, or zero if that is too long ago to prefer another host.
func (r Requirements) failed(host *Host) time.Time {
	if r.Now.Sub(host.Failed) > failureMemory {
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
func (r Requirements) rank(host string) uint64 {
	if !r.Random {
		return 0
	}
	hash := fnv.New64a()
	for _, part := range []string{r.Machine.Namespace, "/", r.Machine.Name, "/", r.Since.UTC().Format(time.RFC3339), "/", host} {
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ippools

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// IsName reports whether name is a valid name of a pool. Clients write names of pools, and an API server rejects requests for some
// invalid names with an error other than NotFound.
func IsName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// Precedes reports whether a pool is older than another one. Of two conflicting pools, the younger one allocates no address.
func Precedes(pool, other *lbv1.IPPool) bool {
	if created := pool.CreationTimestamp.Compare(other.CreationTimestamp.Time); created != 0 {
		return created < 0
	}
	return pool.Name < other.Name
}

// Obstacles returns why a stored pool allocates no address: its ranges are invalid, or overlap each other or those of an older pool. Each
// address is allocated by one pool only.
func Obstacles(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	errs := validateRanges(pool.Spec.Ranges, field.NewPath("spec", "ranges"))
	for i := range others {
		if other := &others[i]; other.Name != pool.Name && Precedes(other, pool) {
			errs = append(errs, rangesBeside(pool.Spec, other)...)
		}
	}
	return errs
}

// Unclear returns why it is ambiguous which load balancers use a stored pool. The pool allocates addresses nevertheless.
func Unclear(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	errs := validateScope(pool.Spec.Selector.Scope)
	for i := range others {
		if other := &others[i]; other.Name != pool.Name && Precedes(other, pool) {
			errs = append(errs, selectorBeside(pool, other)...)
		}
	}
	return errs
}

// Validate validates a pool by itself.
func Validate(spec lbv1.IPPoolSpec) field.ErrorList {
	return append(validateRanges(spec.Ranges, field.NewPath("spec", "ranges")), validateScope(spec.Selector.Scope)...)
}

func validateScope(tuples []lbv1.Tuple) field.ErrorList {
	var errs field.ErrorList
	scope := field.NewPath("spec", "selector", "scope")
	for i, tuple := range tuples {
		for j, earlier := range tuples[:i] {
			if tuplesOverlap(tuple, earlier) {
				errs = append(errs, field.Invalid(scope.Index(i), describe(tuple), fmt.Sprintf("must not overlap with %s", scope.Index(j))))
			}
		}
	}
	return errs
}

func validateRanges(ranges []lbv1.Range, path *field.Path) field.ErrorList {
	if len(ranges) == 0 {
		return field.ErrorList{field.Required(path, "must have a range with the subnet of the addresses, for example 192.168.1.0/24")}
	}
	var errs field.ErrorList
	made := make([]ipaddr.Range, len(ranges))
	for i, r := range ranges {
		var err error
		if made[i], err = ipaddr.MakeRange(r); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), r.Subnet, err.Error()))
			continue
		}
		if made[i].Size() == 0 {
			errs = append(errs, field.Invalid(path.Index(i), r.Subnet, fmt.Sprintf(
				"must contain an address other than the gateway %s", made[i].Gateway)))
		}
		for j := range i {
			if made[j].First.IsValid() && made[i].Overlaps(made[j]) {
				errs = append(errs, field.Invalid(path.Index(i), made[i].String(), fmt.Sprintf(
					"must not overlap with %s, %s", path.Index(j), made[j])))
			}
		}
	}
	return errs
}

// ValidateAmong validates a pool together with others, which may contain it. Invalid ranges of a pool are ignored.
func ValidateAmong(pool *lbv1.IPPool, others []lbv1.IPPool) field.ErrorList {
	var errs field.ErrorList
	for i := range others {
		if other := &others[i]; other.Name != pool.Name {
			errs = append(errs, rangesBeside(pool.Spec, other)...)
			errs = append(errs, selectorBeside(pool, other)...)
		}
	}
	return errs
}

// rangesBeside rejects addresses that are in two pools.
func rangesBeside(spec lbv1.IPPoolSpec, other *lbv1.IPPool) field.ErrorList {
	var errs field.ErrorList
	theirs := completed(other.Spec.Ranges)
	for i, mine := range spec.Ranges {
		made, err := ipaddr.MakeRange(mine)
		if err != nil {
			continue
		}
		if at := slices.IndexFunc(theirs, made.Overlaps); at >= 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ranges").Index(i), made.String(), fmt.Sprintf(
				"must not overlap with IPPool %s, %s", other.Name, theirs[at])))
		}
	}
	return errs
}

// Overlapping returns the other pools that contain addresses of a pool.
func Overlapping(pool *lbv1.IPPool, others []lbv1.IPPool) (all []*lbv1.IPPool) {
	for i := range others {
		if other := &others[i]; other.Name != pool.Name && len(rangesBeside(pool.Spec, other)) > 0 {
			all = append(all, other)
		}
	}
	return all
}

// selectorBeside rejects selectors that make it ambiguous which of two pools a load balancer uses.
func selectorBeside(pool, other *lbv1.IPPool) field.ErrorList {
	path, selector, theirs := field.NewPath("spec", "selector"), pool.Spec.Selector, other.Spec.Selector
	var errs field.ErrorList
	if selector.Priority != 0 && selector.Priority == theirs.Priority {
		errs = append(errs, field.Invalid(path.Child("priority"), selector.Priority, fmt.Sprintf("must differ from the priority of IPPool %s, or be 0", other.Name)))
	}
	switch mine, global := IsGlobal(pool), IsGlobal(other); {
	case mine && global:
		return append(errs, field.Forbidden(path.Child("scope"), fmt.Sprintf(
			"may not be global, because IPPool %s is the global pool: add the ranges to that pool, or name a project, namespace or guest cluster", other.Name)))
	case mine || global || selector.Priority != 0 || theirs.Priority != 0 || selector.Network != theirs.Network:
		return errs
	}
	for i, tuple := range selector.Scope {
		if slices.ContainsFunc(theirs.Scope, func(of lbv1.Tuple) bool { return tuplesOverlap(tuple, of) }) {
			errs = append(errs, field.Invalid(path.Child("scope").Index(i), describe(tuple), fmt.Sprintf(
				"must not overlap with the scope of IPPool %s while both have priority 0: set a priority for one of them", other.Name)))
		}
	}
	return errs
}

// ValidateAllocated rejects held addresses that the pool does not contain. Addresses that were held under the same ranges before need not
// be validated again: pass them as known.
func ValidateAllocated(pool *lbv1.IPPool, known map[string]string) field.ErrorList {
	ranges, path := completed(pool.Spec.Ranges), field.NewPath("status", "allocated")
	var errs field.ErrorList
	for _, given := range slices.Sorted(maps.Keys(pool.Status.Allocated)) {
		if _, ok := known[given]; ok {
			continue
		}
		addr, err := netip.ParseAddr(given)
		switch holder := pool.Status.Allocated[given]; {
		case err != nil:
			errs = append(errs, field.Invalid(path.Key(given), holder, "must be recorded under an IP address: remove the entry"))
		case !slices.ContainsFunc(ranges, func(r ipaddr.Range) bool { return r.Contains(addr.Unmap()) }):
			errs = append(errs, field.Invalid(path.Key(given), holder, "must hold an address in spec.ranges: keep the address there until its holder is deleted"))
		}
	}
	return errs
}

// ValidateAdded rejects additions to the status of a pool whose holders are partly in IPPoolBlocks: an IPPoolBlock may record another
// holder. Clients that need an address must create a LoadBalancer; its controller checks both.
func ValidateAdded(before, after *lbv1.IPPool) field.ErrorList {
	if before.Annotations[lbv1.BlocksAnnotation] != "true" {
		return nil
	}
	if after.Annotations[lbv1.BlocksAnnotation] != "true" {
		return field.ErrorList{field.Forbidden(field.NewPath("metadata", "annotations").Key(lbv1.BlocksAnnotation),
			"may not be changed, because IPPoolBlocks record holders of the pool's addresses")}
	}
	path := field.NewPath("status", "allocated")
	var errs field.ErrorList
	for _, ip := range slices.Sorted(maps.Keys(after.Status.Allocated)) {
		holder, held := before.Status.Allocated[ip]
		if now := after.Status.Allocated[ip]; !held || now != holder && !strings.HasPrefix(now, allocation.Apart(holder, "")) {
			errs = append(errs, field.Forbidden(path.Key(ip), "may not be added, because an IPPoolBlock of the pool may record another holder: "+
				"create a LoadBalancer to get an address, or use a smaller pool"))
		}
	}
	return errs
}

// ValidateDeletion rejects the deletion of a pool with held addresses.
func ValidateDeletion(pool *lbv1.IPPool) field.ErrorList {
	return unheld(field.NewPath("status", "allocated"), pool.Status.Allocated)
}

// ValidateBlockDeletion rejects the deletion of a block with held addresses.
func ValidateBlockDeletion(block *lbv1.IPPoolBlock) field.ErrorList {
	return unheld(field.NewPath("allocated"), block.Allocated)
}

func unheld(path *field.Path, allocated map[string]string) field.ErrorList {
	if len(allocated) == 0 {
		return nil
	}
	lowest := slices.Min(slices.Collect(maps.Keys(allocated)))
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
		"must be empty: %d of the pool's addresses are held, for example %s by %s; delete the load balancers and machines that hold them first",
		len(allocated), lowest, allocated[lowest]))}
}

// completed returns the valid ranges.
func completed(ranges []lbv1.Range) []ipaddr.Range {
	all := make([]ipaddr.Range, 0, len(ranges))
	for _, r := range ranges {
		if made, err := ipaddr.MakeRange(r); err == nil {
			all = append(all, made)
		}
	}
	return all
}

// tuplesOverlap reports whether a load balancer can match both tuples.
func tuplesOverlap(a, b lbv1.Tuple) bool {
	same := func(a, b string) bool { return a == b || a == lbv1.All || b == lbv1.All }
	return same(Project(a.Project), Project(b.Project)) && same(a.Namespace, b.Namespace) && same(a.GuestCluster, b.GuestCluster)
}

func describe(tuple lbv1.Tuple) string {
	none := func(s string) string { return cmp.Or(s, `""`) }
	return fmt.Sprintf("project %s, namespace %s, guest cluster %s", none(tuple.Project), none(tuple.Namespace), none(tuple.GuestCluster))
}

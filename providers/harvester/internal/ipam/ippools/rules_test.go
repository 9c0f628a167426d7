// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ippools_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// expectErrors expects errors for these fields, in this order. Each line has a field and a part of its error.
func expectErrors(g *WithT, errs field.ErrorList, want ...string) {
	g.Expect(errs).To(HaveLen(len(want)), "%v", errs)
	for i, line := range want {
		path, words, _ := strings.Cut(line, ": ")
		g.Expect(errs[i].Field).To(Equal(path))
		g.Expect(errs[i].Error()).To(ContainSubstring(words))
	}
}

func pool(status lbv1.IPPoolStatus, ranges ...lbv1.Range) *lbv1.IPPool {
	return &lbv1.IPPool{Spec: lbv1.IPPoolSpec{Ranges: ranges}, Status: status}
}

func TestValidateRanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ranges []lbv1.Range
		want   []string
	}{
		"no range":                              {nil, []string{"spec.ranges: must have a range"}},
		"a subnet":                              {[]lbv1.Range{{Subnet: "10.0.0.0/24"}}, nil},
		"one address":                           {[]lbv1.Range{{Subnet: "10.0.0.7/32"}}, nil},
		"reversed, which Harvester turns round": {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.9", RangeEnd: "10.0.0.5"}}, nil},
		"the gateway inside":                    {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.1", RangeEnd: "10.0.0.5", Gateway: "10.0.0.3"}}, nil},
		"the gateway alone": {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.1", RangeEnd: "10.0.0.1"}},
			[]string{"spec.ranges[0]: must contain an address other than the gateway 10.0.0.1"}},
		"no CIDR":                 {[]lbv1.Range{{Subnet: "10.0.0.0"}}, []string{`spec.ranges[0]: subnet "10.0.0.0" must be a CIDR, for example 192.168.1.0/24`}},
		"a CIDR that cannot be":   {[]lbv1.Range{{Subnet: "10.0.0.0/33"}}, []string{"spec.ranges[0]: must be a CIDR"}},
		"outside of the subnet":   {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeEnd: "10.0.1.5"}}, []string{"spec.ranges[0]: rangeEnd 10.0.1.5 must be in subnet"}},
		"another family":          {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeStart: "fd00::1"}}, []string{"spec.ranges[0]: rangeStart fd00::1 must be in subnet"}},
		"each invalid one":        {[]lbv1.Range{{Subnet: "a"}, {Subnet: "10.0.0.0/24"}, {Subnet: "b"}}, []string{"spec.ranges[0]: must be a CIDR", "spec.ranges[2]: must be a CIDR"}},
		"side by side":            {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeEnd: "10.0.0.9"}, {Subnet: "10.0.0.0/24", RangeStart: "10.0.0.10"}}, nil},
		"IPv4 and IPv6":           {[]lbv1.Range{{Subnet: "10.0.0.0/8"}, {Subnet: "fd00::/64"}}, nil},
		"one address in both":     {[]lbv1.Range{{Subnet: "10.0.0.0/24", RangeEnd: "10.0.0.9"}, {Subnet: "10.0.0.0/24", RangeStart: "10.0.0.9"}}, []string{"spec.ranges[1]: must not overlap with spec.ranges[0], 10.0.0.1-10.0.0.9"}},
		"one inside the other":    {[]lbv1.Range{{Subnet: "10.0.0.5/32"}, {Subnet: "10.0.0.0/8"}}, []string{"spec.ranges[1]: must not overlap with spec.ranges[0], 10.0.0.5"}},
		"IPv6 that overlaps":      {[]lbv1.Range{{Subnet: "fd00::/64"}, {Subnet: "fd00::/32"}}, []string{"spec.ranges[1]: must not overlap with spec.ranges[0]"}},
		"overlaps, and is broken": {[]lbv1.Range{{Subnet: "10.0.0.0/24"}, {Subnet: "x"}, {Subnet: "10.0.0.0/25"}}, []string{"spec.ranges[1]: must be a CIDR", "spec.ranges[2]: must not overlap with spec.ranges[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectErrors(NewWithT(t), ippools.Validate(lbv1.IPPoolSpec{Ranges: tc.ranges}), tc.want...)
		})
	}
}

func TestValidateScope(t *testing.T) {
	t.Parallel()
	one := lbv1.Tuple{Project: "p", Namespace: "a", GuestCluster: lbv1.All}
	for name, tc := range map[string]struct {
		scope []lbv1.Tuple
		want  []string
	}{
		"empty":             {nil, nil},
		"two namespaces":    {[]lbv1.Tuple{one, {Project: "p", Namespace: "b", GuestCluster: lbv1.All}}, nil},
		"none is not all":   {[]lbv1.Tuple{one, {Namespace: "a", GuestCluster: lbv1.All}}, nil},
		"the same twice":    {[]lbv1.Tuple{one, one}, []string{"spec.selector.scope[1]: project p, namespace a, guest cluster *"}},
		"two ways to write": {[]lbv1.Tuple{{Project: "c/p", Namespace: "a"}, {Project: "c:p", Namespace: "a"}}, []string{"spec.selector.scope[1]: project c:p, namespace a"}},
		"a cluster of all":  {[]lbv1.Tuple{one, {Project: "p", Namespace: "a", GuestCluster: "c"}}, []string{"spec.selector.scope[1]: must not overlap with spec.selector.scope[0]"}},
		"all beside others": {[]lbv1.Tuple{one, {Project: lbv1.All, Namespace: lbv1.All, GuestCluster: lbv1.All}}, []string{"spec.selector.scope[1]: must not overlap"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.0.0.0/24"}}, Selector: lbv1.Selector{Scope: tc.scope}}
			expectErrors(NewWithT(t), ippools.Validate(spec), tc.want...)
		})
	}
}

func TestValidateAmong(t *testing.T) {
	t.Parallel()
	all, some := lbv1.Tuple{Project: lbv1.All, Namespace: lbv1.All, GuestCluster: lbv1.All}, lbv1.Tuple{Project: lbv1.All, Namespace: "a", GuestCluster: lbv1.All}
	selector := func(priority uint32, network string, scope ...lbv1.Tuple) lbv1.Selector {
		return lbv1.Selector{Priority: priority, Network: network, Scope: scope}
	}
	for name, tc := range map[string]struct {
		other, mine lbv1.Selector
		subnet      string
		want        []string
	}{
		"other addresses, no scope":                 {},
		"addresses of another":                      {subnet: "10.0.0.128/25", want: []string{"spec.ranges[0]: must not overlap with IPPool other, 10.0.0.1-10.0.0.254"}},
		"the same priority":                         {other: selector(7, "", some), mine: selector(7, "n/b"), want: []string{"spec.selector.priority: must differ from the priority of IPPool other, or be 0"}},
		"the same scope, of the same priority 0":    {other: selector(0, "", some), mine: selector(0, "", some), want: []string{"spec.selector.scope[0]: must not overlap with the scope of IPPool other while both have priority 0"}},
		"the same scope, and one has a priority":    {other: selector(0, "", some), mine: selector(1, "", some)},
		"the same scope on another network":         {other: selector(0, "n/a", some), mine: selector(0, "n/b", some)},
		"the global pool and any other":             {other: selector(0, "", some), mine: selector(0, "", all)},
		"any other and the global pool":             {other: selector(0, "", all), mine: selector(0, "", some)},
		"two that are global":                       {other: selector(0, "", all), mine: selector(3, "", all), want: []string{"spec.selector.scope: may not be global"}},
		"two that are global on different networks": {other: selector(0, "n/a", all), mine: selector(0, "n/b", all), want: []string{"spec.selector.scope: may not be global, because IPPool other is the global pool"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			if tc.subnet == "" {
				tc.subnet = "10.0.1.0/24"
			}
			mine := pool(lbv1.IPPoolStatus{}, lbv1.Range{Subnet: tc.subnet})
			mine.Name, mine.Spec.Selector = "mine", tc.mine
			other := pool(lbv1.IPPoolStatus{}, lbv1.Range{Subnet: "broken"}, lbv1.Range{Subnet: "10.0.0.0/24"})
			other.Name, other.Spec.Selector = "other", tc.other
			expectErrors(g, ippools.ValidateAmong(mine, []lbv1.IPPool{*mine, *other}), tc.want...)
		})
	}
}

func TestPrecedes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	named := func(name string, age time.Duration) *lbv1.IPPool {
		return &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))}}
	}
	g.Expect(ippools.Precedes(named("b", time.Hour), named("a", 0))).To(BeTrue())
	g.Expect(ippools.Precedes(named("a", 0), named("b", time.Hour))).To(BeFalse())
	g.Expect(ippools.Precedes(named("a", 0), named("b", 0))).To(BeTrue())
	g.Expect(ippools.Precedes(named("b", 0), named("a", 0))).To(BeFalse())
}

func TestValidateAllocated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := pool(lbv1.IPPoolStatus{Allocated: map[string]string{
		"10.0.0.2": "ns/a", "10.0.1.2": "ns/b", "::ffff:10.0.0.3": "ns/c", "nothing": "ns/d",
	}}, lbv1.Range{Subnet: "10.0.0.0/24"})
	expectErrors(g, ippools.ValidateAllocated(p, nil),
		`status.allocated[10.0.1.2]: "ns/b": must hold an address in spec.ranges: keep the address there until its holder is deleted`,
		`status.allocated[nothing]: "ns/d": must be recorded under an IP address: remove the entry`)
	expectErrors(g, ippools.ValidateAllocated(p, p.Status.Allocated))
}

func TestValidateAdded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pool := func(blocks string, allocated map[string]string) *lbv1.IPPool {
		return &lbv1.IPPool{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{lbv1.BlocksAnnotation: blocks}},
			Status:     lbv1.IPPoolStatus{Allocated: allocated},
		}
	}
	one := map[string]string{"10.0.0.2": "ns/a"}
	two := map[string]string{"10.0.0.2": "ns/a", "10.0.0.3": "ns/b"}
	g.Expect(ippools.ValidateAdded(pool("", one), pool("", two))).To(BeEmpty())
	g.Expect(ippools.ValidateAdded(pool("", one), pool("true", two))).To(BeEmpty())
	g.Expect(ippools.ValidateAdded(pool("true", two), pool("true", one))).To(BeEmpty())
	g.Expect(ippools.ValidateAdded(pool("true", one), pool("true", two)).ToAggregate()).To(MatchError(ContainSubstring("status.allocated[10.0.0.3]")))
	g.Expect(ippools.ValidateAdded(pool("true", one), pool("true", map[string]string{"10.0.0.2": "ns/b"})).ToAggregate()).To(MatchError(ContainSubstring("status.allocated[10.0.0.2]")))
	g.Expect(ippools.ValidateAdded(pool("true", one), pool("true", map[string]string{"10.0.0.2": allocation.Apart(one["10.0.0.2"], "id")}))).To(BeEmpty())
	g.Expect(ippools.ValidateAdded(pool("true", one), pool("", one)).ToAggregate()).To(MatchError(ContainSubstring("may not be changed")))
}

func TestValidateDeletion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	expectErrors(g, ippools.ValidateDeletion(pool(lbv1.IPPoolStatus{AllocatedHistory: map[string]string{"10.0.0.2": "ns/a"}})))
	expectErrors(g, ippools.ValidateDeletion(pool(lbv1.IPPoolStatus{Allocated: map[string]string{"10.0.0.3": "ns/b", "10.0.0.2": "ns/a"}})),
		"status.allocated: must be empty: 2 of the pool's addresses are held, for example 10.0.0.2 by ns/a; delete the load balancers and machines that hold them first")
}

// Creation timestamps depend on clocks, which may have been set back or forward between two pools.
func TestOneOfTwoOverlappingPoolsAllocates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	moments := []metav1.Time{{}, metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now), metav1.NewTime(now.AddDate(100, 0, 0))}
	for _, one := range moments {
		for _, two := range moments {
			pools := []lbv1.IPPool{
				{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: one}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.0.0.0/24"}}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "b", CreationTimestamp: two}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.0.0.0/25"}}}},
			}
			a, b := len(ippools.Obstacles(&pools[0], pools)), len(ippools.Obstacles(&pools[1], pools))
			if a+b != 1 {
				t.Errorf("made at %s and %s: the first has %d obstacles, the second %d", one, two, a, b)
			}
		}
	}
}

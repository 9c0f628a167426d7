// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

var (
	errExhausted = errors.New("no IP addresses available")
	errDuplicate = errors.New("duplicate allocation is not allowed")
)

// addressRange is a range of a pool.
type addressRange struct {
	first, last, gateway netip.Addr
	mask                 string
}

// parseRange parses a range. Without a start it begins at the second address of the subnet, without an end it ends at the last but
// one. The gateway, which defaults to the first address of the subnet, is never allocated.
func parseRange(r lbv1.Range) (addressRange, error) {
	subnet, err := netip.ParsePrefix(r.Subnet)
	if err != nil {
		return addressRange{}, fmt.Errorf("subnet %q: %w", r.Subnet, err)
	}
	subnet = subnet.Masked()
	out := addressRange{mask: net.IP(net.CIDRMask(subnet.Bits(), subnet.Addr().BitLen())).String()}
	if subnet.IsSingleIP() {
		out.first, out.last = subnet.Addr(), subnet.Addr()
		return out, nil
	}
	out.first, out.gateway, out.last = subnet.Addr().Next(), subnet.Addr().Next(), lastAddress(subnet).Prev()
	for into, text := range map[*netip.Addr]string{&out.first: r.RangeStart, &out.last: r.RangeEnd, &out.gateway: r.Gateway} {
		if text == "" {
			continue
		}
		if *into, err = netip.ParseAddr(text); err != nil {
			return addressRange{}, err
		}
	}
	if out.last.Less(out.first) {
		out.first, out.last = out.last, out.first
	}
	return out, nil
}

func lastAddress(subnet netip.Prefix) netip.Addr {
	bytes := subnet.Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

func (s addressRange) contains(address netip.Addr) bool {
	return address.IsValid() && !address.Less(s.first) && !s.last.Less(address) && address != s.gateway
}

func (s addressRange) size() int64 {
	first, last := new(big.Int).SetBytes(s.first.AsSlice()), new(big.Int).SetBytes(s.last.AsSlice())
	size := last.Sub(last, first).Int64() + 1
	if s.gateway.IsValid() && !s.gateway.Less(s.first) && !s.last.Less(s.gateway) {
		size--
	}
	return size
}

func parseRanges(pool *lbv1.IPPool) ([]addressRange, error) {
	spans := make([]addressRange, 0, len(pool.Spec.Ranges))
	for _, r := range pool.Spec.Ranges {
		s, err := parseRange(r)
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", pool.Name, err)
		}
		spans = append(spans, s)
	}
	return spans, nil
}

// allocateAddress allocates an address to the owner and records it in the pool's status: the owner's former address, else the next one
// after the last allocated.
func allocateAddress(pool *lbv1.IPPool, owner string) (lbv1.AllocatedAddress, error) {
	spans, err := parseRanges(pool)
	if err != nil {
		return lbv1.AllocatedAddress{}, err
	}
	for _, id := range pool.Status.Allocated {
		if id == owner {
			return lbv1.AllocatedAddress{}, errDuplicate
		}
	}
	from, address := previousAddress(pool, spans, owner)
	if from == nil {
		from, address = nextFree(pool, spans)
	}
	if from == nil {
		return lbv1.AllocatedAddress{}, errExhausted
	}
	return recordAllocation(pool, *from, address, owner), nil
}

// previousAddress returns a free address that the owner had before, with its range, or nil.
func previousAddress(pool *lbv1.IPPool, spans []addressRange, owner string) (*addressRange, netip.Addr) {
	for _, text := range slices.Sorted(maps.Keys(pool.Status.AllocatedHistory)) {
		address, err := netip.ParseAddr(text)
		if err != nil || pool.Status.AllocatedHistory[text] != owner || pool.Status.Allocated[text] != "" {
			continue
		}
		if i := slices.IndexFunc(spans, func(s addressRange) bool { return s.contains(address) }); i >= 0 {
			return &spans[i], address
		}
	}
	return nil, netip.Addr{}
}

// nextFree returns the next free address after the last allocated one, with its range, wrapping around at the end, or nil.
func nextFree(pool *lbv1.IPPool, spans []addressRange) (*addressRange, netip.Addr) {
	if len(spans) == 0 {
		return nil, netip.Addr{}
	}
	last, _ := netip.ParseAddr(pool.Status.LastAllocated)
	begin := max(0, slices.IndexFunc(spans, func(s addressRange) bool { return s.contains(last) }))
	for i := range len(spans) + 1 {
		s := &spans[(begin+i)%len(spans)]
		address := s.first
		if i == 0 && s.contains(last) {
			address = last.Next()
		}
		for ; address.IsValid() && !s.last.Less(address); address = address.Next() {
			if s.contains(address) && pool.Status.Allocated[address.String()] == "" {
				return s, address
			}
		}
	}
	return nil, netip.Addr{}
}

func recordAllocation(pool *lbv1.IPPool, from addressRange, address netip.Addr, owner string) lbv1.AllocatedAddress {
	if pool.Status.Allocated == nil {
		pool.Status.Allocated = map[string]string{}
	}
	pool.Status.Allocated[address.String()] = owner
	delete(pool.Status.AllocatedHistory, address.String())
	pool.Status.LastAllocated = address.String()
	pool.Status.Available--
	out := lbv1.AllocatedAddress{IPPool: pool.Name, IP: address.String(), Mask: from.mask}
	if from.gateway.IsValid() {
		out.Gateway = from.gateway.String()
	}
	return out
}

// releaseAddresses releases all addresses of the owner and reports whether it had any.
func releaseAddresses(pool *lbv1.IPPool, owner string) bool {
	found := false
	for address, id := range pool.Status.Allocated {
		if id != owner {
			continue
		}
		if pool.Status.AllocatedHistory == nil {
			pool.Status.AllocatedHistory = map[string]string{}
		}
		found, pool.Status.AllocatedHistory[address] = true, owner
		delete(pool.Status.Allocated, address)
		pool.Status.Available++
	}
	return found
}

// pools maintains the status of IPPools.
type pools struct {
	client client.Client
	faults *controllers.FaultTable
}

// Reconcile updates the number of addresses of a pool, and of free ones.
func (r *pools) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool := &lbv1.IPPool{}
	if err := r.client.Get(ctx, req.NamespacedName, pool); err != nil || pool.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.faults.Has(controllers.NoLoadBalancer, pool) {
		return ctrl.Result{}, nil
	}
	before := pool.Status.DeepCopy()
	spans, err := parseRanges(pool)
	if err != nil {
		return ctrl.Result{}, err
	}
	pool.Status.Total = 0
	for _, s := range spans {
		pool.Status.Total += s.size()
	}
	pool.Status.Available = pool.Status.Total - int64(len(pool.Status.Allocated))
	setReadyCondition(&pool.Status.Conditions, corev1.ConditionTrue, "", "")
	if apiequality.Semantic.DeepEqual(*before, pool.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.client.Update(ctx, pool); controllers.IgnoreStale(err) != nil {
		return ctrl.Result{}, fmt.Errorf("updating pool: %w", err)
	}
	return ctrl.Result{}, nil
}

// setReadyCondition sets condition Ready of a pool or load balancer, and its transition time if it changes.
func setReadyCondition(conditions *[]lbv1.Condition, status corev1.ConditionStatus, reason, message string) {
	now := time.Now().UTC().Format(time.RFC3339)
	wanted := lbv1.Condition{Type: lbv1.ReadyCondition, Status: status, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now}
	i := slices.IndexFunc(*conditions, func(c lbv1.Condition) bool { return c.Type == lbv1.ReadyCondition })
	if i < 0 {
		*conditions = append(*conditions, wanted)
		return
	}
	have := &(*conditions)[i]
	if have.Status == status && have.Reason == reason && have.Message == message {
		return
	}
	if have.Status == status {
		wanted.LastTransitionTime = have.LastTransitionTime
	}
	*have = wanted
}

// requirement is what a load balancer that names no pool requires of one.
type requirement struct{ network, project, namespace, cluster string }

const (
	lbPrefix          = "loadbalancer.harvesterhci.io/"
	networkAnnotation = lbPrefix + "network"
	anyValue          = "*"
)

func requirementOf(lb *lbv1.LoadBalancer) requirement {
	return requirement{
		network: lb.Annotations[networkAnnotation], project: lb.Annotations[lbPrefix+"project"],
		namespace: cmp.Or(lb.Annotations[lbPrefix+"namespace"], lb.Namespace), cluster: lb.Annotations[lbPrefix+"cluster"],
	}
}

// choose returns the pool with the highest priority whose network and scope match, else the global pool.
func (r requirement) choose(pools []lbv1.IPPool) *lbv1.IPPool {
	var best, global *lbv1.IPPool
	for i := range pools {
		pool := &pools[i]
		switch {
		case slices.Equal(pool.Spec.Selector.Scope, []lbv1.Tuple{{Project: anyValue, Namespace: anyValue, GuestCluster: anyValue}}):
			global = pool
		case pool.Spec.Selector.Network == r.network && slices.ContainsFunc(pool.Spec.Selector.Scope, r.inScope):
			if best == nil || pool.Spec.Selector.Priority >= best.Spec.Selector.Priority {
				best = pool
			}
		}
	}
	if best == nil {
		return global
	}
	return best
}

func (r requirement) inScope(scope lbv1.Tuple) bool {
	same := func(a, b string) bool { return a == b || a == anyValue || b == anyValue }
	return same(scope.Project, r.project) && same(scope.Namespace, r.namespace) && same(scope.GuestCluster, r.cluster)
}

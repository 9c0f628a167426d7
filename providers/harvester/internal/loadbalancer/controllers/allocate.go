// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// allocate allocates an address to the load balancer. It returns the desired pool, and a problem that an event may resolve. An address of
// another pool stays in the status until there is one of the desired pool.
func (s *scope) allocate(ctx context.Context) (wanted string, why problem, err error) {
	if wrong := loadbalancer.Validate(s.lb.Spec); len(wrong) > 0 && s.lb.Status.AllocatedAddress.IP == "" {
		return "", problem{reasonRefused, wrong.ToAggregate().Error()}, nil // one that was accepted earlier continues as far as possible
	}
	known := s.restore()
	if wrong := modeChanged(s.lb); wrong != "" {
		return s.lb.Status.AllocatedAddress.IPPool, problem{reasonModeChanged, wrong}, s.recordClaim(ctx, "")
	}
	if isDHCP(s.lb) {
		return "", problem{}, s.useDHCP(ctx)
	}
	wanted, why, err = s.selectPool(ctx, known)
	if err != nil || wanted == "" {
		return "", why, err
	}
	if known && s.lb.Status.AllocatedAddress.IPPool == wanted {
		return wanted, problem{}, s.recordClaim(ctx, "")
	}
	if why, err = s.checkScope(ctx, wanted); err != nil || why != (problem{}) {
		return "", why, err
	}
	if err := s.recordClaim(ctx, wanted); err != nil {
		return wanted, problem{}, err
	}
	why, err = s.claim(ctx, wanted)
	return wanted, why, err
}

// useDHCP leaves the address to a DHCP server.
func (s *scope) useDHCP(ctx context.Context) error {
	if err := s.recordClaim(ctx, ""); err != nil {
		return err
	}
	s.lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IP: lbv1.UnspecifiedAddress}
	return nil
}

// checkScope returns a problem if a pool that the load balancer names, or whose address it shows, is not for it.
func (s *scope) checkScope(ctx context.Context, name string) (problem, error) {
	pool, err := reconcile.Find(ctx, s.Client, types.NamespacedName{Name: name}, &lbv1.IPPool{})
	if err != nil || pool == nil {
		return problem{}, err // claim reports a missing pool
	}
	if entitled, err := s.Addresses.Entitles(ctx, pool, s.lb); err != nil || entitled {
		return problem{}, err
	}
	return problem{reasonNotInScope, fmt.Sprintf("IPPool %s may not be used: no scope of the pool matches namespace %s, project %q and guest cluster %q: add one to "+
		"spec.selector.scope of the pool, or name another pool", name, s.lb.Namespace, s.lb.Annotations[lbv1.ProjectAnnotation], s.lb.Annotations[lbv1.ClusterAnnotation])}, nil
}

// verifyStatus removes an address from the status that no pool has confirmed and that is not announced: any client can write it, and it
// would be announced.
func (s *scope) verifyStatus(ctx context.Context) error {
	has := s.lb.Status.AllocatedAddress
	if has == (lbv1.AllocatedAddress{}) || has.IPPool == "" && has.IP == lbv1.UnspecifiedAddress || s.restore() {
		return nil
	}
	if announced, err := s.announced(ctx); err != nil || announced {
		return err
	}
	setAddress(s.lb, lbv1.AllocatedAddress{})
	return nil
}

// announced reports whether the address in the status is announced.
func (s *scope) announced(ctx context.Context) (bool, error) {
	has, by := s.lb.Status.AllocatedAddress.IP, s.lb.Status.Address
	if isForVMs(s.lb) {
		service, err := reconcile.Find(ctx, s.Client, s.key(), &corev1.Service{})
		if err != nil {
			return false, err
		}
		by = ""
		if service != nil && belongs(s.lb, service) {
			by = announcedBy(service)
		}
	}
	return has != "" && by == has, nil
}

// confirmed is the address of a load balancer according to its pool.
type confirmed struct {
	uid     types.UID
	address lbv1.AllocatedAddress
}

// restore sets the status to the confirmed address and reports whether there is one: another client may have written another address.
func (s *scope) restore() bool {
	known, ok := s.confirmed.Load(s.key())
	if !ok || known.(confirmed).uid != s.lb.UID {
		return false
	}
	setAddress(s.lb, known.(confirmed).address)
	return true
}

// confirm records the address according to the pool.
func (s *scope) confirm(address lbv1.AllocatedAddress) {
	setAddress(s.lb, address)
	s.confirmed.Store(s.key(), confirmed{uid: s.lb.UID, address: address})
}

// selectPool returns the desired pool of the load balancer: the one that it names, else the one of its address, else the best
// match. A load balancer whose address has no pool keeps it: addresses do not change because pools were created. For an
// unconfirmed status, the address counts and not the name of the pool, because any client can write it.
func (s *scope) selectPool(ctx context.Context, known bool) (string, problem, error) {
	if named := s.lb.Spec.IPPool; named != "" {
		if !ippools.IsName(named) { // the load balancer has an address and keeps it
			return "", problem{reasonRefused, loadbalancer.Validate(s.lb.Spec).ToAggregate().Error()}, nil
		}
		return named, problem{}, nil
	}
	has := s.lb.Status.AllocatedAddress
	if known && has.IPPool != "" {
		return has.IPPool, problem{}, nil
	}
	pools := &lbv1.IPPoolList{}
	if err := s.Client.List(ctx, pools, client.UnsafeDisableDeepCopy); err != nil { // read-only, and pools can be large
		return "", problem{}, fmt.Errorf("listing pools: %w", err)
	}
	if pool := ippools.Covering(pools.Items, has.IP); pool != nil {
		return pool.Name, problem{}, nil
	}
	switch {
	case has.IPPool != "":
		return has.IPPool, problem{}, nil
	case has.IP != "":
		return "", problem{reasonNoPool, fmt.Sprintf("address %s is in no IPPool: create one that contains it, or name another pool in spec.ipPool "+
			"to get another address", has.IP)}, nil
	}
	pool, err := ippools.Select(pools.Items, requirement(s.lb))
	if err != nil {
		return "", problem{reasonNoPool, err.Error()}, nil //nolint:nilerr // a pool that is made ends it
	}
	return pool.Name, problem{}, nil
}

// claim allocates an address of the pool: the one that the load balancer shows, if the pool contains it. It then sets and confirms it.
func (s *scope) claim(ctx context.Context, pool string) (problem, error) {
	has := s.lb.Status.AllocatedAddress
	kept, err := s.keep(ctx, pool, has)
	if err != nil {
		return problem{}, err
	}
	if kept && has.IPPool == pool {
		s.confirm(has)
		return problem{}, nil
	}
	claimed, err := s.Addresses.Claim(ctx, pool, id(s.lb))
	resting := &allocation.QuarantineError{}
	switch {
	case errors.As(err, &resting):
		s.again = resting.For
		return problem{reasonExhausted, fmt.Sprintf("%s in IPPool %s: wait until a released address may be allocated again, %s after its release, or add a range to the pool",
			noAvailableIP, pool, resting.Period)}, nil
	case errors.Is(err, allocation.ErrExhausted):
		return problem{reasonExhausted, fmt.Sprintf("%s in IPPool %s: add a range to it, or delete load balancers or machines that hold its addresses",
			noAvailableIP, pool)}, nil
	case apierrors.IsNotFound(err):
		return s.missing(pool), nil
	case err != nil:
		return problem{}, err
	}
	address := allocated(claimed)
	switch {
	case has.IP == "":
		s.recordEvent(corev1.EventTypeNormal, "AddressAllocated", "Allocated address %s of IPPool %s", address.IP, address.IPPool)
	case has.IP != address.IP:
		s.recordEvent(corev1.EventTypeNormal, "AddressChanged", "Allocated address %s of IPPool %s, which replaces %s of %s", address.IP, address.IPPool, has.IP, has.IPPool)
	}
	s.confirm(address)
	return problem{}, nil
}

// missing returns the problem of a pool that does not exist.
func (s *scope) missing(pool string) problem {
	by := "named by spec.ipPool"
	if s.lb.Spec.IPPool != pool {
		by = "named by status.allocatedAddress"
	}
	return problem{reasonNoPool, fmt.Sprintf("IPPool %s, %s, does not exist: create it, or name another pool", pool, by)}
}

// keep records the load balancer as holder of the address in its status, which it should already be. It returns false if the address has
// another holder or is not in the pool.
func (s *scope) keep(ctx context.Context, pool string, has lbv1.AllocatedAddress) (bool, error) {
	addr, err := netip.ParseAddr(has.IP)
	if err != nil {
		return false, nil //nolint:nilerr // an invalid address is not kept
	}
	switch err := s.Addresses.Give(ctx, pool, id(s.lb), addr.Unmap()); {
	case errors.Is(err, allocation.ErrHeld), errors.Is(err, allocation.ErrOutside):
		return false, nil
	case apierrors.IsNotFound(err) && has.IPPool == pool:
		return s.announced(ctx) // a deleted pool allocates no address; one that is not announced may never have been in it
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

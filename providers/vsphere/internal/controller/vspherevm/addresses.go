// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

const vmKind = "VSphereVM"

// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=inclusterippools;globalinclusterippools,verbs=get

// claims returns the owner of the virtual machine's claims. Addresses are in use as soon as there may be a guest that is
// configured with them.
func (r *Reconciler) claims(s *scope) ipamclaim.Owner {
	return ipamclaim.Owner{
		Client: r.Client, Repeats: &r.claimed, Pools: r.Live, Object: s.vm, Kind: infrav1.GroupVersion.WithKind(vmKind), Finalizer: infrav1.IPAddressClaimFinalizer,
		User: func(context.Context) (string, error) {
			if s.found || s.vm.Status.VMRef != "" || s.vm.Spec.BiosUUID != "" {
				return "virtual machine " + s.vm.Name, nil
			}
			return "", nil
		},
	}
}

// allocation holds the state of a virtual machine's claims.
type allocation struct {
	allocated []virtualmachine.PoolAddress
	// waiting and problems are messages about claims without an address: those that are pending, and those that need action by
	// the user.
	waiting, problems []string
	// retryAfter is when to reconcile again without an event; 0 means never.
	retryAfter time.Duration
}

func (a *allocation) retryWithin(after time.Duration) {
	if after > 0 && (a.retryAfter == 0 || after < a.retryAfter) {
		a.retryAfter = after
	}
}

// message returns the problems and pending claims, or "" if all addresses are allocated.
func (a *allocation) message() string {
	return strings.Join(slices.Concat(a.problems, a.waiting), "; ")
}

// addressFunc is Owner.Address, which creates missing claims, or Owner.Held.
type addressFunc func(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (ipamclaim.Answer, error)

// rejectDuplicates wraps ask and rejects addresses that another claim has.
func (r *Reconciler) rejectDuplicates(namespace string, ask addressFunc) addressFunc {
	return func(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (ipamclaim.Answer, error) {
		answer, err := ask(ctx, name, pool)
		if err != nil || answer.Address == nil {
			return answer, err
		}
		other, err := r.allocatedBefore(ctx, namespace, name, answer.Address)
		if err != nil || other == "" {
			return answer, err
		}
		return ipamclaim.Answer{Problem: fmt.Sprintf("%s %s assigned %s to IPAddressClaim %s, but it already belongs to %s: fix the pool, then delete the Machine",
			pool.Kind, pool.Name, answer.Address.Address, name, other)}, nil
	}
}

// allocate requests every address.
func allocate(ctx context.Context, vm *infrav1.VSphereVM, ask addressFunc) (*allocation, error) {
	a := &allocation{}
	for i, device := range vm.Spec.Network.Devices {
		for j, pool := range device.AddressesFromPools {
			name := virtualmachine.ClaimName(vm.Name, i, j)
			answer, err := ask(ctx, name, ipamclusterv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name})
			var refused *reconcile.RejectedError
			switch {
			case errors.As(err, &refused):
				a.problems = append(a.problems, refused.Error())
				a.retryWithin(refused.Again())
			case err != nil:
				return nil, err
			case answer.Address != nil:
				a.allocated = append(a.allocated, virtualmachine.PoolAddress{Claim: name, Device: i, IPAddressSpec: *answer.Address})
			case answer.Problem != "":
				a.problems = append(a.problems, answer.Problem)
			default:
				a.waiting = append(a.waiting, fmt.Sprintf("Waiting for %s %s to assign an address to IPAddressClaim %s", pool.Kind, pool.Name, name))
			}
			a.retryWithin(answer.RetryAfter)
		}
	}
	return a, nil
}

// fromPools reports whether a card gets addresses from pools.
func fromPools(vm *infrav1.VSphereVM) bool {
	return slices.ContainsFunc(vm.Spec.Network.Devices, func(d infrav1.NetworkDeviceSpec) bool { return len(d.AddressesFromPools) > 0 })
}

// network returns the machine's network with the addresses allocated by its pools. It returns nil while an address is missing
// or invalid, which condition IPAddressClaimsFulfilled reports. If the guest has its addresses (hasThem), no new ones are
// claimed.
func (r *Reconciler) network(ctx context.Context, s *scope, hasThem bool) (*infrav1.NetworkSpec, *allocation, error) {
	if !fromPools(s.vm) {
		conditions.Delete(s.vm, infrav1.VSphereVMIPAddressClaimsFulfilledCondition) // set by another manager
		return &s.vm.Spec.Network, &allocation{}, nil
	}
	ask := r.rejectDuplicates(s.vm.Namespace, r.claims(s).Address)
	if hasThem {
		ask = r.claims(s).AddressInUse
	}
	a, err := allocate(ctx, s.vm, ask)
	if err != nil {
		return nil, nil, err
	}
	network, err := virtualmachine.NetworkWithPoolAddresses(s.vm.Spec.Network, a.allocated)
	if err != nil {
		a.problems = append(a.problems, strings.Split(err.Error(), "\n")...)
	}
	switch {
	case len(a.problems) > 0:
		status.False(s.vm, infrav1.VSphereVMIPAddressClaimsFulfilledCondition, infrav1.VSphereVMIPAddressClaimsNotFulfilledReason, a.message())
	case len(a.waiting) > 0:
		status.False(s.vm, infrav1.VSphereVMIPAddressClaimsFulfilledCondition, infrav1.VSphereVMIPAddressClaimsWaitingForIPAddressReason, a.message())
	default:
		status.True(s.vm, infrav1.VSphereVMIPAddressClaimsFulfilledCondition, infrav1.VSphereVMIPAddressClaimsFulfilledReason)
		return &network, a, nil
	}
	return nil, a, nil
}

// awaitAddresses claims the addresses before the virtual machine is created, so that none is created that cannot be configured.
func (r *Reconciler) awaitAddresses(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if fromPools(s.vm) {
		if err := s.patch.StoreSpec(ctx, r.Client, s.vm); err != nil { // stores the finalizer before anything is claimed
			return reconcile.Wait, err
		}
	}
	network, a, err := r.network(ctx, s, false)
	if err != nil || network != nil {
		return reconcile.Proceed, err
	}
	return r.unaddressed(s, a), nil
}

// unaddressed reports why addresses are missing. An event ends the wait.
func (r *Reconciler) unaddressed(s *scope, a *allocation) reconcile.Progress {
	const reason = infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason
	if len(a.problems) > 0 {
		r.fail(s, reason, a.message())
	} else {
		setProvisioned(s.vm, reason, a.message())
	}
	return reconcile.Retry(a.retryAfter)
}

// addressed returns the network with which to configure the guest. A running guest is not reconfigured while an address is
// missing, which the condition reports.
func (r *Reconciler) addressed(ctx context.Context, s *scope, runs, hasThem bool) (*infrav1.NetworkSpec, reconcile.Progress, error) {
	network, a, err := r.network(ctx, s, hasThem)
	switch {
	case err != nil:
		return nil, reconcile.Wait, err
	case network != nil:
		return network, reconcile.Proceed, nil
	case !runs:
		return nil, r.unaddressed(s, a), nil
	}
	if a.retryAfter > 0 && (s.later == 0 || a.retryAfter < s.later) {
		s.later = a.retryAfter
	}
	return nil, reconcile.Proceed, nil
}

// releaseAddresses releases all claims. No guest uses the addresses any more.
func (r *Reconciler) releaseAddresses(ctx context.Context, s *scope) error {
	claims := r.claims(s)
	if err := claims.ReleaseAll(ctx); err != nil {
		return err
	}
	return claims.ReleaseNamed(ctx, r.Live, virtualmachine.ClaimNames(s.vm.Name, s.vm.Spec.Network.Devices)...)
}

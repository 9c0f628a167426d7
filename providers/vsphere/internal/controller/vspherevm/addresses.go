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
	"github.com/faultline-io/faultline/providers/vsphere/internal/ipam"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

const vmKind = "VSphereVM"

// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=inclusterippools;globalinclusterippools,verbs=get

// claims are the virtual machine's. Its addresses are in use from the moment in which there may be a guest that was told.
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

// allocation is what has become of the claims of a virtual machine.
type allocation struct {
	given []ipam.Given
	// waiting and problems are messages about those that have no address: yet, and until somebody does something.
	waiting, problems []string
	// retryAfter is when to look again although nothing has happened; 0 for never.
	retryAfter time.Duration
}

func (a *allocation) askAgain(after time.Duration) {
	if after > 0 && (a.retryAfter == 0 || after < a.retryAfter) {
		a.retryAfter = after
	}
}

// message is what there is to say; "" when all addresses are there.
func (a *allocation) message() string {
	return strings.Join(slices.Concat(a.problems, a.waiting), "; ")
}

// asking is Owner.Address, which claims what is not yet claimed, or Owner.Held.
type asking func(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (ipamclaim.Answer, error)

// unlessTwice is the same for answers that no other claim has.
func (r *Reconciler) unlessTwice(namespace string, ask asking) asking {
	return func(ctx context.Context, name string, pool ipamclusterv1.IPPoolReference) (ipamclaim.Answer, error) {
		answer, err := ask(ctx, name, pool)
		if err != nil || answer.Address == nil {
			return answer, err
		}
		other, err := r.givenBefore(ctx, namespace, name, answer.Address)
		if err != nil || other == "" {
			return answer, err
		}
		return ipamclaim.Answer{Problem: fmt.Sprintf("%s %s has given %s to IPAddressClaim %s, and to %s before: repair the pool, then delete the Machine",
			pool.Kind, pool.Name, answer.Address.Address, name, other)}, nil
	}
}

// allocate asks for every address.
func allocate(ctx context.Context, vm *infrav1.VSphereVM, ask asking) (*allocation, error) {
	a := &allocation{}
	for i, device := range vm.Spec.Network.Devices {
		for j, pool := range device.AddressesFromPools {
			name := ipam.ClaimName(vm.Name, i, j)
			answer, err := ask(ctx, name, ipamclusterv1.IPPoolReference{APIGroup: pool.APIGroup, Kind: pool.Kind, Name: pool.Name})
			var refused *reconcile.RefusedError
			switch {
			case errors.As(err, &refused):
				a.problems = append(a.problems, refused.Error())
				a.askAgain(refused.Again())
			case err != nil:
				return nil, err
			case answer.Address != nil:
				a.given = append(a.given, ipam.Given{Claim: name, Device: i, IPAddressSpec: *answer.Address})
			case answer.Problem != "":
				a.problems = append(a.problems, answer.Problem)
			default:
				a.waiting = append(a.waiting, fmt.Sprintf("Waiting for %s %s to give an address to IPAddressClaim %s", pool.Kind, pool.Name, name))
			}
			a.askAgain(answer.RetryAfter)
		}
	}
	return a, nil
}

// fromPools reports whether a card gets addresses of pools.
func fromPools(vm *infrav1.VSphereVM) bool {
	return slices.ContainsFunc(vm.Spec.Network.Devices, func(d infrav1.NetworkDeviceSpec) bool { return len(d.AddressesFromPools) > 0 })
}

// network is the machine's with the addresses that its pools have given. It is nil as long as one is missing or wrong, which condition
// IPAddressClaimsFulfilled then says. Of a guest that has its addresses, no other is claimed.
func (r *Reconciler) network(ctx context.Context, s *scope, hasThem bool) (*infrav1.NetworkSpec, *allocation, error) {
	if !fromPools(s.vm) {
		conditions.Delete(s.vm, infrav1.VSphereVMIPAddressClaimsFulfilledCondition) // another manager's
		return &s.vm.Spec.Network, &allocation{}, nil
	}
	ask := r.unlessTwice(s.vm.Namespace, r.claims(s).Address)
	if hasThem {
		ask = r.claims(s).Held
	}
	a, err := allocate(ctx, s.vm, ask)
	if err != nil {
		return nil, nil, err
	}
	network, err := ipam.Network(s.vm.Spec.Network, a.given)
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

// awaitAddresses claims the addresses before there is a virtual machine, so that none stands in vCenter that cannot go on.
func (r *Reconciler) awaitAddresses(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if fromPools(s.vm) {
		if err := s.patch.StoreSpec(ctx, r.Client, s.vm); err != nil { // its finalizer is there before it claims anything
			return reconcile.Wait, err
		}
	}
	network, a, err := r.network(ctx, s, false)
	if err != nil || network != nil {
		return reconcile.Proceed, err
	}
	return r.unaddressed(s, a), nil
}

// unaddressed says what keeps the addresses from coming. An event ends the wait.
func (r *Reconciler) unaddressed(s *scope, a *allocation) reconcile.Progress {
	const reason = infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason
	if len(a.problems) > 0 {
		r.fail(s, reason, a.message())
	} else {
		setProvisioned(s.vm, reason, a.message())
	}
	return reconcile.Retry(a.retryAfter)
}

// addressed is the network that the guest is to be told. A guest that runs is told nothing as long as an address is missing; the
// condition says so.
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

// releaseAddresses gives everything back that was claimed. There is no guest any more that would use it.
func (r *Reconciler) releaseAddresses(ctx context.Context, s *scope) error {
	claims := r.claims(s)
	if err := claims.ReleaseAll(ctx); err != nil {
		return err
	}
	return claims.ReleaseNamed(ctx, r.Live, ipam.ClaimNames(s.vm.Name, s.vm.Spec.Network.Devices)...)
}

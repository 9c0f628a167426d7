// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// recordIdentity stores what identifies the machine's objects before any exists on Harvester: the machine's id, the pools that its
// address may come from, and the finalizer.
func (r *Reconciler) recordIdentity(ctx context.Context, s *scope) (reconcile.Progress, error) {
	// An address that was allocated before Faultline may have no recorded pool.
	poolUnrecorded := s.infra.Status.AllocatedIPAddress != "" && s.infra.Status.AllocatedPoolRef == ""
	if s.vm == nil || poolUnrecorded {
		if err := s.choosePools(ctx); err != nil && !poolUnrecorded {
			return r.holdIfRefused(s, err)
		}
	}
	controllerutil.AddFinalizer(s.infra, infrav1.MachineFinalizer)
	controllerutil.RemoveFinalizer(s.infra, infrav1.MachineFinalizerLegacy)
	s.identify(s.vm)
	if all := union(s.recordedPools(), append(s.pools, s.infra.Status.AllocatedPoolRef)); len(all) > 0 {
		if len(s.recordedPools()) == 0 && s.infra.Status.AllocatedIPAddress == "" {
			s.recordHolder() // nothing has been allocated for it yet
		}
		metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.IPPoolsAnnotation, strings.Join(all, ","))
	}
	return reconcile.Proceed, s.patch.StoreSpec(ctx, r.Client, s.infra)
}

// identify gives the machine an id unless it has one, and records that the id belongs to it. A removed id is restored from the
// label of the virtual machine, which may be nil.
func (s *scope) identify(vm *kubevirtv1.VirtualMachine) {
	if s.infra.Annotations[infrav1.MachineIDAnnotation] == "" {
		id := virtualmachine.IDOf(vm, s.infra)
		if id == "" {
			id = uuid.NewString()
		}
		metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.MachineIDAnnotation, id)
	}
	metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.IDOfAnnotation, infrav1.Owner(s.infra.Namespace, s.infra.Name))
}

// network returns the configuration for pool addresses that applies to the machine; nil without one.
func (s *scope) network() *infrav1.VMNetworkConfig {
	switch declared := s.declaredDomain(); {
	case s.infra.Spec.VMNetworkConfig != nil:
		return s.infra.Spec.VMNetworkConfig
	case declared.VMNetworkConfig != nil:
		return declared.VMNetworkConfig
	default:
		return s.infraCluster.Spec.VMNetworkConfig
	}
}

// choosePools selects the pools for the machine's address.
func (s *scope) choosePools(ctx context.Context) error {
	config := s.network()
	if config == nil || s.infra.Spec.NetworkConfig != nil {
		return nil
	}
	all := &lbv1.IPPoolList{}
	if len(config.PoolRefs()) == 0 {
		if err := s.conn.List(ctx, all); err != nil {
			return fmt.Errorf("listing IPPools of Harvester: %w", err)
		}
	}
	if s.pools = owned.PoolsForMachines(s.infraCluster, config, all.Items); len(s.pools) == 0 {
		return refuse(infrav1.WaitingForAddressReason, "Waiting for the IPPool of spec.vmNetworkConfig.ipPool: see condition %s of HarvesterCluster %s",
			infrav1.VMIPPoolReadyCondition, s.infraCluster.Name)
	}
	return nil
}

func (s *scope) recordedPools() []string {
	recorded := s.infra.Annotations[infrav1.IPPoolsAnnotation]
	if recorded == "" {
		return nil
	}
	return strings.Split(recorded, ",")
}

func union(a, b []string) []string {
	for _, one := range b {
		if one != "" && !slices.Contains(a, one) {
			a = append(a, one)
		}
	}
	return a
}

// claimAddress determines the machine's address before it boots. It is idempotent.
func (r *Reconciler) claimAddress(ctx context.Context, s *scope) (reconcile.Progress, error) {
	switch given := s.infra.Spec.NetworkConfig; {
	case s.vm != nil:
		return reconcile.Proceed, s.restoreAddress(ctx)
	case given != nil:
		static, err := virtualmachine.StaticFromSpec(given, s.network())
		if err != nil {
			return r.holdIfRefused(s, refuse(infrav1.MachineSpecInvalidReason, "spec.%s: correct it in the template, and delete the Machine", err))
		}
		s.wanted.Static = static
		return reconcile.Proceed, nil
	case len(s.pools) == 0:
		return reconcile.Proceed, nil
	}
	claimed, err := r.Addresses.Claim(ctx, s.conn, s.pools, s.holder(), s.wanted.Networks)
	var none *ipam.NoAddressError
	if errors.As(err, &none) {
		status.False(s.infra, infrav1.VMIPAllocatedCondition, claimFailureReason(none), none.Error())
		return r.hold(s, distribution.Refusal{Reason: infrav1.WaitingForAddressReason, Message: none.Error()}), nil
	}
	if err != nil {
		return reconcile.Wait, err
	}
	s.setAddress(claimed)
	static, err := virtualmachine.StaticFromPool(claimed.IP, claimed.Subnet, claimed.Gateway, s.network())
	if err != nil {
		return r.holdIfRefused(s, refuse(infrav1.MachineSpecInvalidReason, "%s: correct it", err))
	}
	s.wanted.Static = static
	return reconcile.Proceed, nil
}

func (s *scope) setAddress(claimed ipam.Claimed) {
	s.infra.Status.AllocatedIPAddress, s.infra.Status.AllocatedPoolRef = claimed.IP.String(), claimed.Pool
	status.True(s.infra, infrav1.VMIPAllocatedCondition, infrav1.VMIPAllocatedReason)
}

func claimFailureReason(none *ipam.NoAddressError) string {
	switch {
	case none.Exhausted:
		return infrav1.VMIPPoolExhaustedReason
	case none.OtherNetwork:
		return infrav1.IPPoolNetworkMismatchReason
	case none.Missing:
		return infrav1.IPPoolNotFoundReason
	default:
		return infrav1.VMIPAllocationFailedReason
	}
}

// restoreAddress restores the static address of an existing machine, because a clusterctl move can lose the status.
func (s *scope) restoreAddress(ctx context.Context) error {
	if given := s.infra.Spec.NetworkConfig; given != nil {
		s.wanted.Static, _ = virtualmachine.StaticFromSpec(given, s.network()) // the machine was created with it
		return nil
	}
	if s.infra.Status.AllocatedIPAddress == "" && s.isHolder() {
		held, err := ipam.Held(ctx, s.conn, s.recordedPools(), s.holder())
		if err != nil {
			return err
		}
		if held.Pool != "" {
			s.setAddress(held)
		}
	}
	if addr, err := netip.ParseAddr(s.infra.Status.AllocatedIPAddress); err == nil {
		s.wanted.Static = &virtualmachine.Static{Address: netip.PrefixFrom(addr, addr.BitLen())}
		if !s.disputed {
			status.True(s.infra, infrav1.VMIPAllocatedCondition, infrav1.VMIPAllocatedReason)
		}
	} else {
		conditions.Delete(s.infra, infrav1.VMIPAllocatedCondition)
	}
	return nil
}

// releaseAddress releases the address and removes it from the status.
func (r *Reconciler) releaseAddress(ctx context.Context, s *scope) error {
	if !s.isHolder() {
		return r.recordAddressLeft(ctx, s)
	}
	if err := r.Addresses.Release(ctx, s.conn, s.addressPools(), s.holder()); err != nil {
		return err
	}
	s.infra.Status.AllocatedIPAddress, s.infra.Status.AllocatedPoolRef = "", ""
	conditions.Delete(s.infra, infrav1.VMIPAllocatedCondition)
	return nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// formerHolder returns the machine's holder name in a pool as upstream and earlier releases use it, without the id. Machines of other
// management clusters can have the same one.
func (s *scope) formerHolder() string { return s.infra.Namespace + "/" + s.infra.Name }

// holder returns the machine's unique holder name in a pool.
func (s *scope) holder() string {
	if s.isHolder() {
		return s.infra.Annotations[infrav1.IPHolderAnnotation]
	}
	return allocation.Apart(s.formerHolder(), s.infra.Annotations[infrav1.MachineIDAnnotation])
}

// isHolder reports whether the machine's allocations are held under its unique holder name; otherwise they may be held under
// formerHolder. It reports false for a holder name that was copied from another machine.
func (s *scope) isHolder() bool {
	return strings.HasPrefix(s.infra.Annotations[infrav1.IPHolderAnnotation], allocation.Apart(s.formerHolder(), ""))
}

func (s *scope) recordHolder() {
	metav1.SetMetaDataAnnotation(&s.infra.ObjectMeta, infrav1.IPHolderAnnotation, s.holder())
}

// addressPools lists the pools in which the machine may have an address.
func (s *scope) addressPools() []string {
	return union(s.recordedPools(), []string{s.infra.Status.AllocatedPoolRef})
}

// adoptAddress transfers an address from the machine's former holder name to its unique one. This happens once, and the address is then
// released only for this machine. An address that another holder has got stays with that holder.
func (r *Reconciler) adoptAddress(ctx context.Context, s *scope) (reconcile.Progress, error) {
	if s.isHolder() || len(s.addressPools()) == 0 {
		return reconcile.Proceed, nil
	}
	addr, err := s.usedAddress(ctx)
	if err != nil {
		return reconcile.Wait, err
	}
	if !addr.IsValid() {
		return reconcile.Proceed, r.startWithoutAddress(ctx, s)
	}
	if p := s.acquireSlot(); p != reconcile.Proceed {
		return p, nil
	}
	if err := r.ensureID(ctx, s); err != nil {
		return reconcile.Wait, err
	}
	kept, err := r.Addresses.Adopt(ctx, s.conn, s.addressPools(), addr, s.holder())
	if errors.Is(err, allocation.ErrHeld) {
		s.reportDisputed(addr)
		return reconcile.Proceed, nil
	}
	if err != nil {
		return reconcile.Wait, err
	}
	s.recordHolder()
	if kept.Pool != "" {
		s.setAddress(kept)
	}
	return reconcile.Proceed, nil
}

// ensureID stores the id before the address is held under it. A machine that has no virtual machine yet, or is being provisioned, has
// already stored its id.
func (r *Reconciler) ensureID(ctx context.Context, s *scope) error {
	if s.infra.Annotations[infrav1.MachineIDAnnotation] != "" {
		return nil
	}
	s.identify(s.vm)
	return s.patch.StoreSpec(ctx, r.Client, s.infra)
}

// usedAddress returns the address that the machine uses according to its status or, if the status was lost, to the instance of its
// virtual machine. It returns the zero Addr if neither shows one: an allocation of the former holder does not prove it.
func (s *scope) usedAddress(ctx context.Context) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(s.infra.Status.AllocatedIPAddress); err == nil {
		return addr.Unmap(), nil
	}
	held, err := ipam.Held(ctx, s.conn, s.addressPools(), s.formerHolder())
	if err != nil || held.Pool == "" {
		return netip.Addr{}, err
	}
	vmi := &kubevirtv1.VirtualMachineInstance{}
	if err := s.conn.Get(ctx, s.vmKey(), vmi); err != nil {
		return netip.Addr{}, client.IgnoreNotFound(err)
	}
	if virtualmachine.Marked(vmi, s.infra) && virtualmachine.ReportsAddress(vmi, held.IP) {
		return held.IP, nil
	}
	return netip.Addr{}, nil
}

// startWithoutAddress lets a machine without a virtual machine allocate its own address, regardless of the former holder's allocation,
// which may belong to another machine.
func (r *Reconciler) startWithoutAddress(ctx context.Context, s *scope) error {
	if s.vm != nil || !s.infra.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.recordAddressLeft(ctx, s); err != nil {
		return err
	}
	s.recordHolder()
	return nil
}

// recordAddressLeft records an event for an address that may or may not belong to the machine.
func (r *Reconciler) recordAddressLeft(ctx context.Context, s *scope) error {
	held, err := ipam.Held(ctx, s.conn, s.addressPools(), s.formerHolder())
	if err != nil || held.Pool == "" {
		return err
	}
	r.warn(s, "AddressLeft", "Release", "IPPool %s holds %s for %s, which is this machine or one with the same name in another "+
		"management cluster, so the address is not released: if no such machine exists, release it manually", held.Pool, held.IP, s.formerHolder())
	return nil
}

// reportDisputed handles an address that another holder has got. A machine without a virtual machine gets another address; a running one
// must be replaced.
func (s *scope) reportDisputed(addr netip.Addr) {
	if s.vm == nil && s.infra.DeletionTimestamp.IsZero() {
		s.infra.Status.AllocatedIPAddress, s.infra.Status.AllocatedPoolRef = "", ""
		s.recordHolder()
		return
	}
	s.disputed = true
	status.False(s.infra, infrav1.VMIPAllocatedCondition, infrav1.AddressNotOursReason, fmt.Sprintf(
		"address %s of IPPool %s, which the machine uses, is also allocated to another machine or to a load balancer: "+
			"delete the Machine, so that its replacement gets its own address", addr, cmp.Or(s.infra.Status.AllocatedPoolRef, strings.Join(s.addressPools(), ", "))))
}

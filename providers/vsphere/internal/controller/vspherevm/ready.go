// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
)

// observe reports what the inventory shows, and waits for the guest's first address. A machine keeps its last addresses,
// because a guest that restarts reports none for a while.
func (r *Reconciler) observe(ctx context.Context, s *scope) (reconcile.Progress, error) {
	s.vm.Status.Host = s.observed.Host
	if err := r.observeDomain(ctx, s); err != nil {
		return reconcile.Wait, err
	}
	reachable := virtualmachine.Addresses(s.observed.Guest)
	if len(reachable) == 0 && len(s.vm.Status.Addresses) > 0 {
		return reconcile.Proceed, nil
	}
	s.vm.Status.Network, s.vm.Status.Addresses = virtualmachine.NetworkStatus(s.observed.Guest), reachable
	if len(reachable) == 0 {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason, "VMware Tools in the guest have not reported an address yet")
		return reconcile.Wait, nil
	}
	return reconcile.Proceed, nil
}

// observeInService keeps reporting a running machine while another step waits.
func (r *Reconciler) observeInService(ctx context.Context, s *scope) error {
	if !s.found || !s.vm.InService() || s.observed.Power != vcenter.PoweredOn {
		return nil
	}
	_, err := r.observe(ctx, s)
	return err
}

// ensureReady reports that the machine is provisioned.
func (r *Reconciler) ensureReady(_ context.Context, s *scope) (reconcile.Progress, error) {
	if s.vm.Spec.BiosUUID == "" {
		hash, err := guestinfo.Hash(s.vm.Name, s.vm.Spec.Network)
		if err != nil {
			return reconcile.Wait, err
		}
		s.vm.Spec.BiosUUID = s.observed.BiosUUID
		metav1.SetMetaDataAnnotation(&s.vm.ObjectMeta, metadataHashAnnotation, hash)
		r.event(s, "Provisioned", "Provision", "Virtual machine runs on host %s with address %s", s.vm.Status.Host, s.vm.Status.Addresses[0])
	}
	if s.later == 0 {
		r.failures.forget(client.ObjectKeyFromObject(s.vm))
	}
	s.vm.Status.Ready = ptr.To(true)
	status.True(s.vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	return reconcile.Proceed, nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/steps"
)

// observe reports what the inventory shows, and waits for the guest's first address. A machine that had one keeps the last
// it had: a guest that restarts reports none for a while.
func (r *Reconciler) observe(ctx context.Context, s *scope) (steps.Progress, error) {
	s.vm.Status.Host = s.observed.Host
	if err := r.observeDomain(ctx, s); err != nil {
		return steps.Wait, err
	}
	reachable := addresses(s.observed.Guest)
	if len(reachable) == 0 && len(s.vm.Status.Addresses) > 0 {
		return steps.Proceed, nil
	}
	s.vm.Status.Network, s.vm.Status.Addresses = networkStatus(s.observed.Guest), reachable
	if len(reachable) == 0 {
		setProvisioned(s.vm, infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason, "VMware Tools of the guest report no address yet")
		return steps.Wait, nil
	}
	return steps.Proceed, nil
}

// observeInService goes on to report a running machine while something else about it has to wait.
func (r *Reconciler) observeInService(ctx context.Context, s *scope) error {
	if !s.found || !s.vm.InService() || s.observed.Power != vcenter.PoweredOn {
		return nil
	}
	_, err := r.observe(ctx, s)
	return err
}

// ensureReady reports that the machine is provisioned.
func (r *Reconciler) ensureReady(_ context.Context, s *scope) (steps.Progress, error) {
	if s.vm.Spec.BiosUUID == "" {
		hash, err := guestinfo.Hash(s.vm.Name, s.vm.Spec.Network)
		if err != nil {
			return steps.Wait, err
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
	return steps.Proceed, nil
}

// maxListed is how many entries the API takes in a list of the status. One more and it would refuse the whole of it.
const maxListed = 128

// networkStatus tells of the cards, with those of their addresses that other machines can reach, as upstream does.
func networkStatus(cards []vcenter.GuestNIC) []infrav1.NetworkStatus {
	statuses := make([]infrav1.NetworkStatus, 0, len(cards))
	for _, card := range cards {
		if card.MAC == "" || len(statuses) == maxListed {
			continue
		}
		ips := slices.DeleteFunc(slices.Clone(card.IPs), func(ip string) bool { return !reachable(ip) })
		statuses = append(statuses, infrav1.NetworkStatus{
			Connected: ptr.To(card.Connected), IPAddrs: ips[:min(len(ips), maxListed)], MACAddr: card.MAC, NetworkName: card.Network,
		})
	}
	return statuses
}

// addresses lists what other machines can reach the guest at.
func addresses(cards []vcenter.GuestNIC) []string {
	var list []string
	for _, card := range cards {
		for _, ip := range card.IPs {
			if reachable(ip) && len(list) < maxListed {
				list = append(list, ip)
			}
		}
	}
	return list
}

// reachable reports whether others can reach a guest at an address, and the API takes the form it is in.
func reachable(ip string) bool {
	address, err := netip.ParseAddr(ip)
	return err == nil && len(ip) <= len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff") &&
		!address.IsUnspecified() && !address.IsLinkLocalUnicast() && !address.IsLoopback() && !address.IsMulticast()
}

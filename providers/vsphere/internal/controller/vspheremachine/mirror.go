// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// esxiHostLabel on a Machine is the ESXi host that runs it. Cluster API copies the label to the Node.
const esxiHostLabel = "node.cluster.x-k8s.io/esxi-host"

const providerIDPrefix = "vsphere://"

// mirror reports the state of the virtual machine on the VSphereMachine.
func (r *Reconciler) mirror(ctx context.Context, s *scope) error {
	if !ownedBy(s.vm, s.infra) {
		setProvisioned(s.infra, infrav1.VSphereVMVirtualMachineNameConflictReason, fmt.Sprintf(
			"VSphereVM %s belongs to another VSphereMachine: delete one of the two Machines, or change spec.naming.template", s.vm.Name))
		return nil
	}
	if err := r.sync(ctx, s); err != nil {
		return err
	}
	if s.vm.Spec.Placement.FailureDomain != "" {
		status.True(s.infra, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachinePlacedReason)
	}
	mirrorProvisioned(s.infra, s.vm)
	if !ptr.Deref(s.vm.Status.Ready, false) || s.vm.Spec.BiosUUID == "" {
		return nil
	}
	s.infra.Status.FailureDomain = s.vm.Status.FailureDomain
	s.infra.Status.Network = s.vm.Status.Network
	s.infra.Status.Addresses = addresses(s.vm)
	s.infra.Spec.ProviderID = providerIDPrefix + s.vm.Spec.BiosUUID
	s.infra.Status.Initialization.Provisioned = ptr.To(true)
	return r.labelHost(ctx, s)
}

// mirrorProvisioned copies the condition if the virtual machine is ready or has a problem. The many intermediate steps are
// shown on the VSphereVM only.
func mirrorProvisioned(machine *infrav1.VSphereMachine, vm *infrav1.VSphereVM) {
	provisioned := shownCondition(vm)
	switch {
	case provisioned == nil || inProgress(provisioned.Reason):
		setProvisioned(machine, infrav1.VSphereMachineVirtualMachineNotProvisionedReason, fmt.Sprintf("VSphereVM %s is being provisioned", vm.Name))
	case provisioned.Status == "True":
		status.True(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	default:
		setProvisioned(machine, provisioned.Reason, provisioned.Message)
	}
}

// shownCondition returns the most informative condition of the VSphereVM: why vCenter cannot be used while there is work to do
// there, else the progress of the virtual machine.
func shownCondition(vm *infrav1.VSphereVM) *metav1.Condition {
	if conditions.IsFalse(vm, infrav1.VSphereVMVCenterAvailableCondition) && !vm.InService() {
		return conditions.Get(vm, infrav1.VSphereVMVCenterAvailableCondition)
	}
	return conditions.Get(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)
}

// inProgress reports whether a reason is transient.
func inProgress(reason string) bool {
	switch reason {
	case infrav1.VSphereVMVirtualMachineWaitingForCloneReason, infrav1.VSphereVMVirtualMachineWaitingForVMGroupReason,
		infrav1.VSphereVMVirtualMachineConfiguringReason, infrav1.VSphereVMVirtualMachinePoweringOnReason,
		infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason, infrav1.VCenterConnectingReason:
		return true
	default:
		return false
	}
}

// maxAddresses is the maximum number of addresses of a VSphereMachine, and of the Machine that copies them.
const maxAddresses = 128

// addresses returns the addresses of the virtual machine, and its name as domain name.
func addresses(vm *infrav1.VSphereVM) []clusterv1.MachineAddress {
	if len(vm.Status.Addresses) == 0 {
		return nil
	}
	list := make([]clusterv1.MachineAddress, 0, len(vm.Status.Addresses)+1)
	for _, address := range vm.Status.Addresses[:min(len(vm.Status.Addresses), maxAddresses-1)] { // the name is added
		list = append(list, clusterv1.MachineAddress{Type: clusterv1.MachineExternalIP, Address: address})
	}
	return append(list, clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: vm.Name})
}

// labelHost labels the Machine, and thereby the Node, with its ESXi host.
func (r *Reconciler) labelHost(ctx context.Context, s *scope) error {
	host := hostLabel(s.vm.Status.Host)
	if host == "" || s.machine.Labels[esxiHostLabel] == host {
		return nil
	}
	before := s.machine.DeepCopy()
	if s.machine.Labels == nil {
		s.machine.Labels = map[string]string{}
	}
	s.machine.Labels[esxiHostLabel] = host
	if err := s.patch.Tolerate(r.others.Write(ctx, r.Client, before, s.machine)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labeling Machine %s with its host: %w", s.machine.Name, err)
	}
	return nil
}

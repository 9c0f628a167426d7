// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// ensureHardware upgrades the virtual hardware of a powered-off machine to the version of the spec. It never downgrades, which
// vCenter does not support.
func (r *Reconciler) ensureHardware(ctx context.Context, s *scope) (reconcile.Progress, error) {
	wanted := s.vm.Spec.HardwareVersion
	if wanted == "" || !s.configurable() || s.finishedOperation == upgrade {
		return reconcile.Proceed, nil
	}
	s.doing = upgrade
	has, err := s.session.Hardware(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "reading the hardware of", err)
	}
	older, err := has.OlderThan(wanted)
	if err != nil {
		return r.refused(s, "upgrading the hardware of", err)
	}
	if !older {
		return reconcile.Proceed, nil
	}
	task, err := s.session.UpgradeHardware(ctx, s.observed.Ref, wanted)
	if err != nil {
		return r.refused(s, "upgrading the hardware of", err)
	}
	r.recordTask(s, task, upgrade)
	r.reportProgress(s, upgrade, infrav1.VSphereVMVirtualMachineUpgradingHardwareReason, fmt.Sprintf("Upgrading from %s to %s", has.Version, wanted))
	return reconcile.Wait, nil
}

// configurable reports whether the machine is powered off and can be changed.
func (s *scope) configurable() bool {
	return s.observed.Power == vcenter.PoweredOff && s.observed.Connected()
}

// ensureDevices adds the host devices of the spec to a powered-off machine. vCenter checks at power-on whether a host has them.
func (r *Reconciler) ensureDevices(ctx context.Context, s *scope) (reconcile.Progress, error) {
	wanted := virtualmachine.DevicesOf(s.vm.Spec.PciDevices)
	if len(wanted) == 0 {
		conditions.Delete(s.vm, infrav1.VSphereVMPCIDevicesDetachedCondition)
		return reconcile.Proceed, nil
	}
	if s.observed.Power == vcenter.PoweredOn {
		r.observeDevices(ctx, s, wanted)
		return reconcile.Proceed, nil
	}
	if !s.configurable() || s.finishedOperation == addDevice {
		return reconcile.Proceed, nil
	}
	s.doing = addDevice
	has, err := s.session.Hardware(ctx, s.observed.Ref)
	if err != nil {
		return r.refused(s, "reading the devices of", err)
	}
	missing := vcenter.MissingDevices(has.PCI, wanted)
	if len(missing) == 0 {
		return reconcile.Proceed, nil
	}
	task, err := s.session.AddPCIDevices(ctx, s.observed.Ref, has, missing)
	if err != nil {
		return r.refused(s, "adding devices to", err)
	}
	r.recordTask(s, task, addDevice)
	r.reportProgress(s, addDevice, infrav1.VSphereVMVirtualMachineAddingPCIDevicesReason, "Adding "+virtualmachine.Listed(missing))
	return reconcile.Wait, nil
}

// observeDevices reports which devices a running machine lacks. They can be added only while it is powered off, which is for
// the user to decide.
func (r *Reconciler) observeDevices(ctx context.Context, s *scope, wanted []vcenter.PCIDevice) {
	has, err := s.session.HardwareSeen(ctx, s.observed.Ref)
	if err != nil {
		return // the condition stays unchanged until vCenter answers
	}
	missing := vcenter.MissingDevices(has.PCI, wanted)
	if len(missing) == 0 {
		conditions.Delete(s.vm, infrav1.VSphereVMPCIDevicesDetachedCondition)
		return
	}
	r.failAs(s, infrav1.VSphereVMPCIDevicesDetachedCondition, infrav1.VSphereVMPCIDevicesDetachedNotFoundReason, fmt.Sprintf(
		"spec.pciDevices: virtual machine runs without %s, which was removed in vCenter: power it off to have it powered on with them again, or delete the Machine",
		virtualmachine.Listed(missing)))
}

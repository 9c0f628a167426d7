// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/hardware"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// NICs reads the network cards of a virtual machine in one call, in the order in which they were added. vCenter assigns a new
// card its address when it creates the virtual machine.
func (s *Session) NICs(ctx context.Context, vmRef string) ([]hardware.NIC, error) {
	var nics []hardware.NIC
	r := inventory.ParseRef("VirtualMachine", vmRef)
	err := s.api.Retrieve(ctx, "reading the network cards of "+r.Value, r, []string{"config.hardware.device"}, func(p []types.DynamicProperty) {
		for _, property := range p {
			nics = hardware.NICs(inventory.As[types.ArrayOfVirtualDevice](property.Val).VirtualDevice)
		}
	})
	return nics, err
}

// Exists reads from vCenter whether the virtual machine exists. The inventory shows only what the account can see and what is
// in a folder: a machine disappears from it when it is moved into a vApp or when permissions change. Exists returns false only
// if vCenter reports that the machine does not exist: an account that cannot see the machine gets an answer without it.
func (s *Session) Exists(ctx context.Context, vmRef string) (bool, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	err := s.api.Call(ctx, "looking for "+r.Value, func(ctx context.Context, rt soap.RoundTripper) error {
		_, err := methods.RetrievePropertiesEx(ctx, rt, &types.RetrievePropertiesEx{
			This: s.api.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{
				PropSet:   []types.PropertySpec{{Type: r.Type, PathSet: []string{"name"}}},
				ObjectSet: []types.ObjectSpec{{Obj: r}},
			}},
		})
		return err
	})
	if errors.Is(err, vcerrors.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ExtraConfig reads the advanced settings of a virtual machine in one call, including the guest's bootstrap data.
func (s *Session) ExtraConfig(ctx context.Context, vmRef string) (map[string]string, error) {
	values := map[string]string{}
	r := inventory.ParseRef("VirtualMachine", vmRef)
	err := s.api.Retrieve(ctx, "reading the settings of "+r.Value, r, []string{"config.extraConfig"}, func(p []types.DynamicProperty) {
		for _, property := range p {
			for _, option := range inventory.As[types.ArrayOfOptionValue](property.Val).OptionValue {
				setting := option.GetOptionValue()
				values[setting.Key] = inventory.As[string](setting.Value)
			}
		}
	})
	return values, err
}

// Unregister removes a virtual machine that cannot be deleted from vCenter's inventory. Its files stay, if there are any.
func (s *Session) Unregister(ctx context.Context, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.api.Call(ctx, "unregistering "+r.Value, func(ctx context.Context, rt soap.RoundTripper) error {
		_, err := methods.UnregisterVM(ctx, rt, &types.UnregisterVM{This: r})
		return err
	})
}

// SetExtraConfig starts to set advanced settings of a virtual machine, such as guestinfo variables. An empty value removes a
// setting.
func (s *Session) SetExtraConfig(ctx context.Context, vmRef string, values map[string]string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.reconfigure(ctx, "reconfiguring "+r.Value, r, types.VirtualMachineConfigSpec{ExtraConfig: hardware.ExtraConfig(values)})
}

// reconfigure starts to change the configuration of a virtual machine.
func (s *Session) reconfigure(ctx context.Context, doing string, vm inventory.Ref, spec types.VirtualMachineConfigSpec) (string, error) {
	return s.stream.Start(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.ReconfigVM_Task(ctx, rt, &types.ReconfigVM_Task{This: vm, Spec: spec})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// PowerOn starts to power on a virtual machine.
func (s *Session) PowerOn(ctx context.Context, vmRef string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.stream.Start(ctx, "powering on "+r.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.PowerOnVM_Task(ctx, rt, &types.PowerOnVM_Task{This: r})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// PowerOff starts to power off a virtual machine without shutting down its guest.
func (s *Session) PowerOff(ctx context.Context, vmRef string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.stream.Start(ctx, "powering off "+r.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.PowerOffVM_Task(ctx, rt, &types.PowerOffVM_Task{This: r})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// Destroy starts to delete a virtual machine and its disks. It must be powered off.
func (s *Session) Destroy(ctx context.Context, vmRef string) (string, error) {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.stream.Start(ctx, "deleting "+r.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.Destroy_Task(ctx, rt, &types.Destroy_Task{This: r})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// ShutdownGuest requests a shutdown of the guest, which needs VMware Tools. The stream reports the change of the power state.
func (s *Session) ShutdownGuest(ctx context.Context, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.api.Call(ctx, "shutting down the guest of "+r.Value, func(ctx context.Context, rt soap.RoundTripper) error {
		_, err := methods.ShutdownGuest(ctx, rt, &types.ShutdownGuest{This: r})
		return err
	})
}

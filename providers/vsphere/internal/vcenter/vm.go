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

// NICs reads the cards of a virtual machine in the order in which they were added: one call. vCenter gives a new card its
// address when it makes the virtual machine.
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

// Exists asks vCenter whether it has the virtual machine. The inventory shows only what the account may see and what is in
// a folder: a machine can leave it by being moved into a vApp, or by a change of permissions. It is gone only when vCenter
// says so: an answer without the machine is the answer to an account that may not see it.
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

// ExtraConfig reads the advanced settings of a virtual machine, the data that its guest boots with included: one call.
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

// Unregister takes a virtual machine that cannot be deleted out of vCenter's inventory. Its files, if there are any, stay.
func (s *Session) Unregister(ctx context.Context, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.api.Call(ctx, "unregistering "+r.Value, func(ctx context.Context, rt soap.RoundTripper) error {
		_, err := methods.UnregisterVM(ctx, rt, &types.UnregisterVM{This: r})
		return err
	})
}

// SetExtraConfig sets advanced settings of a virtual machine, such as guestinfo variables. An empty value removes one.
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

// PowerOn starts to power a virtual machine on.
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

// PowerOff starts to power a virtual machine off without asking its guest.
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

// ShutdownGuest asks the guest to shut down, which needs VMware Tools in it. Its power state follows in the stream.
func (s *Session) ShutdownGuest(ctx context.Context, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.api.Call(ctx, "shutting down the guest of "+r.Value, func(ctx context.Context, rt soap.RoundTripper) error {
		_, err := methods.ShutdownGuest(ctx, rt, &types.ShutdownGuest{This: r})
		return err
	})
}

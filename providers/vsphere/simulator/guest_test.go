// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestGuestsGetDistinctAddresses(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	for i := range 5 {
		c.powerOn(c.clone(fmt.Sprintf("vm-%d", i), spec))
	}
	eventually(t, "all guests report", func() bool {
		return !slices.ContainsFunc(s.VMs(), func(vm simulator.VM) bool { return len(vm.IPs) != 1 })
	})
	seen := map[string]bool{}
	for _, vm := range s.VMs() {
		seen[vm.IPs[0]] = true
	}
	if len(seen) != 5 {
		t.Errorf("addresses are %v", seen)
	}
	first, _ := s.VM("vm-0")
	must(0, s.PowerOffVM("vm-0"))(t)
	eventually(t, "the guest is silent", func() bool { vm, _ := s.VM("vm-0"); return len(vm.IPs) == 0 })
	c.powerOn(object.NewVirtualMachine(c.Client.Client, types.ManagedObjectReference{Type: "VirtualMachine", Value: first.Ref}))
	eventually(t, "it has its address again", func() bool { vm, _ := s.VM("vm-0"); return slices.Equal(vm.IPs, first.IPs) })
}

// The guest configures itself according to its metadata.
func TestGuestFollowsMetadata(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config string
		want   []string
	}{
		"static":          {"addresses: [192.168.7.9/24, 'fd07::9/64']", []string{"192.168.7.9", "fd07::9"}},
		"static and DHCP": {"addresses: [192.168.7.9/24]\n      dhcp4: true", []string{"192.168.7.9", "10.1.0.100"}},
		"both DHCP":       {"dhcp4: true\n      dhcp6: true", []string{"10.1.0.100", "fd00:1::64"}},
		"neither":         {"dhcp4: false", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := simulator.Start(t, simulator.ThreeZones())
			c := connect(t, s, "dc-1")
			vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
			view, _ := s.VM("vm")
			text := fmt.Sprintf("instance-id: x\nlocal-hostname: node-1\nnetwork:\n  version: 2\n  ethernets:\n    id0:\n      match:\n        macaddress: %q\n      set-name: eth0\n      %s\n", view.MACs[0], tc.config)
			must(0, mustTask(t)(vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
				&types.OptionValue{Key: "guestinfo.metadata", Value: base64.StdEncoding.EncodeToString([]byte(text))},
				&types.OptionValue{Key: "guestinfo.metadata.encoding", Value: "base64"},
			}})).Wait(t.Context()))(t)
			c.powerOn(vm)
			eventually(t, "the guest reports", func() bool { return c.guest(vm).ToolsRunningStatus == "guestToolsRunning" })
			guest := c.guest(vm)
			if guest.HostName != "node-1" || len(guest.Net) != 1 || guest.Net[0].Network != simulator.NetworkName || guest.Net[0].MacAddress != view.MACs[0] || !guest.Net[0].Connected {
				t.Errorf("guest is %+v", guest)
			}
			if view, _ = s.VM("vm"); !slices.Equal(view.IPs, tc.want) {
				t.Errorf("addresses are %q, want %q", view.IPs, tc.want)
			}
			if n := len(guest.Net[0].IpAddress); n != len(tc.want)+1 { // plus a link-local address
				t.Errorf("the guest reports %q", guest.Net[0].IpAddress)
			}
		})
	}
}

func (c *client) guest(vm *object.VirtualMachine) types.GuestInfo {
	c.t.Helper()
	var view mo.VirtualMachine
	must(0, vm.Properties(c.t.Context(), vm.Reference(), []string{"guest"}, &view))(c.t)
	return *view.Guest
}

func TestGuestDelayAndShutdown(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones(), simulator.WithGuestDelay(-1))
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	c.powerOn(vm)
	if guest := c.guest(vm); guest.ToolsRunningStatus != "guestToolsNotRunning" || len(guest.Net) > 0 && len(guest.Net[0].IpAddress) > 0 {
		t.Errorf("a guest that never boots reports %+v", guest)
	}
	if err := vm.ShutdownGuest(t.Context()); !isSOAPFault[types.ToolsUnavailable](err) {
		t.Errorf("shutdown without tools: error is %v", err)
	}
	must(0, s.PowerOffVM("vm"))(t)

	s.SetGuestDelay(time.Millisecond)
	c.powerOn(vm)
	eventually(t, "the guest boots", func() bool { return c.guest(vm).ToolsRunningStatus == "guestToolsRunning" })
	must(0, vm.ShutdownGuest(t.Context()))(t)
	eventually(t, "the VM is off", func() bool { vm, _ := s.VM("vm"); return vm.Power == "poweredOff" && len(vm.IPs) == 0 })
}

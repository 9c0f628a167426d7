// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// details is what is followed of the virtual machines that somebody has asked for, and of templates that were cloned. Most
// of a vCenter's virtual machines are nobody's here, and this is what changes most of them.
type details struct {
	guest         []GuestNIC
	tools         bool
	changeVersion string
	snapshot      ref // the current one
}

const changeVersion = "config.changeVersion"

func detailProperties() []string {
	return []string{"guest.net", "guest.toolsRunningStatus", changeVersion, "snapshot.currentSnapshot"}
}

// version changes with the configuration and the snapshots.
func (d details) version() string { return d.changeVersion + "/" + d.snapshot.Value }

func (d *details) set(property string, value types.AnyType) {
	switch property {
	case "guest.net":
		d.guest = guestNICs(as[types.ArrayOfGuestNicInfo](value).GuestNicInfo)
	case "guest.toolsRunningStatus":
		d.tools = as[string](value) == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	case changeVersion:
		d.changeVersion = as[string](value)
	case "snapshot.currentSnapshot":
		d.snapshot = as[ref](value)
	}
}

// guestNICs leaves out what is no virtual card of the machine: the bridges and tunnels of a pod network, or the interface
// that bears the addresses of all services. They are the same on every node, or change all the time.
func guestNICs(reported []types.GuestNicInfo) []GuestNIC {
	var nics []GuestNIC
	for _, nic := range reported {
		if nic.DeviceConfigId < 0 {
			continue
		}
		ips := slices.Clone(nic.IpAddress)
		if len(ips) == 0 && nic.IpConfig != nil {
			for _, ip := range nic.IpConfig.IpAddress {
				ips = append(ips, ip.IpAddress)
			}
		}
		nics = append(nics, GuestNIC{
			MAC: nic.MacAddress, Network: nic.Network, IPs: ips, Connected: nic.Connected, DeviceKey: nic.DeviceConfigId,
		})
	}
	return nics
}

// applyDetails takes over what the filter of details reports. What leaves that filter may well be there still, and what the
// inventory does not show, because it was moved to where the account cannot look, is not reported again when it comes back.
func (ix *index) applyDetails(update types.ObjectUpdate, c *changes) {
	if update.Kind == types.ObjectUpdateKindLeave {
		delete(ix.details, update.Obj)
		return
	}
	before, known := ix.details[update.Obj]
	now := before
	if update.Kind == types.ObjectUpdateKindEnter {
		now = details{} // all that it has is reported
	}
	for _, change := range update.ChangeSet {
		now.set(change.Name, change.Val)
	}
	ix.details[update.Obj] = now
	m, shown := ix.vms[update.Obj]
	if !shown {
		return
	}
	before.changeVersion = now.changeVersion // says that something changed, which is not news to anyone by itself
	if !reflect.DeepEqual(before, now) {
		c.vm(m)
	}
	if m.template && known && before.snapshot != now.snapshot {
		c.structural = true
	}
}

// setDetailsFilter tells which filter of the stream reports details.
func (ix *index) setDetailsFilter(filter ref) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.detailsFilter = filter
}

// want has the details of a virtual machine followed from now on. What is not known yet is reported by VMChanged. No guest
// runs in one that is switched off, and the stream reports when it is switched on.
func (s *Session) want(vm ref, power PowerState) { s.follower.want(vm, power == PoweredOn) }

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Details is what is followed of the virtual machines that somebody has asked for, and of templates that were cloned. Most
// of a vCenter's virtual machines are nobody's here, and this is what changes most of them.
type Details struct {
	guest         []GuestNIC
	tools         bool
	changeVersion string
	Snapshot      Ref // the current one
}

// ChangeVersion is the property that changes with the configuration of a virtual machine.
const ChangeVersion = "config.changeVersion"

// DetailProperties are those of the virtual machines that somebody has asked for.
func DetailProperties() []string {
	return []string{"guest.net", "guest.toolsRunningStatus", ChangeVersion, "snapshot.currentSnapshot"}
}

// Version changes with the configuration and the snapshots.
func (d Details) Version() string { return d.changeVersion + "/" + d.Snapshot.Value }

// Set takes over a property.
func (d *Details) Set(property string, value types.AnyType) {
	switch property {
	case "guest.net":
		d.guest = guestNICs(As[types.ArrayOfGuestNicInfo](value).GuestNicInfo)
	case "guest.toolsRunningStatus":
		d.tools = As[string](value) == string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
	case ChangeVersion:
		d.changeVersion = As[string](value)
	case "snapshot.currentSnapshot":
		d.Snapshot = As[Ref](value)
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
func (ix *Index) applyDetails(update types.ObjectUpdate, c *Changes) {
	if update.Kind == types.ObjectUpdateKindLeave {
		delete(ix.details, update.Obj)
		return
	}
	before, known := ix.details[update.Obj]
	now := before
	if update.Kind == types.ObjectUpdateKindEnter {
		now = Details{} // all that it has is reported
	}
	for _, change := range update.ChangeSet {
		now.Set(change.Name, change.Val)
	}
	ix.details[update.Obj] = now
	m, shown := ix.VMs[update.Obj]
	if !shown {
		return
	}
	configured := known && before.changeVersion != now.changeVersion
	before.changeVersion = now.changeVersion // says that something changed, which is not news to everyone
	switch {
	case !reflect.DeepEqual(before, now):
		c.vm(m)
	case configured:
		c.Configured = append(c.Configured, *m)
	}
	if m.Template && known && before.Snapshot != now.Snapshot {
		c.Structural = true
	}
}

// SetDetailsFilter tells which filter of the stream reports details.
func (ix *Index) SetDetailsFilter(filter Ref) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.detailsFilter = filter
}

// VersionOf changes with the configuration and the snapshots of a virtual machine. It is "" as long as these are not followed.
func (ix *Index) VersionOf(r Ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	d, ok := ix.details[r]
	if !ok {
		return ""
	}
	return d.Version()
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Details holds the properties followed for requested virtual machines and for templates that were cloned. Most virtual
// machines of a vCenter are not managed here, and these properties cause most of their changes.
type Details struct {
	guest         []GuestNIC
	tools         bool
	changeVersion string
	Snapshot      Ref // the current snapshot
}

// ChangeVersion is the property that changes with the configuration of a virtual machine.
const ChangeVersion = "config.changeVersion"

// DetailProperties returns the properties that are followed for requested virtual machines.
func DetailProperties() []string {
	return []string{"guest.net", "guest.toolsRunningStatus", ChangeVersion, "snapshot.currentSnapshot"}
}

// Version returns a value that changes with the configuration and the snapshots.
func (d Details) Version() string { return d.changeVersion + "/" + d.Snapshot.Value }

// Set applies a property.
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

// guestNICs drops interfaces that are not virtual cards of the machine: the bridges and tunnels of a pod network, or the
// interface that holds the addresses of all services. They are the same on every node, or change all the time.
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

// applyDetails applies what the filter of details reports. An object that leaves that filter may still exist. An object that
// left the inventory, because it was moved to where the account cannot see it, is not reported again when it returns.
func (ix *Index) applyDetails(update types.ObjectUpdate, c *Changes) {
	if update.Kind == types.ObjectUpdateKindLeave {
		delete(ix.details, update.Obj)
		return
	}
	before, known := ix.details[update.Obj]
	now := before
	if update.Kind == types.ObjectUpdateKindEnter {
		now = Details{} // all of its properties are reported
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
	before.changeVersion = now.changeVersion // it only shows that something changed, which does not concern everyone
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

// SetDetailsFilter sets the filter of the stream that reports details.
func (ix *Index) SetDetailsFilter(filter Ref) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.detailsFilter = filter
}

// VersionOf returns a value that changes with the configuration and the snapshots of a virtual machine, or "" while these are
// not followed.
func (ix *Index) VersionOf(r Ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	d, ok := ix.details[r]
	if !ok {
		return ""
	}
	return d.Version()
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "github.com/vmware/govmomi/vim25/types"

// Followed returns the properties that the index keeps: small ones that change rarely. A cluster's groups and rules come with
// its whole configurationEx because vCenter rejects paths into that property. For tasks single properties are listed so that
// progress is not reported.
func Followed() []types.PropertySpec {
	return []types.PropertySpec{
		{Type: "Folder", PathSet: []string{"name", "parent"}},
		{Type: "Datacenter", PathSet: []string{"name", "parent", "vmFolder"}},
		{Type: "ComputeResource", PathSet: []string{"name", "parent", "host", "network", "resourcePool", "configurationEx"}},
		{Type: "HostSystem", PathSet: []string{"name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode"}},
		{Type: "ResourcePool", PathSet: []string{"name", "parent"}},
		{Type: "Datastore", PathSet: []string{"name", "parent", "host", "summary.accessible", "summary.maintenanceMode", "summary.type"}},
		{Type: "Network", PathSet: []string{"name", "parent", "host"}},
		{Type: "OpaqueNetwork", PathSet: []string{"name", "parent", "host", "summary"}},
		{Type: "DistributedVirtualPortgroup", PathSet: []string{"name", "parent", "host", "key", "config.distributedVirtualSwitch"}},
		{Type: "DistributedVirtualSwitch", PathSet: []string{"name", "parent", "uuid"}},
		{Type: "VirtualMachine", PathSet: VMProperties()},
	}
}

// VMProperties returns the properties of every virtual machine; see DetailProperties for the others.
func VMProperties() []string {
	return []string{
		"name", "parent", "summary.config", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState",
	}
}

// TaskProperties returns the properties of followed tasks.
func TaskProperties() []string {
	return []string{"info.state", "info.descriptionId", "info.entity", "info.result", "info.error"}
}

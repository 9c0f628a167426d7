// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Observe returns the failure domain that a virtual machine is in: the requested one if it is there, else the first matching
// zone of its server by name, else "". A zone that no longer exists is never returned.
func Observe(location vcenter.Location, server string, zones []Zone, requested string) string {
	in := slices.DeleteFunc(slices.Clone(zones), func(zone Zone) bool {
		return !infrav1.SameServer(zone.Spec.Server, server) || !contains(zone, location)
	})
	if slices.ContainsFunc(in, func(zone Zone) bool { return zone.Name == requested }) {
		return requested
	}
	if len(in) == 0 {
		return ""
	}
	return in[0].Name
}

func contains(zone Zone, location vcenter.Location) bool {
	if zone.Domain == nil {
		return false
	}
	topology := zone.Domain.Spec.Topology
	if !vcenter.RefersToDatacenter(topology.Datacenter, location.Datacenter) {
		return false
	}
	if topology.ComputeCluster != "" && !vcenter.RefersToCluster(topology.ComputeCluster, location.ComputeCluster, location.Datacenter) {
		return false
	}
	return topology.Hosts.HostGroupName == "" || slices.Contains(location.HostGroups, topology.Hosts.HostGroupName)
}

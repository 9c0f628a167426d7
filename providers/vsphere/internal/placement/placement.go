// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package placement decides where a machine goes and reports where it is: it merges zones, failure domains and machine
// templates into the specification of a virtual machine, and maps its location in the inventory to a failure domain. Its
// functions are pure except Zones and the methods of VSphere, which implements the shared provider interface.
package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Zone is a deployment zone and its failure domain.
type Zone struct {
	infrav1.VSphereDeploymentZone
	// Domain is nil if the failure domain named by spec.failureDomain does not exist.
	Domain *infrav1.VSphereFailureDomain
}

// Zones returns all deployment zones, sorted by name.
func Zones(ctx context.Context, c client.Reader) ([]Zone, error) {
	zones := &infrav1.VSphereDeploymentZoneList{}
	if err := c.List(ctx, zones); err != nil {
		return nil, fmt.Errorf("listing VSphereDeploymentZones: %w", err)
	}
	domains := &infrav1.VSphereFailureDomainList{}
	if err := c.List(ctx, domains); err != nil {
		return nil, fmt.Errorf("listing VSphereFailureDomains: %w", err)
	}
	byName := map[string]*infrav1.VSphereFailureDomain{}
	for i := range domains.Items {
		byName[domains.Items[i].Name] = &domains.Items[i]
	}
	joined := make([]Zone, 0, len(zones.Items))
	for i := range zones.Items {
		joined = append(joined, Zone{VSphereDeploymentZone: zones.Items[i], Domain: byName[zones.Items[i].Spec.FailureDomain]})
	}
	slices.SortFunc(joined, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	return joined, nil
}

// Selects reports whether the zone is a failure domain of the cluster: it is on one of the cluster's servers and its labels match
// the failureDomainSelector. Without a selector a cluster has no failure domains; an empty one selects every zone of the servers.
func Selects(cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone) bool {
	if cluster.Spec.FailureDomainSelector == nil || cluster.Spec.Server != zone.Spec.Server && !infrav1.HasServer(cluster.Spec.AdditionalServers, zone.Spec.Server) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(cluster.Spec.FailureDomainSelector)
	return err == nil && selector.Matches(labels.Set(zone.Labels))
}

// OnServerOf reports whether the zone is on one of the cluster's servers.
func OnServerOf(cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone) bool {
	return infrav1.HasServer(cluster.Spec.Servers(), zone.Spec.Server)
}

// VM returns the specification of a machine's virtual machine. The zone's values override the machine's, which override the
// cluster's, except for the thumbprint. A zone without its failure domain is an error; the machine's own placement is never
// used instead.
func VM(cluster *infrav1.VSphereCluster, machine *infrav1.VSphereMachine, zone *Zone) (infrav1.VSphereVMSpec, error) {
	spec := infrav1.VSphereVMSpec{
		VirtualMachineCloneSpec:         *machine.Spec.VirtualMachineCloneSpec.DeepCopy(),
		PowerOffMode:                    machine.Spec.PowerOffMode,
		GuestSoftPowerOffTimeoutSeconds: machine.Spec.GuestSoftPowerOffTimeoutSeconds,
	}
	spec.Server = cmp.Or(spec.Server, cluster.Spec.Server)
	if zone == nil {
		spec.Thumbprint = Thumbprint(spec.Server, cluster, nil, machine.Spec.Thumbprint)
		return spec, nil
	}
	if zone.Domain == nil {
		return infrav1.VSphereVMSpec{}, fmt.Errorf("VSphereFailureDomain %s of VSphereDeploymentZone %s does not exist", zone.Spec.FailureDomain, zone.Name)
	}
	applyZone(&spec, zone)
	spec.Thumbprint = Thumbprint(spec.Server, cluster, &zone.VSphereDeploymentZone, machine.Spec.Thumbprint)
	return spec, nil
}

// Thumbprint returns the thumbprint for a machine's server: the zone's, else the cluster's, if they are on that server, else
// the machine's own. The machine's comes from a template; it may be older than the certificate, and users cannot change it.
// zone is nil if the machine is in none, or in a deleted one.
func Thumbprint(server string, cluster *infrav1.VSphereCluster, zone *infrav1.VSphereDeploymentZone, own string) string {
	switch {
	case zone != nil && zone.Spec.Thumbprint != "" && infrav1.SameServer(zone.Spec.Server, server):
		return zone.Spec.Thumbprint
	case cluster.Spec.Thumbprint != "" && infrav1.SameServer(cluster.Spec.Server, server):
		return cluster.Spec.Thumbprint
	default:
		return own
	}
}

func applyZone(spec *infrav1.VSphereVMSpec, zone *Zone) {
	topology := zone.Domain.Spec.Topology
	spec.Server = zone.Spec.Server
	spec.Datacenter = topology.Datacenter
	override(&spec.Datastore, topology.Datastore)
	override(&spec.Template, topology.Template)
	override(&spec.Folder, zone.Spec.PlacementConstraint.Folder)
	spec.Placement = infrav1.VSphereVMPlacement{
		FailureDomain: zone.Name, ComputeCluster: topology.ComputeCluster,
		VMGroupName: topology.Hosts.VMGroupName, HostGroupName: topology.Hosts.HostGroupName,
	}
	if zone.Spec.PlacementConstraint.ResourcePool == "" && spec.ResourcePool != "" && topology.ComputeCluster != "" {
		spec.Placement.MachineResourcePool = ptr.To(true) // the pool may be in another compute cluster
	}
	override(&spec.ResourcePool, zone.Spec.PlacementConstraint.ResourcePool)
	spec.Network.Devices = devices(spec.Network.Devices, topology)
}

// devices merges the networks of a failure domain into a machine's devices, one by one, and adds devices if the machine has too
// few.
func devices(own []infrav1.NetworkDeviceSpec, topology infrav1.Topology) []infrav1.NetworkDeviceSpec {
	configurations := slices.Clone(topology.NetworkConfigurations)
	for _, name := range topology.Networks {
		configurations = append(configurations, infrav1.NetworkConfiguration{NetworkName: name})
	}
	for i := range configurations {
		if i == len(own) {
			own = append(own, infrav1.NetworkDeviceSpec{})
		}
		applyNetwork(&own[i], &configurations[i])
	}
	return own
}

func applyNetwork(device *infrav1.NetworkDeviceSpec, configuration *infrav1.NetworkConfiguration) {
	override(&device.NetworkName, configuration.NetworkName)
	device.DHCP4 = firstSet(configuration.DHCP4, device.DHCP4)
	device.DHCP6 = firstSet(configuration.DHCP6, device.DHCP6)
	device.DHCP4Overrides = firstSet(configuration.DHCP4Overrides, device.DHCP4Overrides)
	device.DHCP6Overrides = firstSet(configuration.DHCP6Overrides, device.DHCP6Overrides)
	if len(configuration.Nameservers) > 0 {
		device.Nameservers = configuration.Nameservers
	}
	if len(configuration.SearchDomains) > 0 {
		device.SearchDomains = configuration.SearchDomains
	}
	if len(configuration.AddressesFromPools) > 0 {
		device.AddressesFromPools = configuration.AddressesFromPools
	}
}

func override(target *string, value string) {
	if value != "" {
		*target = value
	}
}

func firstSet[T any](values ...*T) *T {
	for _, value := range values {
		if value != nil {
			return ptr.To(*value)
		}
	}
	return nil
}

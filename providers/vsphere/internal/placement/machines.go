// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// FailureDomainIndex is the cache index of Machines by their failure domain, and of VSphereMachines by the one assigned to
// them.
const FailureDomainIndex = "spec.failureDomain"

// IndexMachines registers FailureDomainIndex.
func IndexMachines(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.VSphereMachine{}, FailureDomainIndex, func(o client.Object) []string {
		if domain := faultlinev1.Value(o.GetAnnotations(), faultlinev1.AssignedFailureDomainAnnotation); domain != "" {
			return []string{domain}
		}
		return nil
	}); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &clusterv1.Machine{}, FailureDomainIndex, func(o client.Object) []string {
		machine := o.(*clusterv1.Machine)
		if machine.Spec.FailureDomain == "" || machine.Spec.InfrastructureRef.Kind != "VSphereMachine" {
			return nil
		}
		return []string{machine.Spec.FailureDomain}
	})
}

// MachinesIn returns the machines, as namespace/name, whose failure domain is the zone or that were assigned to it, including
// those being deleted.
func MachinesIn(ctx context.Context, c client.Reader, zone string) ([]string, error) {
	machines, assigned := &clusterv1.MachineList{}, &infrav1.VSphereMachineList{}
	if err := c.List(ctx, machines, client.MatchingFields{FailureDomainIndex: zone}); err != nil {
		return nil, fmt.Errorf("listing machines of failure domain %s: %w", zone, err)
	}
	if err := c.List(ctx, assigned, client.MatchingFields{FailureDomainIndex: zone}); err != nil {
		return nil, fmt.Errorf("listing machines assigned to failure domain %s: %w", zone, err)
	}
	names := make([]string, 0, len(machines.Items)+len(assigned.Items))
	for i := range machines.Items {
		names = append(names, client.ObjectKeyFromObject(&machines.Items[i]).String())
	}
	for i := range assigned.Items {
		names = append(names, assigned.Items[i].Machine().String())
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Check returns the requirements of a zone. Its failure domain must exist.
func Check(zone *Zone) vcenter.ZoneSpec {
	topology, constraint := zone.Domain.Spec.Topology, zone.Spec.PlacementConstraint
	spec := vcenter.ZoneSpec{
		Placement: vcenter.Placement{
			Datacenter: topology.Datacenter, ComputeCluster: topology.ComputeCluster, Datastore: topology.Datastore,
			ResourcePool: constraint.ResourcePool, Folder: constraint.Folder, Networks: slices.Clone(topology.Networks),
			VMGroup: topology.Hosts.VMGroupName, HostGroup: topology.Hosts.HostGroupName,
		},
		Region:     vcenter.ZoneTag{Name: zone.Domain.Spec.Region.Name, Category: zone.Domain.Spec.Region.TagCategory, Type: string(zone.Domain.Spec.Region.Type)},
		Zone:       vcenter.ZoneTag{Name: zone.Domain.Spec.Zone.Name, Category: zone.Domain.Spec.Zone.TagCategory, Type: string(zone.Domain.Spec.Zone.Type)},
		ShouldRule: topology.Hosts.Rule == infrav1.ShouldRule, Template: topology.Template,
		Configure: vcenter.Configure{
			Region: ptr.Deref(zone.Domain.Spec.Region.AutoConfigure, false), Zone: ptr.Deref(zone.Domain.Spec.Zone.AutoConfigure, false),
			Groups: ptr.Deref(topology.Hosts.AutoConfigure, false), HostNames: slices.Clone(topology.Hosts.HostNames),
			HostTag: vcenter.TagName{Category: topology.Hosts.HostTag.Category, Name: topology.Hosts.HostTag.Name},
			Repair:  zone.Domain.Spec.Drift == infrav1.RepairDrift,
		},
	}
	for _, network := range topology.NetworkConfigurations {
		spec.Networks = append(spec.Networks, network.NetworkName)
	}
	return spec
}

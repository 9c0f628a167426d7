// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// DRSSetup holds the groups and rules of a compute cluster.
type DRSSetup struct {
	HostGroups, VMGroups map[string][]string // names by group
	Rules                []Rule
}

// SetUp enables DRS of a compute cluster, fully automated, and creates groups and rules.
func (d *DRS) SetUp(admin *AdminClient, cluster *simulator.ClusterComputeResource, wanted DRSSetup) error {
	if err := d.Edit(cluster, func(config *types.ClusterConfigInfoEx) error {
		config.DrsConfig = types.ClusterDrsConfigInfo{Enabled: types.NewBool(true), DefaultVmBehavior: types.DrsBehaviorFullyAutomated}
		return nil
	}); err != nil {
		return err
	}
	config, err := d.spec(cluster, wanted)
	if err != nil {
		return fmt.Errorf("cluster %q: %w", cluster.Name, err)
	}
	if len(config.GroupSpec) == 0 && len(config.RulesSpec) == 0 {
		return nil
	}
	started, err := methods.ReconfigureComputeResource_Task(context.Background(), admin.Client,
		&types.ReconfigureComputeResource_Task{This: cluster.Self, Spec: config, Modify: true})
	if err == nil {
		_, err = admin.Await(started.Returnval)
	}
	if err != nil {
		return fmt.Errorf("creating groups and rules of cluster %q: %w", cluster.Name, err)
	}
	return nil
}

func (d *DRS) spec(cluster *simulator.ClusterComputeResource, wanted DRSSetup) (*types.ClusterConfigSpecEx, error) {
	config, add := &types.ClusterConfigSpecEx{}, types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	for _, name := range slices.Sorted(maps.Keys(wanted.HostGroups)) {
		refs, err := d.members(cluster.Host, wanted.HostGroups[name])
		if err != nil {
			return nil, fmt.Errorf("host group %q: %w", name, err)
		}
		config.GroupSpec = append(config.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{
			ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Host: refs,
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.VMGroups)) {
		refs, err := d.vmMembers(cluster, wanted.VMGroups[name])
		if err != nil {
			return nil, fmt.Errorf("VM group %q: %w", name, err)
		}
		config.GroupSpec = append(config.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{
			ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Vm: refs,
		}})
	}
	for _, rule := range wanted.Rules {
		config.RulesSpec = append(config.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: add, Info: &types.ClusterVmHostRuleInfo{
			ClusterRuleInfo: types.ClusterRuleInfo{
				Name: rule.Name, Enabled: orTrue(rule.Enabled), Mandatory: orTrue(rule.Mandatory),
				UserCreated: types.NewBool(true),
			},
			VmGroupName: rule.VMGroup, AffineHostGroupName: rule.HostGroup,
		}})
	}
	return config, nil
}

func (d *DRS) members(of []types.ManagedObjectReference, names []string) ([]types.ManagedObjectReference, error) {
	var refs []types.ManagedObjectReference
	for _, name := range names {
		e, ok := child(d.inventory.NewContext(), of, name)
		if !ok {
			return nil, fmt.Errorf("%q does not exist", name)
		}
		refs = append(refs, e.Reference())
	}
	return refs, nil
}

func (d *DRS) vmMembers(cluster *simulator.ClusterComputeResource, names []string) ([]types.ManagedObjectReference, error) {
	datacenter := d.inventory.DatacenterOf(cluster)
	var all []types.ManagedObjectReference
	for _, e := range d.inventory.Registry.All("VirtualMachine") {
		if d.inventory.DatacenterOf(e) == datacenter {
			all = append(all, e.Reference())
		}
	}
	return d.members(all, names)
}

func orTrue(b *bool) *bool {
	if b == nil {
		return types.NewBool(true)
	}
	return b
}

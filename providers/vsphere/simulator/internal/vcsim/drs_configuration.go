// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"errors"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// RemoveDeletedVMs removes VMs from groups that were deleted while the groups were written. The cluster is locked.
func (d *DRS) RemoveDeletedVMs(ref types.ManagedObjectReference) {
	cluster, ok := Get[*simulator.ClusterComputeResource](d.inventory, &ref)
	if !ok {
		return
	}
	for _, info := range cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).Group {
		if group, ok := info.(*types.ClusterVmGroup); ok {
			group.Vm = slices.DeleteFunc(slices.Clone(group.Vm), func(vm types.ManagedObjectReference) bool { return d.inventory.Registry.Get(vm) == nil })
		}
	}
}

// Check rejects groups with members that vCenter would reject. It locks VMs, so the cluster must not be locked.
func (d *DRS) Check(req *types.ReconfigureComputeResource_Task) types.BaseMethodFault {
	spec, ok := req.Spec.(*types.ClusterConfigSpecEx)
	if !ok {
		return nil
	}
	if fault := d.checkConfiguration(req, spec); fault != nil {
		return fault
	}
	for _, change := range spec.GroupSpec {
		group, ok := change.Info.(*types.ClusterVmGroup)
		if !ok || change.Operation == types.ArrayUpdateOperationRemove {
			continue
		}
		for _, ref := range group.Vm {
			vm, ok := Get[*simulator.VirtualMachine](d.inventory, &ref)
			if !ok {
				return &types.ManagedObjectNotFound{Obj: ref}
			}
			if cluster, ok := d.inventory.ClusterOf(vm); !ok || cluster.Self != req.This {
				return &types.InvalidArgument{InvalidProperty: "spec.groupSpec.info.vm"}
			}
		}
	}
	return nil
}

// Publish notifies clients of changes of a cluster, which vcsim does not. The cluster is locked.
func (d *DRS) Publish(ctx *simulator.Context, ref types.ManagedObjectReference) {
	cluster, ok := Get[*simulator.ClusterComputeResource](d.inventory, &ref)
	if !ok {
		return
	}
	config := *cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	config.Group, config.Rule = slices.Clone(config.Group), slices.Clone(config.Rule)
	ctx.Update(cluster, []types.PropertyChange{{Name: "configurationEx", Val: &config}})
}

// errUnchanged is returned if there is nothing to change.
var errUnchanged = errors.New("unchanged")

// Edit changes groups or rules outside of a task.
func (d *DRS) Edit(cluster *simulator.ClusterComputeResource, edit func(*types.ClusterConfigInfoEx) error) error {
	ctx := d.inventory.NewContext()
	var err error
	d.inventory.Registry.WithLock(ctx, cluster, func() {
		if err = edit(cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)); err == nil {
			d.Publish(ctx, cluster.Self)
		}
	})
	return err
}

// groupsOfVMs returns the names of the groups of each VM of a cluster.
func groupsOfVMs(config *types.ClusterConfigInfoEx) map[types.ManagedObjectReference][]string {
	groups := map[types.ManagedObjectReference][]string{}
	for _, info := range config.Group {
		if group, ok := info.(*types.ClusterVmGroup); ok {
			for _, ref := range group.Vm {
				groups[ref] = append(groups[ref], group.Name)
			}
		}
	}
	return groups
}

// RemoveVM removes a deleted VM from all groups, as vCenter does.
func (d *DRS) RemoveVM(ref types.ManagedObjectReference) {
	for _, cluster := range d.inventory.Clusters() {
		_ = d.Edit(cluster, func(config *types.ClusterConfigInfoEx) error {
			if _, in := groupsOfVMs(config)[ref]; !in {
				return errUnchanged
			}
			for i, info := range config.Group {
				if group, ok := info.(*types.ClusterVmGroup); ok {
					left := *group
					left.Vm = slices.DeleteFunc(slices.Clone(group.Vm), func(r types.ManagedObjectReference) bool { return r == ref })
					config.Group[i] = &left
				}
			}
			return nil
		})
	}
}

// maxConfigurationName is vCenter's maximum length of the name of a group or rule.
const maxConfigurationName = 80

// configuration returns a copy of a compute cluster's groups and rules.
func (d *DRS) configuration(cluster string) (types.ClusterConfigInfoEx, error) {
	c, err := d.inventory.Cluster(cluster)
	if err != nil {
		return types.ClusterConfigInfoEx{}, err
	}
	return d.configurationOf(c), nil
}

func (d *DRS) configurationOf(c *simulator.ClusterComputeResource) types.ClusterConfigInfoEx {
	var config types.ClusterConfigInfoEx
	d.inventory.WithLock(c, func() {
		config = *c.ConfigurationEx.(*types.ClusterConfigInfoEx)
		config.Group, config.Rule = slices.Clone(config.Group), slices.Clone(config.Rule)
	})
	return config
}

// checkConfiguration rejects groups and rules that vCenter rejects and vcsim accepts or rejects with another fault: duplicate or
// too long names, hosts of other clusters, and rules between missing groups. The cluster must not be locked.
func (d *DRS) checkConfiguration(req *types.ReconfigureComputeResource_Task, spec *types.ClusterConfigSpecEx) types.BaseMethodFault {
	cluster, ok := Get[*simulator.ClusterComputeResource](d.inventory, &req.This)
	if !ok {
		return nil
	}
	config := d.configurationOf(cluster)
	for _, change := range spec.GroupSpec {
		if fault := checkGroup(cluster, &config, change); fault != nil {
			return fault
		}
	}
	for _, change := range spec.RulesSpec {
		if fault := checkRule(cluster, &config, change); fault != nil {
			return fault
		}
	}
	return nil
}

// checkGroup adds valid groups to the configuration, because rules of the same request may refer to them.
func checkGroup(cluster *simulator.ClusterComputeResource, config *types.ClusterConfigInfoEx, change types.ClusterGroupSpec) types.BaseMethodFault {
	if change.Operation == types.ArrayUpdateOperationRemove {
		return nil
	}
	name := change.Info.GetClusterGroupInfo().Name
	if fault := checkConfigurationName(name); fault != nil {
		return fault
	}
	if group, ok := change.Info.(*types.ClusterHostGroup); ok {
		for _, host := range group.Host {
			if !slices.Contains(cluster.Host, host) {
				return &types.InvalidArgument{InvalidProperty: "spec.groupSpec.info.host"}
			}
		}
	}
	if change.Operation == types.ArrayUpdateOperationAdd {
		if hasGroup(config, name) {
			return &types.DuplicateName{Name: name, Object: cluster.Self}
		}
		config.Group = append(config.Group, change.Info)
	}
	return nil
}

func checkRule(cluster *simulator.ClusterComputeResource, config *types.ClusterConfigInfoEx, change types.ClusterRuleSpec) types.BaseMethodFault {
	rule, ok := change.Info.(*types.ClusterVmHostRuleInfo)
	if !ok || change.Operation == types.ArrayUpdateOperationRemove {
		return nil
	}
	if fault := checkConfigurationName(rule.Name); fault != nil {
		return fault
	}
	if change.Operation == types.ArrayUpdateOperationAdd && slices.ContainsFunc(config.Rule, func(other types.BaseClusterRuleInfo) bool {
		return other.GetClusterRuleInfo().Name == rule.Name
	}) {
		return &types.DuplicateName{Name: rule.Name, Object: cluster.Self}
	}
	for _, group := range []string{rule.VmGroupName, rule.AffineHostGroupName} {
		if group != "" && !hasGroup(config, group) {
			return &types.InvalidArgument{InvalidProperty: "spec.rulesSpec.info"}
		}
	}
	return nil
}

func checkConfigurationName(name string) types.BaseMethodFault {
	if name == "" || len(name) > maxConfigurationName {
		return &types.InvalidName{Name: name}
	}
	return nil
}

func hasGroup(config *types.ClusterConfigInfoEx, name string) bool {
	return slices.ContainsFunc(config.Group, func(info types.BaseClusterGroupInfo) bool { return info.GetClusterGroupInfo().Name == name })
}

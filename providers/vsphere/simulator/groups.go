// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// groups makes DRS groups and rules, and switches DRS on.
func (b *site) groups() error {
	for _, spec := range b.spec.Clusters {
		if err := b.server.editCluster(b.clusters[spec.Name], func(config *types.ClusterConfigInfoEx) error {
			config.DrsConfig = types.ClusterDrsConfigInfo{Enabled: types.NewBool(true), DefaultVmBehavior: types.DrsBehaviorFullyAutomated}
			return nil
		}); err != nil {
			return err
		}
		config, err := b.groupSpec(spec)
		if err != nil {
			return fmt.Errorf("cluster %q: %w", spec.Name, err)
		}
		if len(config.GroupSpec) == 0 && len(config.RulesSpec) == 0 {
			continue
		}
		started, err := methods.ReconfigureComputeResource_Task(context.Background(), b.server.admin.client,
			&types.ReconfigureComputeResource_Task{This: b.clusters[spec.Name].Self, Spec: config, Modify: true})
		if err == nil {
			_, err = b.server.admin.await(started.Returnval)
		}
		if err != nil {
			return fmt.Errorf("making groups and rules of cluster %q: %w", spec.Name, err)
		}
	}
	return nil
}

func (b *site) groupSpec(spec Cluster) (*types.ClusterConfigSpecEx, error) {
	config, add := &types.ClusterConfigSpecEx{}, types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
	cluster := b.clusters[spec.Name]
	for _, name := range slices.Sorted(maps.Keys(spec.HostGroups)) {
		refs, err := b.members(cluster.Host, spec.HostGroups[name])
		if err != nil {
			return nil, fmt.Errorf("host group %q: %w", name, err)
		}
		config.GroupSpec = append(config.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: add, Info: &types.ClusterHostGroup{
			ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Host: refs,
		}})
	}
	for _, name := range slices.Sorted(maps.Keys(spec.VMGroups)) {
		refs, err := b.vmMembers(spec.VMGroups[name])
		if err != nil {
			return nil, fmt.Errorf("VM group %q: %w", name, err)
		}
		config.GroupSpec = append(config.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: add, Info: &types.ClusterVmGroup{
			ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Vm: refs,
		}})
	}
	for _, rule := range spec.Rules {
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

func (b *site) members(of []types.ManagedObjectReference, names []string) ([]types.ManagedObjectReference, error) {
	var refs []types.ManagedObjectReference
	for _, name := range names {
		e, ok := child(b.server.call(), of, name)
		if !ok {
			return nil, fmt.Errorf("there is no %q", name)
		}
		refs = append(refs, e.Reference())
	}
	return refs, nil
}

func (b *site) vmMembers(names []string) ([]types.ManagedObjectReference, error) {
	var all []types.ManagedObjectReference
	for _, e := range b.server.registry.All("VirtualMachine") {
		if b.server.datacenterOf(e) == b.object {
			all = append(all, e.Reference())
		}
	}
	return b.members(all, names)
}

func orTrue(b *bool) *bool {
	if b == nil {
		return types.NewBool(true)
	}
	return b
}

// dropGone takes VMs out of groups that went while the groups were written. The
// cluster is locked.
func (s *Server) dropGone(ref types.ManagedObjectReference) {
	cluster, ok := get[*simulator.ClusterComputeResource](s, &ref)
	if !ok {
		return
	}
	for _, info := range cluster.ConfigurationEx.(*types.ClusterConfigInfoEx).Group {
		if group, ok := info.(*types.ClusterVmGroup); ok {
			group.Vm = slices.DeleteFunc(slices.Clone(group.Vm), func(vm types.ManagedObjectReference) bool { return s.registry.Get(vm) == nil })
		}
	}
}

// checkGroups refuses groups with members that vCenter would refuse. It looks at
// VMs, so it must not run while the cluster is locked.
func (s *Server) checkGroups(req *types.ReconfigureComputeResource_Task) types.BaseMethodFault {
	spec, ok := req.Spec.(*types.ClusterConfigSpecEx)
	if !ok {
		return nil
	}
	if fault := s.checkConfiguration(req, spec); fault != nil {
		return fault
	}
	for _, change := range spec.GroupSpec {
		group, ok := change.Info.(*types.ClusterVmGroup)
		if !ok || change.Operation == types.ArrayUpdateOperationRemove {
			continue
		}
		for _, ref := range group.Vm {
			vm, ok := get[*simulator.VirtualMachine](s, &ref)
			if !ok {
				return &types.ManagedObjectNotFound{Obj: ref}
			}
			if cluster, ok := s.clusterOf(vm); !ok || cluster.Self != req.This {
				return &types.InvalidArgument{InvalidProperty: "spec.groupSpec.info.vm"}
			}
		}
	}
	return nil
}

// publishGroups tells of the changes of a cluster, which vcsim makes in silence.
// The cluster is locked.
func (s *Server) publishGroups(ctx *simulator.Context, ref types.ManagedObjectReference) {
	cluster, ok := get[*simulator.ClusterComputeResource](s, &ref)
	if !ok {
		return
	}
	config := *cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)
	config.Group, config.Rule = slices.Clone(config.Group), slices.Clone(config.Rule)
	ctx.Update(cluster, []types.PropertyChange{{Name: "configurationEx", Val: &config}})
}

// errUnchanged says that there was nothing to edit.
var errUnchanged = errors.New("unchanged")

// editCluster changes groups or rules outside of a task.
func (s *Server) editCluster(cluster *simulator.ClusterComputeResource, edit func(*types.ClusterConfigInfoEx) error) error {
	ctx := s.call()
	var err error
	s.registry.WithLock(ctx, cluster, func() {
		if err = edit(cluster.ConfigurationEx.(*types.ClusterConfigInfoEx)); err == nil {
			s.publishGroups(ctx, cluster.Self)
		}
	})
	return err
}

// vmGroups returns the names of the groups that each VM of a cluster is in.
func vmGroups(config *types.ClusterConfigInfoEx) map[types.ManagedObjectReference][]string {
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

// leaveGroups takes a VM that has gone out of all groups, as vCenter does.
func (s *Server) leaveGroups(ref types.ManagedObjectReference) {
	for _, cluster := range s.clusters() {
		_ = s.editCluster(cluster, func(config *types.ClusterConfigInfoEx) error {
			if _, in := vmGroups(config)[ref]; !in {
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

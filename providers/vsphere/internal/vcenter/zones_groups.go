// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

func forbidden(err error) bool { return errors.Is(err, vcerrors.ErrForbidden) }

// changeGroups creates and changes groups, then the rules between them.
func (z *zones) changeGroups(ctx context.Context, steps []inventory.ConfigurationStep, failed map[inventory.ConfiguredItem]error) {
	var grouped []inventory.ConfigurationStep
	for _, step := range steps {
		if step.Grouped() {
			grouped = append(grouped, step)
		}
	}
	if len(grouped) == 0 {
		return
	}
	cluster := inventory.ParseRef("ClusterComputeResource", grouped[0].Object) // a zone has a single compute cluster
	for _, rules := range []bool{false, true} {
		part := slices.DeleteFunc(slices.Clone(grouped), func(step inventory.ConfigurationStep) bool { return (step.Kind == inventory.Rule) != rules })
		if rules && len(failed) > 0 {
			for _, step := range part {
				failed[step.ConfiguredItem] = notTried(step.ConfiguredItem)
			}
			return
		}
		if len(part) == 0 {
			continue
		}
		if err := z.clusters.Change(ctx, cluster, func(has inventory.Clustered) *types.ClusterConfigSpecEx { return written(has, part, failed) }); err != nil {
			for _, step := range part {
				if failed[step.ConfiguredItem] == nil {
					failed[step.ConfiguredItem] = lacking(step.ConfiguredItem, false, err)
				}
			}
		}
	}
}

// written returns the change to a compute cluster's configuration that executes the steps. An item that should be created for
// the first time but exists belongs to another owner.
func written(has inventory.Clustered, steps []inventory.ConfigurationStep, failed map[inventory.ConfiguredItem]error) *types.ClusterConfigSpecEx {
	spec := &types.ClusterConfigSpecEx{}
	for _, step := range steps {
		_, exists := inventory.FoundIn(has, step.ConfiguredItem)
		if exists && step.First {
			failed[step.ConfiguredItem] = fmt.Errorf("creating %s: %w: another client has just created it", step.ConfiguredItem, vcerrors.ErrDuplicateName)
			continue
		}
		update := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
		if exists {
			update.Operation = types.ArrayUpdateOperationEdit
		}
		switch step.Kind {
		case inventory.HostGroup:
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: update, Info: &types.ClusterHostGroup{
				ClusterGroupInfo: types.ClusterGroupInfo{Name: step.Name, UserCreated: types.NewBool(true)}, Host: refs("HostSystem", step.Hosts),
			}})
		case inventory.VMGroup:
			if !exists { // its members are written when they join
				spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: update, Info: &types.ClusterVmGroup{
					ClusterGroupInfo: types.ClusterGroupInfo{Name: step.Name, UserCreated: types.NewBool(true)},
				}})
			}
		default:
			spec.RulesSpec = append(spec.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: update, Info: ruleOf(step, has)})
		}
	}
	return spec
}

func ruleOf(step inventory.ConfigurationStep, has inventory.Clustered) *types.ClusterVmHostRuleInfo {
	rule := &types.ClusterVmHostRuleInfo{
		ClusterRuleInfo: types.ClusterRuleInfo{
			Name: step.Name, Enabled: types.NewBool(true), Mandatory: types.NewBool(step.Mandatory), UserCreated: types.NewBool(true),
		},
		VmGroupName: step.VMGroup, AffineHostGroupName: step.HostGroup,
	}
	existing, _ := has.Rule(step.Name)
	rule.Key = existing.Key // 0 for a new one
	return rule
}

func refs(managedType string, names []string) []types.ManagedObjectReference {
	var all []types.ManagedObjectReference
	for _, name := range names {
		all = append(all, inventory.ParseRef(managedType, name))
	}
	return all
}

// removeGroups removes rules, then groups. A VM group that still has members keeps its rule and stays.
func (z *zones) removeGroups(ctx context.Context, items []inventory.ConfiguredItem, outcome *Outcome) {
	byCluster := map[string][]inventory.ConfiguredItem{}
	for _, item := range items {
		if item.Grouped() {
			byCluster[item.Object] = append(byCluster[item.Object], item)
		}
	}
	for object, all := range byCluster {
		cluster := inventory.ParseRef("ClusterComputeResource", object)
		if !z.index.Shows(cluster) {
			if err := z.clusters.ConfirmDeleted(ctx, cluster); err != nil {
				for _, item := range all {
					outcome.Failed[item] = lacking(item, true, err)
				}
			}
			continue
		}
		for _, rules := range []bool{true, false} {
			part := slices.DeleteFunc(slices.Clone(all), func(item inventory.ConfiguredItem) bool { return (item.Kind == inventory.Rule) != rules })
			err := z.clusters.Change(ctx, cluster, func(has inventory.Clustered) *types.ClusterConfigSpecEx { return z.erased(has, part, outcome) })
			if err == nil {
				continue
			}
			for _, item := range part {
				if outcome.InUse[item] == "" {
					outcome.Failed[item] = lacking(item, true, err)
				}
			}
		}
	}
}

// erased returns the change to a compute cluster's configuration that removes unused items.
func (z *zones) erased(has inventory.Clustered, items []inventory.ConfiguredItem, outcome *Outcome) *types.ClusterConfigSpecEx {
	spec := &types.ClusterConfigSpecEx{}
	for _, item := range items {
		is, exists := inventory.FoundIn(has, item)
		if !exists {
			continue
		}
		if why := z.occupied(has, item, is); why != "" {
			outcome.InUse[item] = why
			continue
		}
		remove := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: item.Name}
		if item.Kind != inventory.Rule {
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: remove})
			continue
		}
		rule, _ := has.Rule(item.Name) // it exists
		remove.RemoveKey = rule.Key
		spec.RulesSpec = append(spec.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: remove})
	}
	return spec
}

// occupied returns what still uses a group or rule, or "".
func (z *zones) occupied(has inventory.Clustered, item inventory.ConfiguredItem, is inventory.ConfiguredFound) string {
	switch item.Kind {
	case inventory.Rule:
		return z.populated(has, is.VMGroup)
	case inventory.VMGroup:
		if why := z.populated(has, item.Name); why != "" {
			return why
		}
	}
	for _, rule := range has.Rules {
		of := rule.HostGroup
		if item.Kind == inventory.VMGroup {
			of = rule.VMGroup
		}
		if of == item.Name {
			return fmt.Sprintf("%s of compute cluster %s is still used by VM/host rule %q", item, has.Name, rule.Name)
		}
	}
	return ""
}

// populated returns the members of a VM group as text, or "" if it has none.
func (z *zones) populated(has inventory.Clustered, group string) string {
	members := has.VMGroups[group]
	if len(members) == 0 {
		return ""
	}
	names := make([]string, 0, len(members))
	for _, member := range members {
		name := member.Value
		if vm, ok := z.index.VMOf(member); ok {
			name = vm.Name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprintf("VM group %q of compute cluster %s still has %d virtual machines: %s", group, has.Name, len(members),
		strings.Join(names[:min(len(names), 3)], ", "))
}

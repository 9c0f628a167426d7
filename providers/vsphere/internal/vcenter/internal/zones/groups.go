// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

func forbidden(err error) bool { return errors.Is(err, vcerrors.ErrForbidden) }

// changeGroups makes and changes groups, then the rules between them.
func (z *Zones) changeGroups(ctx context.Context, steps []configuration.Step, failed map[configuration.Item]error) {
	var grouped []configuration.Step
	for _, step := range steps {
		if step.Grouped() {
			grouped = append(grouped, step)
		}
	}
	if len(grouped) == 0 {
		return
	}
	cluster := inventory.ParseRef("ClusterComputeResource", grouped[0].Object) // a zone is of one compute cluster
	for _, rules := range []bool{false, true} {
		part := slices.DeleteFunc(slices.Clone(grouped), func(step configuration.Step) bool { return (step.Kind == configuration.Rule) != rules })
		if rules && len(failed) > 0 {
			for _, step := range part {
				failed[step.Item] = notTried(step.Item)
			}
			return
		}
		if len(part) == 0 {
			continue
		}
		if err := z.clusters.Change(ctx, cluster, func(has inventory.Clustered) *types.ClusterConfigSpecEx { return written(has, part, failed) }); err != nil {
			for _, step := range part {
				if failed[step.Item] == nil {
					failed[step.Item] = lacking(step.Item, false, err)
				}
			}
		}
	}
}

// written is the change of a compute cluster's configuration that takes steps. An item that is there when it is to be made for the
// first time is somebody else's.
func written(has inventory.Clustered, steps []configuration.Step, failed map[configuration.Item]error) *types.ClusterConfigSpecEx {
	spec := &types.ClusterConfigSpecEx{}
	for _, step := range steps {
		_, exists := lookup.FoundIn(has, step.Item)
		if exists && step.First {
			failed[step.Item] = fmt.Errorf("making %s: %w: somebody else has just made it", step.Item, vcerrors.ErrDuplicateName)
			continue
		}
		update := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd}
		if exists {
			update.Operation = types.ArrayUpdateOperationEdit
		}
		switch step.Kind {
		case configuration.HostGroup:
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: update, Info: &types.ClusterHostGroup{
				ClusterGroupInfo: types.ClusterGroupInfo{Name: step.Name, UserCreated: types.NewBool(true)}, Host: refs("HostSystem", step.Hosts),
			}})
		case configuration.VMGroup:
			if !exists { // its members are written by those who join
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

func ruleOf(step configuration.Step, has inventory.Clustered) *types.ClusterVmHostRuleInfo {
	rule := &types.ClusterVmHostRuleInfo{
		ClusterRuleInfo: types.ClusterRuleInfo{
			Name: step.Name, Enabled: types.NewBool(true), Mandatory: types.NewBool(step.Mandatory), UserCreated: types.NewBool(true),
		},
		VmGroupName: step.VMGroup, AffineHostGroupName: step.HostGroup,
	}
	existing, _ := has.Rule(step.Name)
	rule.Key = existing.Key // none for a new one
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
func (z *Zones) removeGroups(ctx context.Context, items []configuration.Item, outcome *Outcome) {
	byCluster := map[string][]configuration.Item{}
	for _, item := range items {
		if item.Grouped() {
			byCluster[item.Object] = append(byCluster[item.Object], item)
		}
	}
	for object, all := range byCluster {
		cluster := inventory.ParseRef("ClusterComputeResource", object)
		if !z.index.Shows(cluster) {
			if err := z.clusters.Gone(ctx, cluster); err != nil {
				for _, item := range all {
					outcome.Failed[item] = lacking(item, true, err)
				}
			}
			continue
		}
		for _, rules := range []bool{true, false} {
			part := slices.DeleteFunc(slices.Clone(all), func(item configuration.Item) bool { return (item.Kind == configuration.Rule) != rules })
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

// erased is the change of a compute cluster's configuration that removes what nobody uses.
func (z *Zones) erased(has inventory.Clustered, items []configuration.Item, outcome *Outcome) *types.ClusterConfigSpecEx {
	spec := &types.ClusterConfigSpecEx{}
	for _, item := range items {
		is, exists := lookup.FoundIn(has, item)
		if !exists {
			continue
		}
		if why := z.occupied(has, item, is); why != "" {
			outcome.InUse[item] = why
			continue
		}
		remove := types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: item.Name}
		if item.Kind != configuration.Rule {
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{ArrayUpdateSpec: remove})
			continue
		}
		rule, _ := has.Rule(item.Name) // it exists
		remove.RemoveKey = rule.Key
		spec.RulesSpec = append(spec.RulesSpec, types.ClusterRuleSpec{ArrayUpdateSpec: remove})
	}
	return spec
}

// occupied says who still uses a group or rule.
func (z *Zones) occupied(has inventory.Clustered, item configuration.Item, is configuration.Found) string {
	switch item.Kind {
	case configuration.Rule:
		return z.populated(has, is.VMGroup)
	case configuration.VMGroup:
		if why := z.populated(has, item.Name); why != "" {
			return why
		}
	}
	for _, rule := range has.Rules {
		of := rule.HostGroup
		if item.Kind == configuration.VMGroup {
			of = rule.VMGroup
		}
		if of == item.Name {
			return fmt.Sprintf("%s of compute cluster %s is still used by VM/host rule %q", item, has.Name, rule.Name)
		}
	}
	return ""
}

// populated says who is in a VM group; "" if nobody is.
func (z *Zones) populated(has inventory.Clustered, group string) string {
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

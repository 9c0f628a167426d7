// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// DRSOff is the mode in which DRS of a cluster is disabled. The other modes are vCenter's: "manual", "partiallyAutomated" and
// "fullyAutomated".
const DRSOff = "off"

// Rule is a DRS rule that runs the VMs of a group on the hosts of a group.
type Rule struct {
	Name, VMGroup, HostGroup string
	// Mandatory selects "must run on" instead of "should run on"; nil means true.
	Mandatory *bool
	// Enabled is true if nil.
	Enabled *bool
}

// HostGroups returns the names of the hosts in each DRS host group of a compute cluster, given by name or inventory path.
func (d *DRS) HostGroups(cluster string) (map[string][]string, error) {
	config, err := d.configuration(cluster)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, info := range config.Group {
		if group, ok := info.(*types.ClusterHostGroup); ok {
			out[group.Name] = []string{}
			for _, host := range group.Host {
				out[group.Name] = append(out[group.Name], d.inventory.NameOf(&host))
			}
			slices.Sort(out[group.Name])
		}
	}
	return out, nil
}

// Rules returns the DRS rules of a compute cluster between VM groups and host groups, in the order of their creation.
func (d *DRS) Rules(cluster string) ([]Rule, error) {
	config, err := d.configuration(cluster)
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, info := range config.Rule {
		if rule, ok := info.(*types.ClusterVmHostRuleInfo); ok {
			out = append(out, Rule{
				Name: rule.Name, VMGroup: rule.VmGroupName, HostGroup: rule.AffineHostGroupName, Mandatory: rule.Mandatory, Enabled: rule.Enabled,
			})
		}
	}
	return out, nil
}

// SetRuleGroups changes the VM group and host group of a DRS rule.
func (d *DRS) SetRuleGroups(cluster, rule, vmGroup, hostGroup string) error {
	return d.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) {
		rule.VmGroupName, rule.AffineHostGroupName = vmGroup, hostGroup
	})
}

// RemoveRule deletes a DRS rule.
func (d *DRS) RemoveRule(cluster, rule string) error {
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		before := len(config.Rule)
		config.Rule = slices.DeleteFunc(slices.Clone(config.Rule), func(info types.BaseClusterRuleInfo) bool { return info.GetClusterRuleInfo().Name == rule })
		if len(config.Rule) == before {
			return fmt.Errorf("cluster %q has no rule %q", cluster, rule)
		}
		return nil
	})
}

// SetHostGroup makes hosts of the cluster, given by name, the only members of a host group, which is created if it does not
// exist.
func (d *DRS) SetHostGroup(cluster, group string, hosts ...string) error {
	c, err := d.inventory.Cluster(cluster)
	if err != nil {
		return err
	}
	members := []types.ManagedObjectReference{}
	for _, name := range hosts {
		host, err := d.inventory.Host(c, name)
		if err != nil {
			return err
		}
		members = append(members, host)
	}
	made := &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}, Host: members}
	return d.Edit(c, func(config *types.ClusterConfigInfoEx) error {
		for i, info := range config.Group {
			if old, ok := info.(*types.ClusterHostGroup); ok && old.Name == group {
				config.Group[i] = made
				return nil
			}
		}
		config.Group = append(slices.Clone(config.Group), made)
		return nil
	})
}

// RemoveGroup deletes a host group or VM group. Rules that refer to it are kept.
func (d *DRS) RemoveGroup(cluster, group string) error {
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		before := len(config.Group)
		config.Group = slices.DeleteFunc(slices.Clone(config.Group), func(info types.BaseClusterGroupInfo) bool {
			return info.GetClusterGroupInfo().Name == group
		})
		if len(config.Group) == before {
			return fmt.Errorf("cluster %q has no group %q", cluster, group)
		}
		return nil
	})
}

// AddVMGroup creates an empty VM group.
func (d *DRS) AddVMGroup(cluster, group string) error {
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		config.Group = append(slices.Clone(config.Group), &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}})
		return nil
	})
}

// OverwriteGroup makes the VMs, given by name, the only members of a VM group, as another vCenter client would that writes back a
// stale group.
func (d *DRS) OverwriteGroup(cluster, group string, vms ...string) error {
	members := []types.ManagedObjectReference{}
	for _, name := range vms {
		vm, err := d.inventory.VM(name)
		if err != nil {
			return err
		}
		members = append(members, vm.Self)
	}
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		for i, info := range config.Group {
			if old, ok := info.(*types.ClusterVmGroup); ok && old.Name == group {
				edited := *old
				edited.Vm = members
				config.Group[i] = &edited
				return nil
			}
		}
		return fmt.Errorf("cluster %q has no VM group %q", cluster, group)
	})
}

// GroupMembers returns the references of the VMs in each DRS VM group of a compute cluster, given by name or inventory path. It
// includes deleted VMs.
func (d *DRS) GroupMembers(cluster string) (map[string][]string, error) {
	c, err := d.inventory.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	d.inventory.WithLock(c, func() {
		for _, info := range c.ConfigurationEx.(*types.ClusterConfigInfoEx).Group {
			if group, ok := info.(*types.ClusterVmGroup); ok {
				out[group.Name] = nil
				for _, ref := range group.Vm {
					out[group.Name] = append(out[group.Name], ref.Value)
				}
			}
		}
	})
	return out, nil
}

// SetMode sets the mode of a cluster's DRS. Unless it is fully automated, a VM starts on the host that it is registered on.
func (d *DRS) SetMode(cluster, mode string) error {
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		config.DrsConfig.Enabled = types.NewBool(mode != DRSOff)
		if mode != DRSOff {
			config.DrsConfig.DefaultVmBehavior = types.DrsBehavior(mode)
		}
		return nil
	})
}

// SetMandatory makes a DRS rule mandatory ("must") or preferred ("should").
func (d *DRS) SetMandatory(cluster, rule string, mandatory bool) error {
	return d.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) { rule.Mandatory = types.NewBool(mandatory) })
}

// DisableRule disables or enables a DRS rule.
func (d *DRS) DisableRule(cluster, rule string, disabled bool) error {
	return d.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) { rule.Enabled = types.NewBool(!disabled) })
}

func (d *DRS) editRules(cluster string, edit func(*types.ClusterConfigInfoEx) error) error {
	c, err := d.inventory.Cluster(cluster)
	if err != nil {
		return err
	}
	return d.Edit(c, edit)
}

func (d *DRS) editRule(cluster, name string, edit func(*types.ClusterVmHostRuleInfo)) error {
	return d.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		for i, info := range config.Rule {
			if old, ok := info.(*types.ClusterVmHostRuleInfo); ok && old.Name == name {
				edited := *old
				edit(&edited)
				config.Rule[i] = &edited
				return nil
			}
		}
		return fmt.Errorf("cluster %q has no rule %q", cluster, name)
	})
}

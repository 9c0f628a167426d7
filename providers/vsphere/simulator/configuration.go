// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// maxConfigurationName is how long vCenter lets the name of a group or rule be.
const maxConfigurationName = 80

// HostGroups returns the names of the hosts in each DRS host group of a compute cluster, given by name or inventory path.
func (s *Server) HostGroups(cluster string) (map[string][]string, error) {
	config, err := s.configuration(cluster)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, info := range config.Group {
		if group, ok := info.(*types.ClusterHostGroup); ok {
			out[group.Name] = []string{}
			for _, host := range group.Host {
				out[group.Name] = append(out[group.Name], s.nameAt(&host))
			}
			slices.Sort(out[group.Name])
		}
	}
	return out, nil
}

// Rules returns the DRS rules of a compute cluster between VM groups and host groups, in the order in which they were made.
func (s *Server) Rules(cluster string) ([]Rule, error) {
	config, err := s.configuration(cluster)
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

// configuration is a copy of a compute cluster's groups and rules.
func (s *Server) configuration(cluster string) (types.ClusterConfigInfoEx, error) {
	c, err := s.cluster(cluster)
	if err != nil {
		return types.ClusterConfigInfoEx{}, err
	}
	return s.configurationOf(c), nil
}

func (s *Server) configurationOf(c *simulator.ClusterComputeResource) types.ClusterConfigInfoEx {
	var config types.ClusterConfigInfoEx
	s.locked(c, func() {
		config = *c.ConfigurationEx.(*types.ClusterConfigInfoEx)
		config.Group, config.Rule = slices.Clone(config.Group), slices.Clone(config.Rule)
	})
	return config
}

// SetRuleGroups has a DRS rule run another VM group on another host group.
func (s *Server) SetRuleGroups(cluster, rule, vmGroup, hostGroup string) error {
	return s.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) {
		rule.VmGroupName, rule.AffineHostGroupName = vmGroup, hostGroup
	})
}

// RemoveRule deletes a DRS rule.
func (s *Server) RemoveRule(cluster, rule string) error {
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		before := len(config.Rule)
		config.Rule = slices.DeleteFunc(slices.Clone(config.Rule), func(info types.BaseClusterRuleInfo) bool { return info.GetClusterRuleInfo().Name == rule })
		if len(config.Rule) == before {
			return fmt.Errorf("cluster %q has no rule %q", cluster, rule)
		}
		return nil
	})
}

// SetHostGroup makes hosts of the cluster, given by name, the only members of a host group, which is made if there is none.
func (s *Server) SetHostGroup(cluster, group string, hosts ...string) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	members := []types.ManagedObjectReference{}
	for _, name := range hosts {
		host, ok := child(s.call(), c.Host, name)
		if !ok {
			return fmt.Errorf("cluster %q has no host %q", cluster, name)
		}
		members = append(members, host.Reference())
	}
	made := &types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}, Host: members}
	return s.editCluster(c, func(config *types.ClusterConfigInfoEx) error {
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

// checkConfiguration refuses what vCenter refuses of groups and rules, and vcsim does not or with another fault: names that are
// taken or too long, hosts of other clusters, and rules between groups that do not exist. It must not run while the cluster is
// locked.
func (s *Server) checkConfiguration(req *types.ReconfigureComputeResource_Task, spec *types.ClusterConfigSpecEx) types.BaseMethodFault {
	cluster, ok := get[*simulator.ClusterComputeResource](s, &req.This)
	if !ok {
		return nil
	}
	config := s.configurationOf(cluster)
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

// checkGroup notes the groups that are fit to be made in the configuration: rules of the same request may name them.
func checkGroup(cluster *simulator.ClusterComputeResource, config *types.ClusterConfigInfoEx, change types.ClusterGroupSpec) types.BaseMethodFault {
	if change.Operation == types.ArrayUpdateOperationRemove {
		return nil
	}
	name := change.Info.GetClusterGroupInfo().Name
	if fault := checkName(name); fault != nil {
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
	if fault := checkName(rule.Name); fault != nil {
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

func checkName(name string) types.BaseMethodFault {
	if name == "" || len(name) > maxConfigurationName {
		return &types.InvalidName{Name: name}
	}
	return nil
}

func hasGroup(config *types.ClusterConfigInfoEx, name string) bool {
	return slices.ContainsFunc(config.Group, func(info types.BaseClusterGroupInfo) bool { return info.GetClusterGroupInfo().Name == name })
}

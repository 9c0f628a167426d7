// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// DRSOff is the mode in which DRS of a cluster is switched off. Others are
// vCenter's: "manual", "partiallyAutomated" and "fullyAutomated".
const DRSOff = "off"

// SetDRS sets the mode of a cluster's DRS. Unless it is fully automated a VM starts
// on the host that it is registered on.
func (s *Server) SetDRS(cluster, mode string) error {
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
		config.DrsConfig.Enabled = types.NewBool(mode != DRSOff)
		if mode != DRSOff {
			config.DrsConfig.DefaultVmBehavior = types.DrsBehavior(mode)
		}
		return nil
	})
}

// SetMandatory makes a DRS rule one that VMs must, or should, keep to.
func (s *Server) SetMandatory(cluster, rule string, mandatory bool) error {
	return s.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) { rule.Mandatory = types.NewBool(mandatory) })
}

// DisableRule switches a DRS rule off, or on again.
func (s *Server) DisableRule(cluster, rule string, disabled bool) error {
	return s.editRule(cluster, rule, func(rule *types.ClusterVmHostRuleInfo) { rule.Enabled = types.NewBool(!disabled) })
}

func (s *Server) editRule(cluster, name string, edit func(*types.ClusterVmHostRuleInfo)) error {
	return s.editRules(cluster, func(config *types.ClusterConfigInfoEx) error {
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

// SetFull makes hosts of a cluster, or all, so full that DRS starts no VM there, or
// ends that. What runs there stays.
func (s *Server) SetFull(cluster string, full bool, hosts ...string) error {
	return s.eachHost(cluster, hosts, func(_ *simulator.Context, host *simulator.HostSystem) { s.structure.setFull(host.Self, full) })
}

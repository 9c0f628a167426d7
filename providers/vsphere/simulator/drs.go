// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"github.com/vmware/govmomi/simulator"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// DRSOff is the mode in which DRS of a cluster is disabled. The other modes are vCenter's: "manual", "partiallyAutomated" and
// "fullyAutomated".
const DRSOff = vcsim.DRSOff

// HostGroups returns the names of the hosts in each DRS host group of a compute cluster, given by name or inventory path.
func (s *Server) HostGroups(cluster string) (map[string][]string, error) {
	return s.drs.HostGroups(cluster)
}

// Rules returns the DRS rules of a compute cluster between VM groups and host groups, in the order of their creation.
func (s *Server) Rules(cluster string) ([]Rule, error) { return s.drs.Rules(cluster) }

// SetRuleGroups changes the VM group and host group of a DRS rule.
func (s *Server) SetRuleGroups(cluster, rule, vmGroup, hostGroup string) error {
	return s.drs.SetRuleGroups(cluster, rule, vmGroup, hostGroup)
}

// RemoveRule deletes a DRS rule.
func (s *Server) RemoveRule(cluster, rule string) error { return s.drs.RemoveRule(cluster, rule) }

// SetHostGroup makes hosts of the cluster, given by name, the only members of a host group, which is created if it does not
// exist.
func (s *Server) SetHostGroup(cluster, group string, hosts ...string) error {
	return s.drs.SetHostGroup(cluster, group, hosts...)
}

// RemoveGroup deletes a host group or VM group. Rules that refer to it are kept.
func (s *Server) RemoveGroup(cluster, group string) error { return s.drs.RemoveGroup(cluster, group) }

// AddVMGroup creates an empty VM group.
func (s *Server) AddVMGroup(cluster, group string) error { return s.drs.AddVMGroup(cluster, group) }

// OverwriteGroup makes the VMs, given by name, the only members of a VM group, as another vCenter client would that writes back a
// stale group.
func (s *Server) OverwriteGroup(cluster, group string, vms ...string) error {
	return s.drs.OverwriteGroup(cluster, group, vms...)
}

// GroupMembers returns the references of the VMs in each DRS VM group of a compute cluster, given by name or inventory path. It
// includes deleted VMs.
func (s *Server) GroupMembers(cluster string) (map[string][]string, error) {
	return s.drs.GroupMembers(cluster)
}

// SetDRS sets the mode of a cluster's DRS. Unless it is fully automated, a VM starts on the host that it is registered on.
func (s *Server) SetDRS(cluster, mode string) error { return s.drs.SetMode(cluster, mode) }

// SetMandatory makes a DRS rule mandatory ("must") or preferred ("should").
func (s *Server) SetMandatory(cluster, rule string, mandatory bool) error {
	return s.drs.SetMandatory(cluster, rule, mandatory)
}

// DisableRule disables or enables a DRS rule.
func (s *Server) DisableRule(cluster, rule string, disabled bool) error {
	return s.drs.DisableRule(cluster, rule, disabled)
}

// SetFull makes hosts of a cluster, or all of them, so full that DRS starts no VM there, or reverts that. Running VMs are not
// affected.
func (s *Server) SetFull(cluster string, full bool, hosts ...string) error {
	return s.hosts.Each(cluster, hosts, func(_ *simulator.Context, host *simulator.HostSystem) { s.drs.SetFull(host.Self, full) })
}

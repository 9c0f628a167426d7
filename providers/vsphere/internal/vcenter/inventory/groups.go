// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
)

// drsMode holds a cluster's DRS settings. The zero value means that DRS is off.
type drsMode struct {
	enabled  bool
	behavior string // manual, partiallyAutomated or fullyAutomated
}

// automatic reports whether DRS chooses the host at power-on and enforces the rules afterwards.
func (m drsMode) automatic() bool { return m.enabled && m.behavior == "fullyAutomated" }

func (m drsMode) String() string {
	if !m.enabled {
		return "off"
	}
	return "in mode " + cmp.Or(m.behavior, "unknown")
}

// RuleOf returns the strictest enabled rule that ties a VM group to a host group, and whether there is any rule at all.
func (g groupSet) RuleOf(vmGroup, hostGroup string) (rule hostRule, exists bool) {
	for _, candidate := range g.rules {
		if candidate.vmGroup != vmGroup || candidate.hostGroup != hostGroup || hostGroup == "" {
			continue
		}
		if !exists || candidate.strictness() > rule.strictness() {
			rule = candidate
		}
		exists = true
	}
	return rule, exists
}

func (r hostRule) strictness() int {
	switch {
	case !r.Enabled:
		return 0
	case !r.Mandatory:
		return 1
	default:
		return 2
	}
}

// Unbound returns why vSphere does not keep the VM group on the host group, or "" if it does. If it does not, machines are
// placed on a host of the group explicitly.
func (e *Entity) Unbound(vmGroup, hostGroup string) string {
	rule, _ := e.Groups.RuleOf(vmGroup, hostGroup)
	switch {
	case !e.drs.automatic():
		return fmt.Sprintf("DRS of compute cluster %s is %s", e.Name, e.drs)
	case !rule.Enabled:
		return fmt.Sprintf("no rule of compute cluster %s runs VM group %q on host group %q", e.Name, vmGroup, hostGroup)
	case !rule.Mandatory:
		return fmt.Sprintf("rule %q of compute cluster %s is not mandatory", rule.Name, e.Name)
	}
	return ""
}

// Load counts the virtual machines of hosts. The caller must hold the lock.
func (ix *Index) Load(hosts []Ref) map[Ref]int {
	count := map[Ref]int{}
	for _, m := range ix.VMs {
		if !m.Template && slices.Contains(hosts, m.host) {
			count[m.host]++
		}
	}
	return count
}

// Membership is a virtual machine and the group that it must join.
type Membership struct {
	Group string
	VM    Ref
}

// HasGroup reports whether a compute cluster has a VM group with a name.
func (ix *Index) HasGroup(cluster Ref, group string) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.Entities[cluster]
	if !ok {
		return false
	}
	_, ok = e.Groups.VMs[group]
	return ok
}

// InGroup reports whether a virtual machine is in a group.
func (ix *Index) InGroup(cluster Ref, group string, vm Ref) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.Entities[cluster]
	return ok && slices.Contains(e.Groups.of[vm], group)
}

// MembersWith returns the members of each group after the joins. The members are nil if all its joins are done already, and a
// group that does not exist is absent.
func (ix *Index) MembersWith(cluster Ref, joins []Membership) map[string][]Ref {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.Entities[cluster]
	if !ok {
		return nil
	}
	wanted := map[string][]Ref{}
	for _, join := range joins {
		now, exists := e.Groups.VMs[join.Group]
		if !exists {
			continue
		}
		if _, seen := wanted[join.Group]; !seen {
			wanted[join.Group] = nil
		}
		if slices.Contains(e.Groups.of[join.VM], join.Group) {
			continue
		}
		if wanted[join.Group] == nil {
			wanted[join.Group] = slices.Clone(now)
		}
		wanted[join.Group] = append(wanted[join.Group], join.VM)
	}
	return wanted
}

// StrandedOutside returns why a virtual machine would run outside of its host group, or "".
func (ix *Index) StrandedOutside(vm VM, hostGroup string) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	compute, ok := ix.Entities[ParseRef("ClusterComputeResource", vm.ClusterRef)]
	if !ok || compute.drs.automatic() || slices.Contains(compute.Groups.Hosts[hostGroup], ParseRef("HostSystem", vm.HostRef)) {
		return ""
	}
	return fmt.Sprintf("is on host %s, which is not in host group %s, and DRS of compute cluster %s is %s",
		vm.Host, hostGroup, compute.Name, compute.drs)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "slices"

// HostRule is a rule between a VM group and a host group.
type HostRule struct {
	Name, VMGroup, HostGroup string
	Enabled, Mandatory       bool
	Key                      int32 // by which vCenter knows it
}

// Rules returns the rules of a cluster between VM groups and host groups. The lock is held.
func (e *Entity) Rules() []HostRule {
	rules := make([]HostRule, 0, len(e.Groups.rules))
	for _, r := range e.Groups.rules {
		rules = append(rules, HostRule{r.Name, r.vmGroup, r.hostGroup, r.Enabled, r.Mandatory, r.key})
	}
	return rules
}

// Clustered is what a compute cluster has of groups and rules.
type Clustered struct {
	Name       string
	Readable   bool
	HostGroups map[string][]Ref
	VMGroups   map[string][]Ref
	Rules      []HostRule
}

// Rule returns the rule of a name.
func (c Clustered) Rule(name string) (HostRule, bool) {
	i := slices.IndexFunc(c.Rules, func(rule HostRule) bool { return rule.Name == name })
	if i < 0 {
		return HostRule{}, false
	}
	return c.Rules[i], true
}

// ClusteredOf returns the groups and rules of a compute cluster, as the stream last reported them.
func (ix *Index) ClusteredOf(cluster Ref) (Clustered, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.Entities[cluster]
	if !ok {
		return Clustered{}, false
	}
	return e.Clustered(), true
}

// Clustered returns the groups and rules of a compute cluster. The lock is held; the maps are never written to.
func (e *Entity) Clustered() Clustered {
	return Clustered{Name: e.Name, Readable: e.Readable, HostGroups: e.Groups.Hosts, VMGroups: e.Groups.VMs, Rules: e.Rules()}
}

// HostNames returns the names of all hosts by reference.
func (ix *Index) HostNames() map[string]string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	names := map[string]string{}
	for r, e := range ix.Entities {
		if r.Type == "HostSystem" {
			names[r.String()] = e.Name
		}
	}
	return names
}

// PathOf returns the inventory path of an object, or its reference if it is gone.
func (ix *Index) PathOf(r Ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if _, ok := ix.Entities[r]; !ok {
		return r.String()
	}
	return ix.Path(r)
}

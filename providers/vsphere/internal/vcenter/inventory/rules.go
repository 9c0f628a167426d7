// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import "slices"

// HostRule is a rule between a VM group and a host group.
type HostRule struct {
	Name, VMGroup, HostGroup string
	Enabled, Mandatory       bool
	Key                      int32 // vCenter's key of the rule
}

// Rules returns the rules of a cluster between VM groups and host groups. The caller must hold the lock.
func (e *Entity) Rules() []HostRule {
	rules := make([]HostRule, 0, len(e.Groups.rules))
	for _, r := range e.Groups.rules {
		rules = append(rules, HostRule{r.Name, r.vmGroup, r.hostGroup, r.Enabled, r.Mandatory, r.key})
	}
	return rules
}

// Clustered holds the groups and rules of a compute cluster.
type Clustered struct {
	Name       string
	Readable   bool
	HostGroups map[string][]Ref
	VMGroups   map[string][]Ref
	Rules      []HostRule
}

// Rule returns the rule with a name.
func (c Clustered) Rule(name string) (HostRule, bool) {
	i := slices.IndexFunc(c.Rules, func(rule HostRule) bool { return rule.Name == name })
	if i < 0 {
		return HostRule{}, false
	}
	return c.Rules[i], true
}

// ClusteredOf returns the groups and rules of a compute cluster, as last reported by the stream.
func (ix *Index) ClusteredOf(cluster Ref) (Clustered, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	e, ok := ix.Entities[cluster]
	if !ok {
		return Clustered{}, false
	}
	return e.Clustered(), true
}

// Clustered returns the groups and rules of a compute cluster. The caller must hold the lock; the maps are never modified.
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

// PathOf returns the inventory path of an object, or its reference if the object does not exist.
func (ix *Index) PathOf(r Ref) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if _, ok := ix.Entities[r]; !ok {
		return r.String()
	}
	return ix.Path(r)
}

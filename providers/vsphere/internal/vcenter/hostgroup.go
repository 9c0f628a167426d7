// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// drsMode is how a cluster's DRS is set. Its zero value is switched off.
type drsMode struct {
	enabled  bool
	behavior string // manual, partiallyAutomated or fullyAutomated
}

// automatic reports whether DRS itself chooses the host at power on and keeps to the rules afterwards.
func (m drsMode) automatic() bool { return m.enabled && m.behavior == "fullyAutomated" }

func (m drsMode) String() string {
	if !m.enabled {
		return "off"
	}
	return "in mode " + cmp.Or(m.behavior, "unknown")
}

// ruleOf returns the strictest enabled rule that runs a VM group on a host group, and whether there is any at all.
func (g groupSet) ruleOf(vmGroup, hostGroup string) (rule hostRule, exists bool) {
	for _, candidate := range g.rules {
		if candidate.vmGroup != vmGroup || candidate.hostGroup != hostGroup {
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
	case !r.enabled:
		return 0
	case !r.mandatory:
		return 1
	default:
		return 2
	}
}

// unbound says why vSphere by itself does not keep the VM group on the host group; "" when it does. Then a machine is put on
// a host of the group explicitly.
func (e *entity) unbound(p Placement) string {
	rule, _ := e.groups.ruleOf(p.VMGroup, p.HostGroup)
	switch {
	case !e.drs.automatic():
		return fmt.Sprintf("DRS of compute cluster %s is %s", e.name, e.drs)
	case !rule.enabled:
		return fmt.Sprintf("no rule of compute cluster %s runs VM group %q on host group %q", e.name, p.VMGroup, p.HostGroup)
	case !rule.mandatory:
		return fmt.Sprintf("rule %q of compute cluster %s is not mandatory", rule.name, e.name)
	}
	return ""
}

// host chooses the host of a virtual machine that vSphere itself would not keep in its host group: of those that can run it
// the one with the fewest virtual machines. Machines that start together are spread by their names.
func (r *resolver) host(p Placement, datastore ref, networks []NetworkBacking) ref {
	if p.HostGroup == "" || r.compute == nil || r.compute.unbound(p) == "" {
		return ref{}
	}
	var fit []ref
	var why []string
	for _, host := range r.compute.groups.hosts[p.HostGroup] {
		if reason := r.unfit(host, datastore, networks); reason != "" {
			why = append(why, fmt.Sprintf("%s %s", r.ix.nameOf(host), reason))
		} else {
			fit = append(fit, host)
		}
	}
	if len(fit) == 0 {
		slices.Sort(why)
		detail := fmt.Sprintf("compute cluster %s has no such host group, or it is empty", r.compute.name)
		if len(why) > 0 {
			detail = strings.Join(why[:min(len(why), maxListed)], ", ")
		}
		r.errs = append(r.errs, &LookupError{string(kindHost), p.HostGroup, ErrInvalid, "no host of the group can be used: " + detail})
		return ref{}
	}
	load := r.ix.load(fit)
	return slices.MinFunc(fit, func(a, b ref) int {
		return cmp.Or(cmp.Compare(load[a], load[b]), cmp.Compare(spread(p.Name, a), spread(p.Name, b)), compareRefs(a, b))
	})
}

// unfit says why a host cannot take a virtual machine.
func (r *resolver) unfit(host, datastore ref, networks []NetworkBacking) string {
	e, ok := r.ix.entities[host]
	if !ok || !e.usable() {
		return "is disconnected or in maintenance mode"
	}
	if store, ok := r.ix.entities[datastore]; ok && !slices.Contains(store.hosts, host) {
		return "does not mount datastore " + store.name
	}
	for _, backing := range networks {
		if network, ok := r.ix.entities[parseRef("Network", backing.Ref)]; ok && len(network.hosts) > 0 && !slices.Contains(network.hosts, host) {
			return "is not connected to network " + network.name
		}
	}
	return ""
}

// load counts the virtual machines of hosts. The lock is held.
func (ix *index) load(hosts []ref) map[ref]int {
	count := map[ref]int{}
	for _, m := range ix.vms {
		if !m.template && slices.Contains(hosts, m.host) {
			count[m.host]++
		}
	}
	return count
}

func spread(name string, host ref) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name + "/" + host.Value))
	return h.Sum64()
}

// StrandedOutside says why a virtual machine that is powered on now would run outside of its host group: its host is no
// member, and DRS, which would choose another, is off or only gives advice. It returns "" when there is nothing to fear.
func (s *Session) StrandedOutside(vm VM, hostGroup string) string {
	if hostGroup == "" {
		return ""
	}
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	compute, ok := s.index.entities[parseRef("ClusterComputeResource", vm.ClusterRef)]
	if !ok || compute.drs.automatic() || slices.Contains(compute.groups.hosts[hostGroup], parseRef("HostSystem", vm.HostRef)) {
		return ""
	}
	return fmt.Sprintf("is on host %s, which is not in host group %s, and DRS of compute cluster %s is %s",
		vm.Host, hostGroup, compute.name, compute.drs)
}

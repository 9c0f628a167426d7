// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Configure selects what is created in vCenter where it is missing from a zone.
type Configure struct {
	Region, Zone bool // category, tag and attachments
	Groups       bool // VM group, rule, and the host group if its hosts are specified
	// HostNames or HostTag select the hosts of a host group that is created.
	HostNames []string
	HostTag   TagName
	// Repair reverts the changes of other clients to what was created.
	Repair bool
}

// Any reports whether anything is created.
func (c Configure) Any() bool { return c.Region || c.Zone || c.Groups }

// ConfigurationScope is the part of the inventory in which a zone is created.
type ConfigurationScope struct {
	Spec ZoneSpec
	// Known is true if all objects that the zone names were found and can be read. Otherwise nothing can be decided.
	Known   bool
	Cluster Ref // zero if the zone does not belong to a compute cluster
	Has     Clustered
	// Hosts are the hosts of the compute cluster by name.
	Hosts map[string]Ref
	// Region and Zone carry the tags.
	Region, Zone []Ref
	// Tagged are the hosts that carry the tag of the host group; set by the caller.
	Tagged []Ref
}

// ConfigurationScopeOf looks up where a zone is created.
func ConfigurationScopeOf(ix *Index, spec ZoneSpec) ConfigurationScope {
	ix.RLock()
	defer ix.RUnlock()
	site := ConfigurationScope{Spec: spec, Hosts: map[string]Ref{}}
	r, err := resolverOf(ix, spec.Placement)
	if err != nil || len(r.errs) > 0 || r.compute != nil && !r.compute.Readable && spec.VMGroup != "" {
		return site
	}
	site.Known = true
	if r.compute != nil {
		site.Cluster, site.Has = r.compute.Ref, r.compute.Clustered()
		for _, host := range r.compute.Hosts {
			if e, ok := ix.Entities[host]; ok {
				site.Hosts[e.Name] = host
			}
		}
	}
	c := &Inspection{resolver: r, Spec: spec}
	site.Region, _ = c.carriersOf(spec.Region)
	site.Zone, _ = c.carriersOf(spec.Zone)
	return site
}

// Wanted returns the items of the zone that can be created, in the order in which they are created.
func (s ConfigurationScope) Wanted() []ConfiguredWanted {
	if !s.Known {
		return nil
	}
	wanted := s.groups()
	wanted = append(wanted, tagged(s.Spec.Region, s.Spec.Configure.Region, s.Region)...)
	for _, w := range tagged(s.Spec.Zone, s.Spec.Configure.Zone, s.Zone) {
		at := slices.IndexFunc(wanted, func(other ConfiguredWanted) bool { return other.ConfiguredItem == w.ConfiguredItem })
		if at < 0 {
			wanted = append(wanted, w)
			continue
		}
		wanted[at].Adopt = wanted[at].Adopt && w.Adopt // region and zone share a category
		wanted[at].Types = append(slices.Clone(wanted[at].Types), w.Types...)
	}
	return wanted
}

func (s ConfigurationScope) groups() []ConfiguredWanted {
	spec := s.Spec
	if spec.VMGroup == "" || s.Cluster == (Ref{}) {
		return nil
	}
	on := s.Cluster.String()
	hostGroup := ConfiguredWanted{
		ConfiguredItem: ConfiguredItem{Kind: HostGroup, Name: spec.HostGroup, Object: on}, Adopt: !spec.Configure.Groups,
	}
	hosts, listed, problem := s.members()
	hostGroup.Hosts, hostGroup.Problem = hosts, problem
	hostGroup.Adopt = hostGroup.Adopt || !listed
	return []ConfiguredWanted{
		hostGroup,
		{ConfiguredItem: ConfiguredItem{Kind: VMGroup, Name: spec.VMGroup, Object: on}, Adopt: !spec.Configure.Groups},
		{
			ConfiguredItem:  ConfiguredItem{Kind: Rule, Name: RuleName(spec.VMGroup), Object: on},
			ConfiguredShape: ConfiguredShape{VMGroup: spec.VMGroup, HostGroup: spec.HostGroup, Mandatory: !spec.ShouldRule},
			Adopt:           !spec.Configure.Groups || s.ruledByOthers(),
		},
	}
}

// ruledByOthers reports whether a rule with another name ties the groups already. Such a rule is checked, but none is added.
func (s ConfigurationScope) ruledByOthers() bool {
	return slices.ContainsFunc(s.Has.Rules, func(rule HostRule) bool {
		return rule.VMGroup == s.Spec.VMGroup && rule.HostGroup == s.Spec.HostGroup && rule.Name != RuleName(s.Spec.VMGroup)
	})
}

// members returns the sorted hosts of a host group that is created.
func (s ConfigurationScope) members() (hosts []string, listed bool, problem string) {
	c := s.Spec.Configure
	switch {
	case len(c.HostNames) > 0:
		var missing []string
		for _, name := range c.HostNames {
			if host, ok := s.Hosts[name]; ok {
				hosts = append(hosts, host.String())
			} else {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			problem = fmt.Sprintf("topology.hosts.hostNames: compute cluster %s has no host %s; it has %s", s.Has.Name,
				strings.Join(missing, ", "), strings.Join(slices.Sorted(maps.Keys(s.Hosts)), ", "))
		}
	case c.HostTag != TagName{}:
		for _, host := range s.Tagged {
			hosts = append(hosts, host.String())
		}
		if len(hosts) == 0 {
			problem = fmt.Sprintf("topology.hosts.hostTag: no host of compute cluster %s carries tag %q of category %q; attach it", s.Has.Name, c.HostTag.Name, c.HostTag.Category)
		}
	default:
		return nil, false, ""
	}
	slices.Sort(hosts)
	return hosts, true, problem
}

// tagged returns a tag, its category and its attachments to objects.
func tagged(tag ZoneTag, auto bool, carriers []Ref) []ConfiguredWanted {
	if tag.Name == "" {
		return nil
	}
	wanted := []ConfiguredWanted{
		{
			ConfiguredItem:  ConfiguredItem{Kind: TagCategory, Name: tag.Category},
			ConfiguredShape: ConfiguredShape{Types: []string{associable(tag.Type)}}, Adopt: !auto,
		},
		{ConfiguredItem: ConfiguredItem{Kind: Tag, Name: tag.Name, Category: tag.Category}, Adopt: !auto},
	}
	for _, object := range carriers {
		wanted = append(wanted, ConfiguredWanted{
			ConfiguredItem: ConfiguredItem{Kind: TagAttachment, Name: tag.Name, Category: tag.Category, Object: object.String()}, Adopt: !auto,
		})
	}
	return wanted
}

// associable returns the type of objects that can carry the tags of a category.
func associable(zoneType string) string {
	switch zoneType {
	case "Datacenter":
		return "Datacenter"
	case "HostGroup":
		return "HostSystem"
	default:
		return "ClusterComputeResource"
	}
}

// Clustered returns the existing ones of the wanted groups and rule.
func (s ConfigurationScope) Clustered(items []ConfiguredItem) map[ConfiguredItem]ConfiguredFound {
	found := map[ConfiguredItem]ConfiguredFound{}
	for _, item := range items {
		if !item.Grouped() || item.Object != s.Cluster.String() {
			continue
		}
		if is, ok := FoundIn(s.Has, item); ok {
			found[item] = is
		}
	}
	return found
}

// FoundIn returns the actual state of a group or rule of a compute cluster.
func FoundIn(has Clustered, item ConfiguredItem) (ConfiguredFound, bool) {
	switch item.Kind {
	case HostGroup:
		hosts, ok := has.HostGroups[item.Name]
		return ConfiguredFound{ConfiguredShape: ConfiguredShape{Hosts: references(hosts)}}, ok
	case VMGroup:
		_, ok := has.VMGroups[item.Name]
		return ConfiguredFound{}, ok
	default:
		rule, ok := has.Rule(item.Name)
		return ConfiguredFound{
			ConfiguredShape: ConfiguredShape{VMGroup: rule.VMGroup, HostGroup: rule.HostGroup, Mandatory: rule.Mandatory},
			Disabled:        !rule.Enabled,
		}, ok
	}
}

func references(refs []Ref) []string {
	var names []string
	for _, r := range refs {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return names
}

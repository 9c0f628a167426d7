// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Configure is what of a zone is made in vCenter where it is missing.
type Configure struct {
	Region, Zone bool // category, tag and attachments
	Groups       bool // VM group, rule, and host group if it is said of which hosts
	// HostNames or HostTag say which hosts a host group that is made has.
	HostNames []string
	HostTag   TagName
	// Repair puts back what somebody has changed of what was made.
	Repair bool
}

// Any reports whether anything is made.
func (c Configure) Any() bool { return c.Region || c.Zone || c.Groups }

// Site is where a zone is made.
type Site struct {
	Spec ZoneSpec
	// Known says that all that the zone names has been found, and can be read: else nothing can be said about it.
	Known   bool
	Cluster Ref // none when the zone is none of a compute cluster
	Has     Clustered
	// Hosts are those of the compute cluster by name.
	Hosts map[string]Ref
	// Region and Zone carry the tags.
	Region, Zone []Ref
	// Tagged are the hosts that carry the tag of the host group; the caller fills it in.
	Tagged []Ref
}

// SiteOf finds where a zone is made.
func SiteOf(ix *Index, spec ZoneSpec) Site {
	ix.RLock()
	defer ix.RUnlock()
	site := Site{Spec: spec, Hosts: map[string]Ref{}}
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

// Wanted returns what the zone consists of that can be made, in the order in which it is made.
func (s Site) Wanted() []ConfiguredWanted {
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

func (s Site) groups() []ConfiguredWanted {
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

// ruledByOthers reports whether a rule that we would not make is between the groups already: it is judged, never doubled.
func (s Site) ruledByOthers() bool {
	return slices.ContainsFunc(s.Has.Rules, func(rule HostRule) bool {
		return rule.VMGroup == s.Spec.VMGroup && rule.HostGroup == s.Spec.HostGroup && rule.Name != RuleName(s.Spec.VMGroup)
	})
}

// members are the hosts of a host group that is made, sorted.
func (s Site) members() (hosts []string, listed bool, problem string) {
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

// tagged is a tag with its category, on objects.
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

// associable is the type of the objects that a category is for.
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

// Clustered returns what there is of the wanted groups and rule.
func (s Site) Clustered(items []ConfiguredItem) map[ConfiguredItem]ConfiguredFound {
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

// FoundIn returns a group or rule as a compute cluster has it.
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

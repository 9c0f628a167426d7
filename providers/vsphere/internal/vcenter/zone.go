// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ZoneSpec is what a failure domain says of vSphere. Empty fields of Placement are not checked.
type ZoneSpec struct {
	Placement

	Region, Zone ZoneTag
	// ShouldRule is content with a rule between the groups that is not mandatory.
	ShouldRule bool
	Template   string // "": not checked
}

// ZoneTag is a tag and the kind of object that carries it.
type ZoneTag struct {
	Name, Category string
	Type           string // Datacenter, ComputeCluster or HostGroup: then every host of the group carries it
}

// ZoneReason says what is wrong with a zone.
type ZoneReason string

// What can be wrong with a zone.
const (
	DatacenterNotFound     ZoneReason = "DatacenterNotFound"
	ComputeClusterNotFound ZoneReason = "ComputeClusterNotFound"
	ResourcePoolNotFound   ZoneReason = "ResourcePoolNotFound"
	FolderNotFound         ZoneReason = "FolderNotFound"
	DatastoreNotFound      ZoneReason = "DatastoreNotFound" // missing, not accessible, or not where the hosts are
	NetworkNotFound        ZoneReason = "NetworkNotFound"   // missing, or not where the hosts are
	TemplateNotFound       ZoneReason = "TemplateNotFound"
	RegionMisconfigured    ZoneReason = "RegionMisconfigured"
	ZoneMisconfigured      ZoneReason = "ZoneMisconfigured"
	HostsMisconfigured     ZoneReason = "HostsMisconfigured" // host group, group of virtual machines, or their rule; it must bind
	NoUsableHost           ZoneReason = "NoUsableHost"       // all are disconnected or in maintenance mode
)

// ZoneProblem is one thing that is wrong with a zone, and what to do about it.
type ZoneProblem struct {
	Reason  ZoneReason
	Message string
}

// ZoneReport is what was found of a zone.
type ZoneReport struct {
	// Problems is everything that is wrong.
	Problems []ZoneProblem
	// Explicit says why machines are put on hosts of the host group explicitly; "" when vSphere itself keeps them there.
	Explicit string
}

// CheckZone returns everything that is wrong with a zone, at once. An error means that it cannot be said. Tags may be as
// old as a minute; all else is as the stream reported it.
func (s *Session) CheckZone(ctx context.Context, spec ZoneSpec) (ZoneReport, error) {
	c := s.inspectZone(spec)
	if len(c.tagged) == 0 {
		return c.report(), nil
	}
	var objects []ref
	for _, check := range c.tagged {
		objects = append(objects, check.objects...)
	}
	attached, err := s.tags.of(ctx, objects)
	if err != nil {
		return ZoneReport{}, err
	}
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	for _, check := range c.tagged {
		c.checkTag(s.index, check, attached)
	}
	return c.report(), nil
}

type zoneCheck struct {
	problems []ZoneProblem
	tagged   []tagCheck
	explicit string
}

// tagCheck is a tag that objects must carry.
type tagCheck struct {
	reason  ZoneReason
	tag     ZoneTag
	objects []ref
}

func (c *zoneCheck) add(reason ZoneReason, format string, args ...any) {
	c.problems = append(c.problems, ZoneProblem{reason, fmt.Sprintf(format, args...)})
}

// report returns the problems from the whole to its parts.
func (c *zoneCheck) report() ZoneReport {
	order := []ZoneReason{
		DatacenterNotFound, ComputeClusterNotFound, ResourcePoolNotFound, FolderNotFound, DatastoreNotFound,
		NetworkNotFound, TemplateNotFound, RegionMisconfigured, ZoneMisconfigured, HostsMisconfigured, NoUsableHost,
	}
	slices.SortStableFunc(c.problems, func(a, b ZoneProblem) int {
		return cmp.Compare(slices.Index(order, a.Reason), slices.Index(order, b.Reason))
	})
	return ZoneReport{Problems: c.problems, Explicit: c.explicit}
}

// inspectZone checks what the index knows.
func (s *Session) inspectZone(spec ZoneSpec) *zoneCheck {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	c := &zoneCheck{}
	r, err := s.index.resolver(spec.Placement)
	if err != nil {
		c.add(DatacenterNotFound, "%v", err)
		return c
	}
	if spec.ResourcePool != "" {
		r.pool(spec.Placement)
	}
	c.checkGroups(r, spec)
	if spec.Folder != "" {
		r.folder(spec.Folder)
	}
	if spec.Datastore != "" {
		r.datastore(spec.Datastore)
	}
	r.networks(spec.Networks)
	if spec.Template != "" {
		r.note(r.template(spec.Template))
	}
	for _, err := range r.errs {
		c.add(reasonOf(err), "%v", err)
	}
	c.checkHosts(r, spec)
	c.needTag(r, RegionMisconfigured, spec.Region, spec.HostGroup)
	c.needTag(r, ZoneMisconfigured, spec.Zone, spec.HostGroup)
	return c
}

// checkHosts wants one host that can be used. A zone that names neither a compute cluster nor a pool is as large as its
// datacenter.
func (c *zoneCheck) checkHosts(r *resolver, spec ZoneSpec) {
	if r.compute == nil {
		if spec.ComputeCluster != "" || spec.ResourcePool != "" {
			return // has been noted
		}
		for _, compute := range r.all(kindCompute) {
			if r.inScope(kindCompute, compute) {
				r.hosts = append(r.hosts, r.ix.entities[compute].hosts...)
			}
		}
		r.hostsOf = "datacenter " + r.dc.name
	}
	for _, host := range r.hosts {
		if e, ok := r.ix.entities[host]; ok && e.usable() {
			return
		}
	}
	if len(r.hosts) == 0 {
		c.add(NoUsableHost, "%s has no host", r.hostsOf)
		return
	}
	c.add(NoUsableHost, "all %d hosts of %s are disconnected or in maintenance mode", len(r.hosts), r.hostsOf)
}

func reasonOf(err error) ZoneReason {
	var lookup *LookupError
	if !errors.As(err, &lookup) {
		return DatacenterNotFound
	}
	switch kind(lookup.Field) {
	case kindCompute:
		return ComputeClusterNotFound
	case kindPool:
		return ResourcePoolNotFound
	case kindFolder:
		return FolderNotFound
	case kindDatastore:
		return DatastoreNotFound
	case kindNetwork:
		return NetworkNotFound
	case kindVM:
		return TemplateNotFound
	}
	return DatacenterNotFound
}

// checkGroups checks the groups and their rule, and narrows the hosts that count down to those of the group.
func (c *zoneCheck) checkGroups(r *resolver, spec ZoneSpec) {
	if spec.VMGroup == "" && spec.HostGroup == "" {
		return
	}
	if r.compute == nil {
		if spec.ComputeCluster == "" {
			c.add(HostsMisconfigured, "groups of hosts need a computeCluster, and none is named")
		}
		return
	}
	groups, cluster := r.compute.groups, r.compute.name
	if !r.compute.readable {
		c.add(HostsMisconfigured, "this account may not read groups and rules of compute cluster %s; give it a role there, Read-only at least", cluster)
		return
	}
	if !r.narrow(spec.HostGroup) {
		c.add(HostsMisconfigured, "compute cluster %s has no host group %q; make it", cluster, spec.HostGroup)
	}
	if _, ok := groups.vms[spec.VMGroup]; !ok {
		c.add(HostsMisconfigured, "compute cluster %s has no VM group %q; make it", cluster, spec.VMGroup)
	}
	c.checkRule(r.compute, spec)
}

// checkRule wants a rule that binds, or one that does not and whose machines may be put on hosts explicitly.
func (c *zoneCheck) checkRule(cluster *entity, spec ZoneSpec) {
	rule, exists := cluster.groups.ruleOf(spec.VMGroup, spec.HostGroup)
	switch {
	case !exists:
		c.add(HostsMisconfigured, "compute cluster %s has no VM/host rule that runs VM group %q on host group %q; make it",
			cluster.name, spec.VMGroup, spec.HostGroup)
	case !rule.enabled:
		c.add(HostsMisconfigured, "the VM/host rule of compute cluster %s that runs VM group %q on host group %q is disabled; enable it",
			cluster.name, spec.VMGroup, spec.HostGroup)
	case !rule.mandatory && !spec.ShouldRule:
		c.add(HostsMisconfigured, "rule %q of compute cluster %s is not mandatory, so that machines may run outside of host group %q; "+
			"make it one that they must run on hosts in the group, or set topology.hosts.rule of the VSphereFailureDomain to Should",
			rule.name, cluster.name, spec.HostGroup)
	default:
		c.explicit = cluster.unbound(spec.Placement)
	}
}

// needTag notes which objects must carry a tag. An object that was not found has been reported already.
func (c *zoneCheck) needTag(r *resolver, reason ZoneReason, tag ZoneTag, hostGroup string) {
	if tag.Name == "" {
		return
	}
	check := tagCheck{reason: reason, tag: tag}
	switch tag.Type {
	case "Datacenter":
		check.objects = []ref{r.dc.ref}
	case "ComputeCluster":
		if r.compute != nil {
			check.objects = []ref{r.compute.ref}
		}
	case "HostGroup":
		if r.compute != nil {
			check.objects = r.compute.groups.hosts[hostGroup]
		}
	default:
		c.add(reason, "type %q is not one of Datacenter, ComputeCluster, HostGroup", tag.Type)
	}
	if len(check.objects) > 0 {
		c.tagged = append(c.tagged, check)
	}
}

func (c *zoneCheck) checkTag(ix *index, check tagCheck, attached map[ref][]tagName) {
	want := tagName{check.tag.Category, check.tag.Name}
	var without, instead []string
	for _, object := range check.objects {
		if slices.Contains(attached[object], want) {
			continue
		}
		without = append(without, ix.path(object))
		for _, other := range attached[object] {
			if other.category == want.category || other.name == want.name {
				instead = append(instead, other.String())
			}
		}
	}
	if len(without) == 0 {
		return
	}
	message := fmt.Sprintf("tag %q of category %q is not attached to %s; attach it", want.name, want.category, strings.Join(without, ", "))
	if len(instead) > 0 {
		slices.Sort(instead)
		message += fmt.Sprintf(" (it carries %s)", strings.Join(slices.Compact(instead), ", "))
	}
	c.add(check.reason, "%s", message)
}

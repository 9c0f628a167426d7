// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
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

// ZoneCheck is one thing that is looked at.
type ZoneCheck struct {
	Reason ZoneReason
	// Condition is the type of the condition that shows the result. Checks may share one.
	Condition string
	// Constraint is true for what the zone's own placement constraint names; all else is of the failure domain.
	Constraint bool
	// Unreported is true where no event tells that the result has changed.
	Unreported bool

	// run returns what is wrong of what the index knows.
	run func(*inspection) []string
	// tag returns the tag whose attachment is checked instead, which vCenter has to be asked for.
	tag func(ZoneSpec) ZoneTag
}

// ZoneChecks returns every check of a zone, in the order in which problems are reported: from the whole to its parts. A row
// here is all that a check needs beside the function that does it.
func ZoneChecks() []ZoneCheck {
	return []ZoneCheck{
		{Reason: DatacenterNotFound, Condition: "DatacenterReady", run: looksUp("")},
		{Reason: ComputeClusterNotFound, Condition: "ComputeClusterReady", run: looksUp(kindCompute)},
		{Reason: ResourcePoolNotFound, Condition: "ResourcePoolReady", Constraint: true, run: looksUp(kindPool)},
		{Reason: FolderNotFound, Condition: "FolderReady", Constraint: true, run: looksUp(kindFolder)},
		{Reason: DatastoreNotFound, Condition: "DatastoreReady", run: looksUp(kindDatastore)},
		{Reason: NetworkNotFound, Condition: "NetworksReady", run: looksUp(kindNetwork)},
		{Reason: TemplateNotFound, Condition: "TemplateReady", Unreported: true, run: looksUp(kindVM)},
		{Reason: RegionMisconfigured, Condition: "RegionReady", Unreported: true, tag: func(spec ZoneSpec) ZoneTag { return spec.Region }},
		{Reason: ZoneMisconfigured, Condition: "ZoneReady", Unreported: true, tag: func(spec ZoneSpec) ZoneTag { return spec.Zone }},
		{Reason: HostsMisconfigured, Condition: "HostsReady", run: (*inspection).groups},
		{Reason: NoUsableHost, Condition: "HostsReady", run: (*inspection).usableHost},
	}
}

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
	c := s.inspect(spec)
	if err := s.checkTags(ctx, c); err != nil {
		return ZoneReport{}, err
	}
	report := ZoneReport{Explicit: c.explicit}
	for _, check := range ZoneChecks() {
		for _, message := range c.found[check.Reason] {
			report.Problems = append(report.Problems, ZoneProblem{check.Reason, message})
		}
	}
	return report, nil
}

// inspection is a zone that is being checked.
type inspection struct {
	*resolver
	spec ZoneSpec
	// found is what is wrong.
	found map[ZoneReason][]string
	// carriers are the objects that must carry the tag of a check.
	carriers map[ZoneReason][]ref
	explicit string
	// grouped reports whether the host group exists, if one is named.
	grouped bool
}

// inspect does the checks that need nothing but the index, and notes what must carry tags.
func (s *Session) inspect(spec ZoneSpec) *inspection {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	c := &inspection{spec: spec, found: map[ZoneReason][]string{}, carriers: map[ZoneReason][]ref{}}
	var err error
	if c.resolver, err = s.index.resolver(spec.Placement); err != nil {
		c.found[DatacenterNotFound] = []string{err.Error()}
		return c
	}
	c.resolveAll()
	for _, check := range ZoneChecks() {
		if check.run != nil {
			c.found[check.Reason] = check.run(c)
			continue
		}
		if objects, wrong := c.carriersOf(check.tag(spec)); wrong != "" {
			c.found[check.Reason] = []string{wrong}
		} else if len(objects) > 0 {
			c.carriers[check.Reason] = objects
		}
	}
	return c
}

// resolveAll looks everything up that the zone names. The pool may say which compute cluster it is, and the host group which
// hosts count: both go first.
func (c *inspection) resolveAll() {
	spec := c.spec
	if spec.ResourcePool != "" {
		c.pool(spec.Placement)
	}
	if (spec.VMGroup != "" || spec.HostGroup != "") && c.compute != nil && c.compute.readable {
		c.grouped = c.narrow(spec.HostGroup)
	}
	if spec.Folder != "" {
		c.folder(spec.Folder)
	}
	if spec.Datastore != "" {
		c.datastore(spec.Datastore)
	}
	c.networks(spec.Networks)
	if spec.Template != "" {
		c.note(c.template(spec.Template))
	}
}

// looksUp returns a check that reports what of the kind was not found; "" stands for all that no other kind is named for.
func looksUp(of kind) func(*inspection) []string {
	return func(c *inspection) []string {
		var wrong []string
		for _, err := range c.errs {
			if fieldOf(err) == of {
				wrong = append(wrong, err.Error())
			}
		}
		return wrong
	}
}

func fieldOf(err error) kind {
	var lookup *LookupError
	if !errors.As(err, &lookup) {
		return ""
	}
	switch field := kind(lookup.Field); field {
	case kindCompute, kindPool, kindFolder, kindDatastore, kindNetwork, kindVM:
		return field
	}
	return ""
}

// usableHost wants one host that can be used. A zone that names neither a compute cluster nor a pool is as large as its
// datacenter.
func (c *inspection) usableHost() []string {
	if c.compute == nil {
		if c.spec.ComputeCluster != "" || c.spec.ResourcePool != "" {
			return nil // has been noted
		}
		for _, compute := range c.all(kindCompute) {
			if c.inScope(kindCompute, compute) {
				c.hosts = append(c.hosts, c.ix.entities[compute].hosts...)
			}
		}
		c.hostsOf = "datacenter " + c.dc.name
	}
	for _, host := range c.hosts {
		if e, ok := c.ix.entities[host]; ok && e.usable() {
			return nil
		}
	}
	if len(c.hosts) == 0 {
		return []string{c.hostsOf + " has no host"}
	}
	return []string{fmt.Sprintf("all %d hosts of %s are disconnected or in maintenance mode", len(c.hosts), c.hostsOf)}
}

// groups wants the groups and their rule.
func (c *inspection) groups() []string {
	spec := c.spec
	if spec.VMGroup == "" && spec.HostGroup == "" {
		return nil
	}
	if c.compute == nil {
		if spec.ComputeCluster == "" {
			return []string{"groups of hosts need a computeCluster, and none is named"}
		}
		return nil
	}
	cluster := c.compute.name
	if !c.compute.readable {
		return []string{fmt.Sprintf("this account may not read groups and rules of compute cluster %s; give it a role there, Read-only at least", cluster)}
	}
	var wrong []string
	if !c.grouped {
		wrong = append(wrong, fmt.Sprintf("compute cluster %s has no host group %q; make it", cluster, spec.HostGroup))
	}
	if _, ok := c.compute.groups.vms[spec.VMGroup]; !ok {
		wrong = append(wrong, fmt.Sprintf("compute cluster %s has no VM group %q; make it", cluster, spec.VMGroup))
	}
	return append(wrong, c.rule()...)
}

// rule wants a rule that binds, or one that does not and whose machines may be put on hosts explicitly.
func (c *inspection) rule() []string {
	spec, cluster := c.spec, c.compute
	rule, exists := cluster.groups.ruleOf(spec.VMGroup, spec.HostGroup)
	switch {
	case !exists:
		return []string{fmt.Sprintf("compute cluster %s has no VM/host rule that runs VM group %q on host group %q; make it",
			cluster.name, spec.VMGroup, spec.HostGroup)}
	case !rule.enabled:
		return []string{fmt.Sprintf("the VM/host rule of compute cluster %s that runs VM group %q on host group %q is disabled; enable it",
			cluster.name, spec.VMGroup, spec.HostGroup)}
	case !rule.mandatory && !spec.ShouldRule:
		return []string{fmt.Sprintf("rule %q of compute cluster %s is not mandatory, so that machines may run outside of host group %q; "+
			"make it one that they must run on hosts in the group, or set topology.hosts.rule of the VSphereFailureDomain to Should",
			rule.name, cluster.name, spec.HostGroup)}
	}
	c.explicit = cluster.unbound(spec.Placement)
	return nil
}

// carriersOf returns the objects that must carry a tag. One that was not found has been reported already.
func (c *inspection) carriersOf(tag ZoneTag) (objects []ref, wrong string) {
	switch {
	case tag.Name == "":
	case tag.Type == "Datacenter":
		return []ref{c.dc.ref}, ""
	case tag.Type != "ComputeCluster" && tag.Type != "HostGroup":
		return nil, fmt.Sprintf("type %q is not one of Datacenter, ComputeCluster, HostGroup", tag.Type)
	case c.compute == nil:
	case tag.Type == "ComputeCluster":
		return []ref{c.compute.ref}, ""
	default:
		return c.compute.groups.hosts[c.spec.HostGroup], ""
	}
	return nil, ""
}

// checkTags asks vCenter for the tags that objects must carry.
func (s *Session) checkTags(ctx context.Context, c *inspection) error {
	var objects []ref
	var wanted []tagName
	for _, check := range ZoneChecks() {
		if carriers := c.carriers[check.Reason]; len(carriers) > 0 {
			objects, wanted = append(objects, carriers...), append(wanted, check.wanted(c.spec))
		}
	}
	if len(objects) == 0 {
		return nil
	}
	attached, err := s.tags.of(ctx, objects, wanted)
	if err != nil {
		return err
	}
	for _, check := range ZoneChecks() {
		without := slices.DeleteFunc(slices.Clone(c.carriers[check.Reason]), func(object ref) bool {
			return attached.has(object, check.wanted(c.spec))
		})
		if len(without) > 0 {
			c.found[check.Reason] = []string{untagged(s.index, check.wanted(c.spec), without, s.tags.named(ctx, attached.on(without)))}
		}
	}
	return nil
}

func (c ZoneCheck) wanted(spec ZoneSpec) tagName {
	tag := c.tag(spec)
	return tagName{tag.Category, tag.Name}
}

// untagged says which objects lack the tag that is wanted, and what they carry in its place.
func untagged(ix *index, want tagName, objects []ref, others []tagName) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var without, instead []string
	for _, object := range objects {
		without = append(without, ix.path(object))
	}
	for _, other := range others {
		if other.category == want.category || other.name == want.name {
			instead = append(instead, other.String())
		}
	}
	message := fmt.Sprintf("tag %q of category %q is not attached to %s; attach it", want.name, want.category, strings.Join(without, ", "))
	if len(instead) > 0 {
		slices.Sort(instead)
		message += fmt.Sprintf(" (it carries %s)", strings.Join(slices.Compact(instead), ", "))
	}
	return message
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// ZoneSpec holds the vSphere part of a failure domain. Empty fields of Placement are not checked.
type ZoneSpec struct {
	Placement

	Region, Zone ZoneTag
	// ShouldRule accepts a rule between the groups that is not mandatory.
	ShouldRule bool
	Template   string // "": not checked
	// Configure selects what is created where it is missing.
	Configure Configure
}

// ZoneTag is a tag and the kind of object that carries it.
type ZoneTag struct {
	Name, Category string
	Type           string // Datacenter, ComputeCluster or HostGroup: every host of the group carries it
}

// ZoneReason is the kind of a problem of a zone.
type ZoneReason string

// Problems of a zone.
const (
	DatacenterNotFound     ZoneReason = "DatacenterNotFound"
	ComputeClusterNotFound ZoneReason = "ComputeClusterNotFound"
	ResourcePoolNotFound   ZoneReason = "ResourcePoolNotFound"
	FolderNotFound         ZoneReason = "FolderNotFound"
	DatastoreNotFound      ZoneReason = "DatastoreNotFound" // missing, not accessible, or not connected to the hosts
	NetworkNotFound        ZoneReason = "NetworkNotFound"   // missing, or not connected to the hosts
	TemplateNotFound       ZoneReason = "TemplateNotFound"
	RegionMisconfigured    ZoneReason = "RegionMisconfigured"
	ZoneMisconfigured      ZoneReason = "ZoneMisconfigured"
	HostsMisconfigured     ZoneReason = "HostsMisconfigured" // host group, VM group, or the rule between them, which must be effective
	NoUsableHost           ZoneReason = "NoUsableHost"       // all are disconnected or in maintenance mode
)

// ZoneCheck is a single check of a zone.
type ZoneCheck struct {
	Reason ZoneReason
	// Condition is the type of the condition that reports the result. Checks may share one.
	Condition string
	// Constraint is true for objects named by the zone's own placement constraint; the others belong to the failure domain.
	Constraint bool
	// Unreported is true if no event reports a change of the result.
	Unreported bool

	// run returns the problems found in the index.
	run func(*Inspection) []string
	// tag returns the tag whose attachment is checked instead, which requires a call to vCenter.
	tag func(ZoneSpec) ZoneTag
}

// ZoneChecks returns all checks of a zone, in the order in which problems are reported: from the whole to its parts. A new
// check needs a row here and the function that implements it.
func ZoneChecks() []ZoneCheck {
	return []ZoneCheck{
		{Reason: DatacenterNotFound, Condition: "DatacenterReady", run: looksUp("")},
		{Reason: ComputeClusterNotFound, Condition: "ComputeClusterReady", run: looksUp(KindCompute)},
		{Reason: ResourcePoolNotFound, Condition: "ResourcePoolReady", Constraint: true, run: looksUp(KindPool)},
		{Reason: FolderNotFound, Condition: "FolderReady", Constraint: true, run: looksUp(KindFolder)},
		{Reason: DatastoreNotFound, Condition: "DatastoreReady", run: looksUp(KindDatastore)},
		{Reason: NetworkNotFound, Condition: "NetworksReady", run: looksUp(KindNetwork)},
		{Reason: TemplateNotFound, Condition: "TemplateReady", Unreported: true, run: looksUp(KindVM)},
		{Reason: RegionMisconfigured, Condition: "RegionReady", Unreported: true, tag: func(spec ZoneSpec) ZoneTag { return spec.Region }},
		{Reason: ZoneMisconfigured, Condition: "ZoneReady", Unreported: true, tag: func(spec ZoneSpec) ZoneTag { return spec.Zone }},
		{Reason: HostsMisconfigured, Condition: "HostsReady", run: (*Inspection).groups},
		{Reason: NoUsableHost, Condition: "HostsReady", run: (*Inspection).usableHost},
	}
}

// ZoneProblem is a single problem of a zone, with its resolution.
type ZoneProblem struct {
	Reason  ZoneReason
	Message string
}

// ZoneReport holds the result of checking a zone.
type ZoneReport struct {
	// Problems are all problems of the zone.
	Problems []ZoneProblem
	// Explicit is why machines are placed on hosts of the host group explicitly, or "" if vSphere keeps them there.
	Explicit string
}

// Inspection holds the state of checking a zone.
type Inspection struct {
	*resolver
	Spec ZoneSpec
	// Found holds the problems.
	Found map[ZoneReason][]string
	// Carriers are the objects that must carry the tag of a check.
	Carriers map[ZoneReason][]Ref
	explicit string
	// grouped is true if the host group exists, or none is named.
	grouped bool
}

// Inspect runs the checks that need only the index, and records which objects must carry tags.
func Inspect(ix *Index, spec ZoneSpec) *Inspection {
	ix.RLock()
	defer ix.RUnlock()
	c := &Inspection{Spec: spec, Found: map[ZoneReason][]string{}, Carriers: map[ZoneReason][]Ref{}}
	var err error
	if c.resolver, err = resolverOf(ix, spec.Placement); err != nil {
		c.Found[DatacenterNotFound] = []string{err.Error()}
		return c
	}
	c.resolveAll()
	for _, check := range ZoneChecks() {
		if check.run != nil {
			c.Found[check.Reason] = check.run(c)
			continue
		}
		if objects, wrong := c.carriersOf(check.tag(spec)); wrong != "" {
			c.Found[check.Reason] = []string{wrong}
		} else if len(objects) > 0 {
			c.Carriers[check.Reason] = objects
		}
	}
	return c
}

// resolveAll looks up everything that the zone names. The pool can determine the compute cluster, and the host group which
// hosts count, so both go first.
func (c *Inspection) resolveAll() {
	spec := c.Spec
	if spec.ResourcePool != "" {
		c.pool(spec.Placement)
	}
	if (spec.VMGroup != "" || spec.HostGroup != "") && c.compute != nil && c.compute.Readable {
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

// looksUp returns a check that reports the lookup errors of a kind; "" selects those that belong to no other check.
func looksUp(of Kind) func(*Inspection) []string {
	return func(c *Inspection) []string {
		var wrong []string
		for _, err := range c.errs {
			if fieldOf(err) == of {
				wrong = append(wrong, err.Error())
			}
		}
		return wrong
	}
}

func fieldOf(err error) Kind {
	var lookup *vcerrors.LookupError
	if !errors.As(err, &lookup) {
		return ""
	}
	switch field := Kind(lookup.Field); field {
	case KindCompute, KindPool, KindFolder, KindDatastore, KindNetwork, KindVM:
		return field
	}
	return ""
}

// usableHost checks for at least one usable host. A zone that names neither a compute cluster nor a pool spans its datacenter.
func (c *Inspection) usableHost() []string {
	if c.compute == nil {
		if c.Spec.ComputeCluster != "" || c.Spec.ResourcePool != "" {
			return nil // already recorded
		}
		for _, compute := range c.all(KindCompute) {
			if c.inScope(KindCompute, compute) {
				c.hosts = append(c.hosts, c.ix.Entities[compute].Hosts...)
			}
		}
		c.hostsOf = "datacenter " + c.dc.Name
	}
	for _, host := range c.hosts {
		if e, ok := c.ix.Entities[host]; ok && e.Usable() {
			return nil
		}
	}
	if len(c.hosts) == 0 {
		return []string{c.hostsOf + " has no hosts"}
	}
	return []string{fmt.Sprintf("all %d hosts of %s are disconnected or in maintenance mode", len(c.hosts), c.hostsOf)}
}

// groups checks the groups and their rule.
func (c *Inspection) groups() []string {
	spec := c.Spec
	if spec.VMGroup == "" && spec.HostGroup == "" {
		return nil
	}
	if c.compute == nil {
		if spec.ComputeCluster == "" {
			return []string{"host groups require a computeCluster, but none is specified"}
		}
		return nil
	}
	cluster := c.compute.Name
	if !c.compute.Readable {
		return []string{fmt.Sprintf("this account cannot read groups and rules of compute cluster %s; give it at least the role Read-only there", cluster)}
	}
	var wrong []string
	if !c.grouped {
		wrong = append(wrong, fmt.Sprintf("compute cluster %s has no host group %q; create it", cluster, spec.HostGroup))
	}
	if _, ok := c.compute.Groups.VMs[spec.VMGroup]; !ok {
		wrong = append(wrong, fmt.Sprintf("compute cluster %s has no VM group %q; create it", cluster, spec.VMGroup))
	}
	return append(wrong, c.rule()...)
}

// rule checks for an effective rule, or for one that is not and whose machines may be placed on hosts explicitly.
func (c *Inspection) rule() []string {
	spec, cluster := c.Spec, c.compute
	rule, exists := cluster.Groups.RuleOf(spec.VMGroup, spec.HostGroup)
	switch {
	case !exists:
		return []string{fmt.Sprintf("compute cluster %s has no VM/host rule that runs VM group %q on host group %q; create it",
			cluster.Name, spec.VMGroup, spec.HostGroup)}
	case !rule.Enabled:
		return []string{fmt.Sprintf("the VM/host rule of compute cluster %s that runs VM group %q on host group %q is disabled; enable it",
			cluster.Name, spec.VMGroup, spec.HostGroup)}
	case !rule.Mandatory && !spec.ShouldRule:
		return []string{fmt.Sprintf("rule %q of compute cluster %s is not mandatory, so machines may run outside host group %q; "+
			"change it to \"must run on hosts in group\", or set topology.hosts.rule of the VSphereFailureDomain to Should",
			rule.Name, cluster.Name, spec.HostGroup)}
	}
	c.explicit = cluster.Unbound(spec.VMGroup, spec.HostGroup)
	return nil
}

// carriersOf returns the objects that must carry a tag. A missing object has been reported already.
func (c *Inspection) carriersOf(tag ZoneTag) (objects []Ref, wrong string) {
	switch {
	case tag.Name == "":
	case tag.Type == "Datacenter":
		return []Ref{c.dc.Ref}, ""
	case tag.Type != "ComputeCluster" && tag.Type != "HostGroup":
		return nil, fmt.Sprintf("type %q is not one of Datacenter, ComputeCluster, HostGroup", tag.Type)
	case c.compute == nil:
	case tag.Type == "ComputeCluster":
		return []Ref{c.compute.Ref}, ""
	default:
		return c.compute.Groups.Hosts[c.Spec.HostGroup], ""
	}
	return nil, ""
}

// Wanted returns the tag whose attachment is checked.
func (c ZoneCheck) Wanted(spec ZoneSpec) TagName {
	tag := c.tag(spec)
	return TagName{Category: tag.Category, Name: tag.Name}
}

// Report returns the result of the checks.
func (c *Inspection) Report() ZoneReport {
	report := ZoneReport{Explicit: c.explicit}
	for _, check := range ZoneChecks() {
		for _, message := range c.Found[check.Reason] {
			report.Problems = append(report.Problems, ZoneProblem{check.Reason, message})
		}
	}
	return report
}

// Untagged returns which objects lack the wanted tag, and which tags they carry instead.
func Untagged(ix *Index, want TagName, objects []Ref, others []TagName) string {
	ix.RLock()
	defer ix.RUnlock()
	var without, instead []string
	for _, object := range objects {
		without = append(without, ix.Path(object))
	}
	for _, other := range others {
		if other.Category == want.Category || other.Name == want.Name {
			instead = append(instead, other.String())
		}
	}
	message := fmt.Sprintf("tag %q of category %q is not attached to %s; attach it", want.Name, want.Category, strings.Join(without, ", "))
	if len(instead) > 0 {
		slices.Sort(instead)
		message += fmt.Sprintf(" (it carries %s)", strings.Join(slices.Compact(instead), ", "))
	}
	return message
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// ParentsOf returns Cluster.Parent for a cluster that publishes these failure domains; nil if logical domains are not separated by
// region.
func ParentsOf(wanted faultlinev1.Distribution, published []clusterv1.FailureDomain) map[string]string {
	if wanted.LogicalDomains() == 0 || wanted.Workers.TopologyKey != corev1.LabelTopologyRegion {
		return nil
	}
	parents := map[string]string{}
	for _, domain := range published {
		if region := domain.Attributes[faultlinev1.RegionAttribute]; region != "" {
			parents[domain.Name] = region
		}
	}
	return parents
}

// separator describes, for messages, the domain that separates logical domains: the failure domain or its region.
func (c Cluster) separator(domain string) string {
	if parent := c.Parent[domain]; parent != "" {
		return "region " + parent
	}
	return "failure domain " + domain
}

// physical returns the planner's name for the domain that separates logical domains.
func (c Cluster) physical(domain string) string {
	if c.Parent == nil {
		return domain
	}
	return c.separator(domain)
}

// bind chooses a failure domain for a machine of the key, given the machines with a domain and a key. If keys are separated by
// enclosing domains, it first chooses one of these, then the failure domain within it that has the fewest of the machines.
func (c Cluster) bind(domains []failuredomain.Domain, bound []*Machine, key string, outdated func(*Machine) bool) (string, error) {
	var current, old []failuredomain.Binding
	for _, m := range bound {
		binding := failuredomain.Binding{Machine: m.Name, Key: m.Key, Physical: c.physical(m.Domain)}
		if outdated(m) {
			old = append(old, binding)
		} else {
			current = append(current, binding)
		}
	}
	if c.Parent == nil {
		return failuredomain.BindInRollout(domains, current, old, key, c.Required)
	}
	physical, err := failuredomain.BindInRollout(c.enclosing(domains), current, old, key, c.Required)
	if err != nil {
		return "", err
	}
	inside := slices.DeleteFunc(slices.Clone(domains), func(d failuredomain.Domain) bool { return c.physical(d.Name) != physical })
	var there []failuredomain.Machine
	for _, m := range bound {
		if c.physical(m.Domain) == physical {
			there = append(there, failuredomain.Machine{Name: m.Name, Domain: m.Domain, Deleting: m.Deleting, Outdated: outdated(m)})
		}
	}
	return failuredomain.Pick(inside, there)
}

// enclosing returns the enclosing domains in the form of the planner. Each is Active if one of its failure domains is, and has the
// capacity of the Active ones.
func (c Cluster) enclosing(domains []failuredomain.Domain) []failuredomain.Domain {
	var enclosing []failuredomain.Domain
	for _, d := range domains {
		if c.Required && c.Parent[d.Name] == "" {
			continue
		}
		name := c.physical(d.Name)
		active := d.State == failuredomain.Active || d.State == ""
		at := slices.IndexFunc(enclosing, func(j failuredomain.Domain) bool { return j.Name == name })
		switch {
		case at < 0:
			enclosing = append(enclosing, failuredomain.Domain{Name: name, State: d.State, Capacity: d.Capacity})
		case !active:
		case enclosing[at].State != failuredomain.Active && enclosing[at].State != "":
			enclosing[at].State, enclosing[at].Capacity = d.State, d.Capacity
		case enclosing[at].Capacity != nil && d.Capacity != nil:
			capacity := *enclosing[at].Capacity + *d.Capacity
			enclosing[at].Capacity = &capacity
		default:
			enclosing[at].Capacity = nil
		}
	}
	return enclosing
}

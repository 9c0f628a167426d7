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

// Larger is Cluster.Larger of a cluster that publishes these failure domains.
func Larger(wanted faultlinev1.Distribution, published []clusterv1.FailureDomain) map[string]string {
	if wanted.LogicalDomains() == 0 || wanted.Workers.TopologyKey != corev1.LabelTopologyRegion {
		return nil
	}
	larger := map[string]string{}
	for _, domain := range published {
		if region := domain.Attributes[faultlinev1.RegionAttribute]; region != "" {
			larger[domain.Name] = region
		}
	}
	return larger
}

// apart words what logical domains are kept apart by, of which a failure domain is a part or the whole.
func (c Cluster) apart(domain string) string {
	if larger := c.Larger[domain]; larger != "" {
		return "region " + larger
	}
	return "failure domain " + domain
}

// physical is that by the name that the planner has for it.
func (c Cluster) physical(domain string) string {
	if c.Larger == nil {
		return domain
	}
	return c.apart(domain)
}

// bind chooses a failure domain for a machine of the key by the machines that have a domain and a key. Where keys are kept apart by something
// larger, that is chosen so, and in it the failure domain with the fewest of the machines.
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
	if c.Larger == nil {
		return failuredomain.BindInRollout(domains, current, old, key, c.Required)
	}
	physical, err := failuredomain.BindInRollout(c.joined(domains), current, old, key, c.Required)
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

// joined are what the failure domains are in, as domains of the planner: Active, and with the room of, those of them that are.
func (c Cluster) joined(domains []failuredomain.Domain) []failuredomain.Domain {
	var joined []failuredomain.Domain
	for _, d := range domains {
		if c.Required && c.Larger[d.Name] == "" {
			continue
		}
		name := c.physical(d.Name)
		active := d.State == failuredomain.Active || d.State == ""
		at := slices.IndexFunc(joined, func(j failuredomain.Domain) bool { return j.Name == name })
		switch {
		case at < 0:
			joined = append(joined, failuredomain.Domain{Name: name, State: d.State, Capacity: d.Capacity})
		case !active:
		case joined[at].State != failuredomain.Active && joined[at].State != "":
			joined[at].State, joined[at].Capacity = d.State, d.Capacity
		case joined[at].Capacity != nil && d.Capacity != nil:
			room := *joined[at].Capacity + *d.Capacity
			joined[at].Capacity = &room
		default:
			joined[at].Capacity = nil
		}
	}
	return joined
}

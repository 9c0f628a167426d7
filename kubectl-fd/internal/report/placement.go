// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/spread"
)

// placement finds domains for machines of a role that replace lost ones. Each machine that is placed counts for the next.
type placement struct {
	cluster Cluster
	domains []failuredomain.Domain
	taken   capacityUse

	controlPlane []failuredomain.Machine
	workers      []spread.Machine
}

func newPlacement(c Cluster, lost func(string) bool, controlPlane bool, taken capacityUse) *placement {
	p := &placement{cluster: c, taken: taken}
	p.domains = slices.DeleteFunc(c.Planner(controlPlane), func(d failuredomain.Domain) bool { return lost(d.Name) })
	p.controlPlane = slices.DeleteFunc(c.Machines(OfControlPlane), func(m failuredomain.Machine) bool { return lost(m.Domain) })
	for _, domain := range c.Domains {
		for _, m := range domain.Machines {
			if !m.ControlPlane && m.Named == "" && !lost(domain.Name) {
				p.workers = append(p.workers, spread.Machine{
					Name: m.Name, Deployment: m.Deployment, Class: m.Class, Domain: domain.Name, Key: m.Key,
					Exists: true, Deleting: m.Deleting, Created: m.Created.Time,
				})
			}
		}
	}
	return p
}

// find chooses a domain as for a new machine, and uses its capacity.
func (p *placement) find(instead Machine) (to, why string) {
	var err error
	name := "instead of " + instead.Name
	if instead.ControlPlane {
		to, err = failuredomain.Pick(p.suited(instead.Suits), p.controlPlane)
		p.controlPlane = append(p.controlPlane, failuredomain.Machine{Name: name, Domain: to})
	} else {
		to, err = p.assign(spread.Machine{Name: name, Deployment: instead.Deployment, Class: instead.Class, Suits: instead.Suits})
	}
	none, full := errors.Is(err, failuredomain.ErrNoDomain), errors.Is(err, failuredomain.ErrNoCapacity)
	what := "failure domain"
	if p.cluster.Parents != nil {
		what = "region"
	}
	switch {
	case none && full:
		return "", "waits: each remaining " + what + " has another logical failure domain, and spec.distribution.workers.required forbids sharing"
	case none:
		return "", "waits: no Active failure domain remains for it"
	case full && instead.Suits != "":
		return "", "waits: no capacity that suits " + instead.Suits + " remains in the Active failure domains"
	case full:
		return "", "waits: no capacity remains in the Active failure domains"
	case err != nil:
		return "", "waits: " + err.Error()
	}
	p.taken.take(p.cluster, to, instead.Suits)
	return to, ""
}

// assign makes the controller's own decision about a new worker. Logical failure domains that are separated by host may share a
// failure domain.
func (p *placement) assign(worker spread.Machine) (string, error) {
	wanted := p.cluster.Wanted.Workers
	given, refused, err := spread.Assign(spread.Cluster{
		Domains: p.left(), Parent: p.cluster.Parents, Capacity: p.remaining(worker.Suits), Machines: append(slices.Clone(p.workers), worker), Logical: p.cluster.Wanted.LogicalDomains(),
		Required: wanted.Required != nil && *wanted.Required && wanted.TopologyKey != corev1.LabelHostname,
	})
	if err != nil {
		return "", err
	}
	for _, a := range given {
		if a.Machine == worker.Name {
			worker.Domain, worker.Key, worker.Exists = a.Domain, a.Key, true
		}
	}
	for _, r := range refused {
		if r.Machine == worker.Name {
			worker.Key, err = r.Key, r.Err
		}
	}
	p.workers = append(p.workers, worker)
	return worker.Domain, err
}

// left returns the failure domains with their remaining capacity.
func (p *placement) left() []failuredomain.Domain {
	left := slices.Clone(p.domains)
	for i, domain := range left {
		if domain.Capacity != nil {
			capacity := max(0, *domain.Capacity-p.taken[capacityKey(p.cluster, domain.Name, "")])
			left[i].Capacity = &capacity
		}
	}
	return left
}

// remaining returns the remaining capacity for machines with these requirements, by requirements; nil if such machines suit every
// host.
func (p *placement) remaining(suits string) map[string]map[string]int {
	suited, asked := p.cluster.SuitableCapacity[suits]
	if !asked {
		return nil
	}
	left := map[string]int{}
	for domain, n := range suited {
		left[domain] = max(0, n-p.taken[capacityKey(p.cluster, domain, suits)])
	}
	return map[string]map[string]int{suits: left}
}

// suited returns the failure domains with the remaining capacity that suits such machines.
func (p *placement) suited(suits string) []failuredomain.Domain {
	domains, room := p.left(), p.remaining(suits)
	if room == nil {
		return domains
	}
	for i := range domains {
		if n := room[suits][domains[i].Name]; domains[i].Capacity == nil || *domains[i].Capacity > n {
			domains[i].Capacity = &n
		}
	}
	return domains
}

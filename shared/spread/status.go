// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/text"
)

// counted returns the placement of a MachineDeployment's machines, and the planned moves.
func (s *scope) counted(md *clusterv1.MachineDeployment, g *group) faultlinev1.WorkersDistributionStatus {
	workers := faultlinev1.WorkersDistributionStatus{Name: md.Name, Waiting: ptr.To[int32](0)}
	places, logical, names := map[string]int32{}, map[string]int32{}, map[string]bool{}
	for _, domain := range s.state.Domains {
		places[domain.Name] = 0
	}
	if s.state.Logical > 0 {
		workers.Class = g.name
	}
	for _, key := range keys(g.name, s.state.Logical) {
		logical[key.Name] = 0
	}
	for _, m := range s.of(md.Name) {
		names[m.Name] = true
		switch {
		case m.Deleting:
		case m.waits():
			*workers.Waiting++
		default:
			places[m.Domain]++
			logical[m.Key]++
		}
	}
	workers.FailureDomains = counts(places, faultlinev1.MaxFailureDomains)
	if s.state.Logical > 0 {
		workers.LogicalFailureDomains = counts(logical, maxReported)
	}
	for _, move := range g.moves {
		if names[move.Machine] && len(workers.Plan) < faultlinev1.MaxFailureDomains {
			workers.Plan = append(workers.Plan, planned(move))
		}
	}
	return workers
}

// skews maps each MachineDeployment to the difference between the highest and the lowest number of machines in the domains that
// receive some; for its group, if several are spread together. MachineDeployments that another program scales are omitted.
func (s *scope) skews(groups []*group) map[string]int {
	skews := map[string]int{}
	for _, g := range groups {
		sizes := slices.Sorted(maps.Values(s.remaining(g)))
		for _, md := range g.deployments {
			if scaler(md) == "" && len(sizes) > 0 {
				skews[md.Name] = sizes[len(sizes)-1] - sizes[0]
			}
		}
	}
	return skews
}

// remaining counts the machines of a group in each domain that receives some, without those that a rollout replaces.
func (s *scope) remaining(g *group) map[string]int {
	newest, places := s.state.newest(), map[string]int{}
	for _, place := range s.receiving(g) {
		places[place] = 0
	}
	for i := range s.state.Machines {
		m := &s.state.Machines[i]
		at := m.Domain
		if s.state.Logical > 0 {
			at = m.Key
		}
		if _, receives := places[at]; receives && s.state.group(m) == g.name && !m.Deleting && m.Set == newest[m.Deployment] {
			places[at]++
		}
	}
	return places
}

// receiving lists the domains that receive machines of a group.
func (s *scope) receiving(g *group) []string {
	domains := s.state.Domains
	if s.state.Logical > 0 {
		domains = keys(g.name, s.state.Logical)
	}
	var names []string
	for _, domain := range domains {
		if domain.State == failuredomain.Active || domain.State == "" {
			names = append(names, domain.Name)
		}
	}
	return names
}

// counts lists the number of machines by domain, without those in no domain.
func counts(machines map[string]int32, most int) []faultlinev1.DomainMachines {
	var all []faultlinev1.DomainMachines
	delete(machines, "")
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		all = append(all, faultlinev1.DomainMachines{Name: name, Machines: machines[name]})
	}
	return all[:min(len(all), most)]
}

// maxMessage is the maximum length of the condition's message. The API server would reject the whole status because of a longer
// one.
const maxMessage = 10240

// condition returns WorkersBalanced: the most urgent problem determines its reason, and its message contains all.
func (s *scope) condition(groups []*group, refused []Refusal) metav1.Condition {
	wanted, known := s.cluster.Distribution()
	condition := metav1.Condition{Type: faultlinev1.WorkersBalancedCondition, Status: metav1.ConditionFalse}
	waiting, uneven, fine := s.waiting(refused), []string(nil), []string(nil)
	for _, g := range groups {
		uneven = append(uneven, s.uneven(g, wanted.Workers.Rebalance)...)
		fine = slices.Concat(fine, s.tooMany(g), g.scaledByOthers)
	}
	uneven = slices.Concat(uneven, s.unknown(), s.shared(), s.staying())
	fine = append(fine, s.unseen()...)
	var moving []string
	for _, workers := range known.Workers {
		if move := workers.CurrentMove; move != nil {
			moving = append(moving, strings.TrimSuffix(fmt.Sprintf("MachineDeployment %s: Machine %s is moved from %s to %s: %s: %s",
				workers.Name, move.Machine, domainOrNone(move.From), move.To, move.Phase, move.Message), ": "))
		}
	}
	switch {
	case len(s.state.Domains) == 0:
		condition.Reason = faultlinev1.ReasonNoFailureDomains
		waiting = append([]string{"the cluster has no failure domains, so workers cannot be assigned any: add failure domains, " +
			"or set spec.distribution.workers.enabled to false"}, waiting...)
	case len(waiting) > 0:
		condition.Reason = faultlinev1.ReasonWorkersWaiting
	case len(moving) > 0:
		condition.Reason = faultlinev1.ReasonMoving
	case len(uneven) > 0:
		condition.Reason = faultlinev1.ReasonNotBalanced
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, faultlinev1.ReasonBalanced
	}
	said := slices.Concat(abbreviated(waiting), abbreviated(moving), abbreviated(uneven), abbreviated(fine))
	condition.Message = text.Truncate(strings.Join(said, "\n"), maxMessage)
	return condition
}

// abbreviated shortens a list that is too long for a message.
func abbreviated(lines []string) []string {
	if len(lines) <= mentioned {
		return lines
	}
	return append(slices.Clone(lines[:mentioned]), fmt.Sprintf("and %d more", len(lines)-mentioned))
}

// waiting reports, for each MachineDeployment with machines that have no domain, why and how to fix it.
func (s *scope) waiting(refused []Refusal) []string {
	var lines []string
	byDeployment := map[string][]Refusal{}
	for _, r := range refused {
		byDeployment[r.Deployment] = append(byDeployment[r.Deployment], r)
	}
	for _, deployment := range slices.Sorted(maps.Keys(byDeployment)) {
		all := byDeployment[deployment]
		lines = append(lines, fmt.Sprintf("MachineDeployment %s: %d machines wait for a failure domain: %s", deployment, len(all), s.fix(all[0])))
	}
	return lines
}

func (s *scope) fix(r Refusal) string {
	none, full := errors.Is(r.Err, failuredomain.ErrNoDomain), errors.Is(r.Err, failuredomain.ErrNoCapacity)
	what := "failure domain"
	if s.state.Parent != nil {
		what = "region"
	}
	switch {
	case none && full:
		return fmt.Sprintf("each "+what+" has another logical failure domain than %s, and spec.distribution.workers.required forbids sharing: "+
			"add a failure domain"+s.elsewhere()+", lower desiredFailureDomains, or set required to false", r.Key)
	case none:
		return "none receives machines: see status.distribution.failureDomains, and set one to Active in spec.distribution, repair one, or add one"
	case full && r.Key != "":
		return fmt.Sprintf("those that logical failure domain %s may use are full: free capacity in them, or add one", r.Key)
	default:
		return "all that receive machines are full: free capacity in them, or add one"
	}
}

// uneven reports the moves that would spread the machines of a group, and what blocks the first one now.
func (s *scope) uneven(g *group, rebalance faultlinev1.WorkersRebalance) []string {
	if len(g.moves) == 0 && len(g.short) == 0 {
		return nil
	}
	var moves []string
	for _, move := range g.moves[:min(len(g.moves), mentioned)] {
		moves = append(moves, fmt.Sprintf("Machine %s from %s to %s", move.Machine, domainOrNone(move.From), move.To))
	}
	line := g.name + ": "
	if len(g.moves) > 0 {
		line += "to be moved: " + strings.Join(moves, ", ")
	}
	why := slices.Concat(g.short, g.against)
	slices.Sort(why)
	why = slices.Compact(why) // the planner and the MachineDeployment may give the same reason
	if len(g.moves) > 0 && rebalance != faultlinev1.WorkersRebalanceDeleteOne {
		why = append(g.short, "spec.distribution.workers.rebalance is Off: set it to DeleteOne, or delete these Machines one after the other")
	}
	if len(why) > 0 {
		line += " (" + strings.Join(abbreviated(why), "; ") + ")"
	}
	return []string{strings.Replace(line, ":  (", ": (", 1)}
}

// tooMany reports that there are fewer machines than logical domains, which is not a problem of their spread.
func (s *scope) tooMany(g *group) []string {
	machines := 0
	for i := range s.state.Machines {
		if m := &s.state.Machines[i]; m.Deployment != "" && s.state.group(m) == g.name && !m.Deleting {
			machines++
		}
	}
	if machines == 0 || machines >= s.state.Logical {
		return nil
	}
	return []string{fmt.Sprintf("class %s has %d machines and spec.distribution.workers.desiredFailureDomains is %d: %d logical failure domains are empty: "+
		"scale up, or lower it",
		g.name, machines, s.state.Logical, s.state.Logical-machines)}
}

// staying lists the MachineDeployments that keep a failure domain from being emptied, because their templates name it.
func (s *scope) staying() []string {
	var lines []string
	for _, md := range s.named {
		domain := md.Spec.Template.Spec.FailureDomain
		evicting := slices.ContainsFunc(s.state.Domains, func(d failuredomain.Domain) bool {
			return d.Name == domain && d.State == failuredomain.Evicting
		})
		if evicting && ptr.Deref(md.Spec.Replicas, 1) > 0 {
			lines = append(lines, fmt.Sprintf("MachineDeployment %s names failure domain %s, which is Evicting: its machines stay there until its "+
				"spec.template.spec.failureDomain names another one", md.Name, domain))
		}
	}
	return lines
}

// unseen reports what is not checked if logical failure domains may share a failure domain.
func (s *scope) unseen() []string {
	wanted, _ := s.cluster.Distribution()
	if !s.within || s.state.Logical == 0 {
		return nil
	}
	return []string{fmt.Sprintf("logical failure domains may share one failure domain, because spec.distribution.workers.topologyKey is %s: this separation "+
		"is up to the infrastructure, and not reported here", wanted.Workers.TopologyKey)}
}

// unknown lists the failure domains whose enclosing domain is unknown, although it should separate logical ones.
func (s *scope) unknown() []string {
	var names []string
	for _, domain := range s.state.Domains {
		if s.state.Parent != nil && s.state.Parent[domain.Name] == "" {
			names = append(names, domain.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	consequence := "each counts as its own region"
	if s.state.Required {
		consequence = "they receive no workers with a logical failure domain"
	}
	return []string{fmt.Sprintf("spec.distribution.workers.topologyKey is %s, and failure domain %s has no region in status.failureDomains: %s: set the region "+
		"in the failure domain's declaration, or remove topologyKey", corev1.LabelTopologyRegion, strings.Join(abbreviated(names), ", "), consequence)}
}

// elsewhere states where another failure domain would have to be.
func (s *scope) elsewhere() string {
	if s.state.Parent == nil {
		return ""
	}
	return " in another region"
}

// shared lists the failure domains, or larger domains, that hold more than one logical domain of a class.
func (s *scope) shared() []string {
	held := map[[2]string]map[string]bool{}
	for i := range s.state.Machines {
		m := &s.state.Machines[i]
		if m.Deployment == "" || m.Key == "" || m.Domain == "" || m.Deleting || s.state.Logical == 0 || s.within {
			continue
		}
		at := [2]string{m.Class, s.state.separator(m.Domain)}
		if held[at] == nil {
			held[at] = map[string]bool{}
		}
		held[at][m.Key] = true
	}
	var lines []string
	for at, keys := range held {
		if len(keys) > 1 {
			lines = append(lines, fmt.Sprintf("class %s: %s has the logical failure domains %s: add a failure domain"+s.elsewhere()+", or lower desiredFailureDomains",
				at[0], at[1], strings.Join(slices.Sorted(maps.Keys(keys)), ", ")))
		}
	}
	slices.Sort(lines)
	return lines
}

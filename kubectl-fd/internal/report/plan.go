// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Source is the source of a plan.
type Source string

const (
	// Status is the source of a plan that a controller has written to status.distribution.
	Status Source = "status"
	// Calculated is the source of a plan that was computed here from the failure domains and machines in the status.
	Calculated Source = "calculated"
)

// Plan is the plan for the machines of one control plane or MachineDeployment.
type Plan struct {
	// Of is "control plane", or "MachineDeployment" and its name.
	Of     string `json:"of"`
	Source Source `json:"source,omitempty"`
	// Mode is the value of rebalance in spec.distribution.
	Mode  string                    `json:"rebalance,omitempty"`
	Moves []faultlinev1.PlannedMove `json:"moves,omitempty"`
	// Current is the move in progress.
	Current *faultlinev1.MachineMove `json:"currentMove,omitempty"`
	// Condition is the controller's condition, with the reason.
	Condition *metav1.Condition `json:"condition,omitempty"`
	// Why lists why no machine, or not more machines, are moved.
	Why []string `json:"why,omitempty"`
}

// Deployment holds the relevant state of a MachineDeployment.
type Deployment struct {
	Name     string
	Replicas int
	// Named is the failure domain in its template.
	Named string
}

// Plans returns the plans for a cluster: the control plane first, then each MachineDeployment.
func Plans(c Cluster, deployments []Deployment) []Plan {
	plans := []Plan{controlPlane(c)}
	for _, deployment := range deployments {
		plans = append(plans, workers(c, deployment))
	}
	wrong := distribution.InvalidIntents(c.Wanted.FailureDomains, func(name string) bool { return c.Domain(name) != nil })
	if told := plans[0].Condition; wrong != "" && (told == nil || !strings.Contains(told.Message, wrong)) {
		plans[0].Why = append(plans[0].Why, wrong)
	}
	return plans
}

func controlPlane(c Cluster) Plan {
	mode := c.Wanted.Rebalance()
	p := Plan{Of: "control plane", Mode: string(mode)}
	if p.Condition = c.Condition(faultlinev1.ControlPlaneBalancedCondition); p.Condition != nil {
		p.Source, p.Moves, p.Current = Status, c.ControlPlane.Plan, c.ControlPlane.CurrentMove
	} else {
		machines := c.Machines(OfControlPlane)
		replicas := len(machines)
		if c.Replicas != nil {
			replicas = int(*c.Replicas)
		}
		p.calculate(c.Planner(true), machines, replicas)
	}
	if why := controlPlaneStays(c); p.Source == Calculated && len(p.Moves) > 0 && why != "" {
		p.Why = append(p.Why, why)
	}
	return p
}

func workers(c Cluster, d Deployment) Plan {
	p := Plan{Of: "MachineDeployment " + d.Name, Mode: string(c.Wanted.Workers.Rebalance)}
	if p.Mode == "" {
		p.Mode = string(faultlinev1.WorkersRebalanceOff)
	}
	switch {
	case d.Named != "":
		p.Mode = ""
		p.Why = []string{named(c, d.Named)}
		return p
	case !c.Wanted.SpreadsWorkers():
		p.Mode = ""
		p.Why = []string{notSpread}
		return p
	}
	known := workersStatus(c, d.Name)
	switch {
	case known != nil:
		p.Source, p.Moves, p.Current = Status, known.Plan, known.CurrentMove
		p.Condition = c.Condition(faultlinev1.WorkersBalancedCondition)
	case c.Wanted.LogicalDomains() > 0:
		p.Why = append(p.Why, "its machines are spread over logical failure domains, which have not been assigned yet")
	default:
		p.calculate(c.Planner(false), c.Machines(OfDeployment(d.Name)), d.Replicas)
	}
	if why := workersStay(c); p.Source == Calculated && len(p.Moves) > 0 && why != "" {
		p.Why = append(p.Why, why)
	}
	return p
}

// named returns why the machines of a MachineDeployment whose template names a failure domain are not moved.
func named(c Cluster, domain string) string {
	if c.Domain(domain) == nil {
		return fmt.Sprintf("its template names failure domain %s, which the cluster does not list: its machines stay where they are, and new "+
			"ones wait, until %s names one that is listed", domain, templateField(c))
	}
	if c.Wanted.Intent(domain) == faultlinev1.DomainEvicting {
		return fmt.Sprintf("its template names failure domain %s, which is Evicting: its machines stay there until %s names another one",
			domain, templateField(c))
	}
	return fmt.Sprintf("its template names failure domain %s, so all of its machines belong there", domain)
}

func workersStatus(c Cluster, name string) *faultlinev1.WorkersDistributionStatus {
	for i := range c.Workers {
		if c.Workers[i].Name == name {
			return &c.Workers[i]
		}
	}
	return nil
}

// calculate sets the plan that the planner computes.
func (p *Plan) calculate(domains []failuredomain.Domain, machines []failuredomain.Machine, replicas int) {
	p.Source = Calculated
	balanced, err := failuredomain.Balance(domains, machines, replicas)
	if err != nil {
		p.Why = append(p.Why, err.Error())
		return
	}
	for _, move := range balanced.Moves {
		p.Moves = append(p.Moves, faultlinev1.PlannedMove{Machine: move.Machine, From: move.From, To: move.To})
	}
	for _, blocked := range balanced.Blocked {
		p.Why = append(p.Why, blocked.Reason+": "+blocked.Message)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Tree prints clusters, their failure domains and, if wide, their machines.
func Tree(w io.Writer, clusters []report.Cluster, wide bool, style Style) error {
	t := &table{style: style}
	if !style.NoHeaders {
		t.add(head("CLUSTER", "STATE", "CONTROL PLANE", "WORKERS", "MACHINES", "CAPACITY", "SINCE", "ABOUT")...)
	}
	for _, cluster := range clusters {
		treeOf(t, cluster, wide)
	}
	return t.write(w)
}

func head(titles ...string) []cell {
	cells := make([]cell, 0, len(titles))
	for _, title := range titles {
		cells = append(cells, plain(title))
	}
	return cells
}

func treeOf(t *table, c report.Cluster, wide bool) {
	controlPlane, workers := c.Count()
	wanted := strconv.Itoa(controlPlane)
	if c.Replicas != nil && int(*c.Replicas) != controlPlane {
		wanted = fmt.Sprintf("%d (%d wanted)", controlPlane, *c.Replicas)
	}
	skew := ""
	if c.Skew != nil {
		skew = fmt.Sprintf("skew %d", *c.Skew)
	}
	t.add(cell{{c.Namespace + "/" + c.Name, bold}}, nil, plain(wanted), plain(strconv.Itoa(workers)), plain(skew), nil, nil,
		plain(c.Infrastructure.Kind))
	notes := notesOf(c, wide, t.style)
	for i, domain := range c.Domains {
		branch, trunk := "├─", "│ "
		if i == len(c.Domains)-1 && len(notes) == 0 {
			branch, trunk = "└─", "  "
		}
		t.add(domainRow(branch, domain, t.style)...)
		if wide {
			machineRows(t, trunk, domain)
		}
	}
	for i, note := range notes {
		branch := "├─"
		if i == len(notes)-1 {
			branch = "└─"
		}
		t.add(append(cell{{branch + "* ", faint}}, note...))
	}
}

func domainRow(branch string, d report.Domain, style Style) row {
	controlPlane, workers := d.Count()
	state, in := string(d.State), stateColour(d.State)
	switch {
	case !d.Listed:
		state = "Not listed"
	case state == "":
		state = "Unknown"
	case d.Wanted != "" && d.Wanted != d.State:
		state += "→" + string(d.Wanted)
	}
	room := ""
	if d.Capacity != nil {
		room = strconv.Itoa(int(*d.Capacity))
	}
	return row{
		{{branch, faint}, {text: cmp.Or(d.Name, "(none)")}}, {{state, in}}, plain(strconv.Itoa(controlPlane)), plain(strconv.Itoa(workers)),
		bar(d.Machines), plain(room), plain(style.ago(d.Since)), plain(strings.TrimPrefix(explained(d.Reason, d.Message)+requested(d, style), "; ")),
	}
}

// requested returns who has requested that a failure domain is not Active, when and why.
func requested(d report.Domain, style Style) string {
	if d.Request == nil || d.Wanted == "" {
		return ""
	}
	ago := age(" ", style.ago(d.Request.Time))
	if ago != "" {
		ago += " ago"
	}
	return fmt.Sprintf("; %s requested by %s%s: %s", d.Wanted, cmp.Or(d.Request.By, "an unknown user"), ago, d.Request.Reason)
}

func explained(reason, message string) string {
	if message = oneLine(message); reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// longest is the maximum number of machines that a bar shows individually.
const longest = 12

// bar returns a mark for each machine: a diamond for the control plane, a square for workers, hollow if the machine does not
// work.
func bar(machines []report.Machine) cell {
	var marks cell
	for i, machine := range machines {
		if i == longest {
			return append(marks, span{text: fmt.Sprintf("+%d", len(machines)-longest)})
		}
		marks = append(marks, mark(machine))
	}
	return marks
}

func mark(m report.Machine) span {
	switch {
	case m.ControlPlane && m.Works():
		return span{"◆", green}
	case m.ControlPlane:
		return span{"◇", red}
	case m.Works():
		return span{"■", green}
	}
	return span{"□", red}
}

func machineRows(t *table, trunk string, d report.Domain) {
	for i, machine := range d.Machines {
		branch := "├─"
		if i == len(d.Machines)-1 {
			branch = "└─"
		}
		in := green
		if !machine.Works() {
			in = red
		}
		t.add(cell{{trunk + branch, faint}, {text: machine.Name}}, cell{{string(machine.State), in}}, nil, nil, cell{mark(machine)}, nil,
			plain(t.style.ago(machine.Created)), plain(explained(machine.Reason, machine.Message)))
	}
}

// notesOf returns the notes on the cluster as a whole, the most severe first.
func notesOf(c report.Cluster, wide bool, style Style) []cell {
	var notes []cell
	if c.Problem != "" {
		notes = append(notes, cell{{c.Problem, red}})
	}
	for _, conditionType := range []string{
		faultlinev1.FailureDomainsReadyCondition, faultlinev1.MachinesInPlaceCondition, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.WorkersBalancedCondition,
		faultlinev1.QuorumProtectedCondition,
	} {
		if condition := c.Condition(conditionType); condition != nil && hasProblem(*condition) {
			notes = append(notes, cell{{conditionType, yellow}, {text: " is " + string(condition.Status) + ", " + explained(condition.Reason, condition.Message)}})
		}
	}
	for _, move := range c.Moves() {
		notes = append(notes, cell{{"moving ", yellow}, {text: moved(move) + age(", since ", style.ago(move.Started))}})
	}
	if planned := plannedMoves(c); planned > 0 {
		notes = append(notes, plain(fmt.Sprintf("%s planned: kubectl fd plan %s -n %s", count(planned, "move is", "moves are"), c.Name, c.Namespace)))
	}
	if !wide {
		notes = append(notes, waiting(c)...)
	}
	return notes
}

// hasProblem reports whether a condition contains information that users should see.
func hasProblem(condition metav1.Condition) bool {
	return condition.Status != metav1.ConditionTrue || strings.Contains(condition.Message, faultlinev1.ReasonRemediationLeftOver)
}

// waiting returns notes on the machines that do not work. With wide, they have a row each instead.
func waiting(c report.Cluster) []cell {
	var notes []cell
	for _, domain := range c.Domains {
		for _, machine := range domain.Machines {
			if machine.Works() {
				continue
			}
			text := fmt.Sprintf(" %s in %s", machine.Name, cmp.Or(domain.Name, "no failure domain"))
			if machine.State == report.Waiting {
				text = fmt.Sprintf(" %s for %s", machine.Name, cmp.Or(domain.Name, "a failure domain"))
			}
			if why := explained(machine.Reason, machine.Message); why != "" {
				text += ": " + why
			}
			notes = append(notes, cell{{strings.ToLower(string(machine.State)), red}, {text: text}})
		}
	}
	const most = 10
	if len(notes) > most {
		return append(notes[:most], plain(fmt.Sprintf("and %d more that do not run: see -o wide", len(notes)-most)))
	}
	return notes
}

func plannedMoves(c report.Cluster) int {
	planned := len(c.ControlPlane.Plan)
	for _, workers := range c.Workers {
		planned += len(workers.Plan)
	}
	return planned
}

// moved describes a move and its phase.
func moved(m faultlinev1.MachineMove) string {
	text := fmt.Sprintf("%s from %s to %s: %s", m.Machine, cmp.Or(m.From, "no failure domain"), m.To, m.Phase)
	if m.Reason != "" {
		text += " (" + m.Reason + ")"
	}
	if m.Replacement != "" {
		text += ", replaced by " + m.Replacement
	}
	if m.Message != "" {
		text += ", " + oneLine(m.Message)
	}
	return text
}

func age(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// count formats a number with the singular or plural.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}

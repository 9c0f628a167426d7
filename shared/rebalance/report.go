// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/text"
)

// removeStatus removes the condition and status of a cluster that is not reported on.
func removeStatus(infra provider.Cluster) {
	_, known := infra.Distribution()
	known.ControlPlane = faultlinev1.ControlPlaneDistributionStatus{}
	conditions.Delete(infra, faultlinev1.ControlPlaneBalancedCondition)
}

// report sets the condition and status.
func (o *observed) report(d Decision) {
	_, known := o.infra.Distribution()
	known.ControlPlane.Plan, known.ControlPlane.CurrentMove = nil, nil
	for _, move := range d.Plan {
		known.ControlPlane.Plan = append(known.ControlPlane.Plan, faultlinev1.PlannedMove{Machine: move.Machine, From: move.From, To: move.To})
	}
	if o.Move != nil {
		known.ControlPlane.CurrentMove = moveStatus(o, o.Move)
	}
	condition := o.condition(d)
	condition.Type = faultlinev1.ControlPlaneBalancedCondition
	condition.Message = text.Truncate(strings.Trim(condition.Message, "\n"), maxMessage)
	conditions.Set(o.infra, condition)
}

// condition returns the condition. Its message always includes LeftOver, whatever else it reports.
func (o *observed) condition(d Decision) metav1.Condition {
	condition := o.balance(d)
	if d.LeftOver != "" {
		condition.Message += "\n" + faultlinev1.ReasonRemediationLeftOver + ": " + d.LeftOver
	}
	return condition
}

// balance returns whether the machines are spread as they should be, and if not, why.
func (o *observed) balance(d Decision) metav1.Condition {
	isFalse := func(reason, message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	switch {
	case o.Move != nil && o.Move.Aborting != "":
		return isFalse(faultlinev1.ReasonAbortingMove, fmt.Sprintf("The move of Machine %s is being aborted: %s: %s", o.Move.Machine, o.Move.Aborting, o.Move.Why))
	case o.Move != nil:
		move := moveStatus(o, o.Move)
		return isFalse(faultlinev1.ReasonMoving, fmt.Sprintf("Machine %s is moved from %s to %s: %s: %s", move.Machine, domainOrNone(move.From), move.To, move.Phase, move.Message))
	case len(o.Machines) == 0:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: faultlinev1.ReasonNoControlPlaneMachines,
			Message: "Cluster " + o.owner.Name + " has no control-plane Machines: if its control plane runs elsewhere, set spec.distribution.controlPlane.rebalance to Off"}
	case d.Balanced:
		condition := metav1.Condition{Status: metav1.ConditionTrue, Reason: faultlinev1.ReasonBalanced}
		if why := checkVersion(&view{Snapshot: &o.Snapshot}); why != "" { // reported before a move is needed
			condition.Message = "No machine could be moved: " + why
		}
		return condition
	case o.Mode == faultlinev1.ControlPlaneRebalanceAdvise && len(d.Plan) > 0:
		return isFalse(faultlinev1.ReasonNotBalanced, planMessage(d.Plan, d.Against)+
			"\nset spec.distribution.controlPlane.rebalance to SurgeOne, or replace the machines yourself")
	case len(d.Against) > 0:
		return isFalse(d.Against[0].Reason, planMessage(d.Plan, d.Against))
	}
	return isFalse(faultlinev1.ReasonNotBalanced, planMessage(d.Plan, nil))
}

// planMessage returns the plan and the reasons against it, one per line.
func planMessage(plan []failuredomain.Move, against []Reason) string {
	var lines []string
	if len(plan) > 0 {
		var moves []string
		for _, move := range plan {
			moves = append(moves, fmt.Sprintf("Machine %s from %s to %s", move.Machine, domainOrNone(move.From), move.To))
		}
		lines = append(lines, "To be moved: "+strings.Join(moves, ", "))
	}
	for _, reason := range against {
		lines = append(lines, reason.Reason+": "+reason.Message)
	}
	return strings.Join(lines, "\n")
}

// maxMessage is the maximum length of a message in bytes.
const maxMessage = 4096

// moveStatus returns the status of a move.
func moveStatus(o *observed, move *Move) *faultlinev1.MachineMove {
	status := &faultlinev1.MachineMove{
		PlannedMove: faultlinev1.PlannedMove{Machine: move.Machine, From: move.From, To: move.To}, Started: move.Started, Reason: move.Aborting,
	}
	replacement := o.replacement(move)
	if replacement != nil {
		status.Replacement = replacement.Name
	}
	status.Phase, status.Message = o.phase(move, o.machineOfMove(), replacement)
	status.Message = text.Truncate(status.Message, maxMessage)
	return status
}

// replacement returns the newest machine created since the move began; nil if none exists.
func (s *Snapshot) replacement(move *Move) *Machine {
	var newest *Machine
	for i := range s.Machines {
		if m := &s.Machines[i]; m.UID != move.UID && !slices.Contains(move.Others, m.Name) && (newest == nil || m.Created.After(newest.Created)) {
			newest = m
		}
	}
	return newest
}

// phase returns the phase of a move, and a message with what it waits for.
func (s *Snapshot) phase(move *Move, m, replacement *Machine) (faultlinev1.MovePhase, string) {
	switch {
	case m == nil:
		return faultlinev1.MoveCompleted, ""
	case m.Deleting && m.Unhealthy:
		return m.Deletion, "it fails a health check: " + awaitedDeletion(m)
	case m.Deleting:
		return m.Deletion, awaitedDeletion(m)
	case m.Mark == machines.Ours && m.ClonedFrom == outdatedName(move.ClonedFrom) && m.Outdated:
		return faultlinev1.MoveReplacing, s.awaitedReplacement(move, replacement)
	case m.Mark == machines.Ours && m.ClonedFrom == outdatedName(move.ClonedFrom):
		return faultlinev1.MoveReplacing, "waiting for the control plane to notice that it must be replaced"
	}
	return faultlinev1.MoveStarted, "marking the Machine"
}

// awaitedReplacement returns what a machine waits for that the control plane has begun to replace.
func (s *Snapshot) awaitedReplacement(move *Move, replacement *Machine) string {
	cp := &s.ControlPlane
	switch {
	case replacement == nil && cp.Remediation.Noted && !cp.Remediation.At.Before(move.Started.Time):
		return fmt.Sprintf("its replacement, Machine %s, failed and was deleted: waiting for %s to create another one", cp.Remediation.Machine, cp.Name)
	case replacement == nil:
		return fmt.Sprintf("waiting for %s to create its replacement", cp.Name)
	case replacement.Deleting:
		return fmt.Sprintf("its replacement, Machine %s, is being deleted: waiting for %s to create another one", replacement.Name, cp.Name)
	case replacement.Unhealthy:
		return fmt.Sprintf("its replacement, Machine %s, fails a health check: waiting for %s to replace it", replacement.Name, cp.Name)
	case !replacement.Ready || !replacement.HasNode:
		return fmt.Sprintf("waiting for its replacement, Machine %s, to join: %s", replacement.Name, cmp.Or(replacement.Waits, "see its conditions"))
	}
	return fmt.Sprintf("its replacement, Machine %s, has joined: waiting for %s to delete the Machine", replacement.Name, cp.Name)
}

// outcome returns the outcome of a move after its annotations, except for the record, have been removed.
func (o *observed) outcome(d Decision) *faultlinev1.MachineMove {
	last := moveStatus(o, d.Move)
	last.Phase, last.Message, last.Finished = faultlinev1.MoveCompleted, "", timeOf(o.Now)
	switch {
	case d.Move.Aborting != "":
		last.Phase, last.Reason, last.Message = faultlinev1.MoveAborted, d.Move.Aborting, d.Move.Why
	case last.Replacement == "":
		last.Phase, last.Reason = faultlinev1.MoveAborted, faultlinev1.ReasonMachineDeleting
		last.Message = "Machine " + last.Machine + " was deleted before there was a replacement"
	case o.ControlPlane.Remediation.Machine == last.Machine:
		last.Message = fmt.Sprintf("%s has deleted Machine %s because it failed a health check", o.ControlPlane.Name, last.Machine)
	}
	return last
}

// awaitedDeletion returns what a machine that is being deleted waits for.
func awaitedDeletion(m *Machine) string {
	switch m.Deletion {
	case faultlinev1.MoveDrainable:
		return "its Node is being drained: " + m.DeletingReason
	case faultlinev1.MoveDrained:
		return "its Node is drained: " + m.DeletingReason
	case faultlinev1.MoveTerminable:
		return "its infrastructure is being deleted: " + m.DeletingReason
	}
	return "being deleted: " + m.DeletingReason
}

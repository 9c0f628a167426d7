// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/machines"
)

// Reason is a reason against a move. Its message states what blocks the move and how to fix it.
type Reason struct{ Reason, Message string }

// guard finds one reason against a move. A recorded move must also pass as long as there is no replacement; effects of its own
// annotations are then not a reason.
type guard struct {
	reason string
	// against returns a message, "" if it does not block the move.
	against func(*view) string
}

// view is a snapshot with the plan made from it.
type view struct {
	*Snapshot
	plan plan
}

// retryAfter is how long no move is begun if the control plane did not react to the last one, and nothing has changed since that
// could make it react.
const retryAfter = time.Hour

// guards lists all guards in the order in which they are reported.
func guards() []guard {
	return []guard{
		{faultlinev1.ReasonClusterDeleting, func(v *view) string {
			return when(v.Cluster.Deleting, "Cluster %s is being deleted", v.Cluster.Name)
		}},
		{faultlinev1.ReasonClusterPaused, func(v *view) string {
			return when(v.Cluster.Paused, "Cluster %s or its infrastructure cluster is paused: remove spec.paused or the annotation cluster.x-k8s.io/paused", v.Cluster.Name)
		}},
		{faultlinev1.ReasonControlPlaneNotSupported, checkKind},
		{faultlinev1.ReasonControlPlaneVersionNotTested, checkVersion},
		{faultlinev1.ReasonControlPlaneDeleting, func(v *view) string {
			return when(v.ControlPlane.Deleting, "%s is being deleted", v.ControlPlane.Name)
		}},
		{faultlinev1.ReasonControlPlanePaused, func(v *view) string {
			return when(v.ControlPlane.Paused, "%s is paused: remove its annotation cluster.x-k8s.io/paused", v.ControlPlane.Name)
		}},
		{faultlinev1.ReasonEvenReplicas, func(v *view) string {
			return when(v.exists() && !v.ControlPlane.ExternalEtcd && v.ControlPlane.Replicas%2 == 0, "%s has spec.replicas %d: set an odd number", v.ControlPlane.Name, v.ControlPlane.Replicas)
		}},
		{faultlinev1.ReasonNoSurge, func(v *view) string {
			return when(v.exists() && v.ControlPlane.MaxSurge != 1,
				"%s has %s %d, so it would delete before it creates: set it to 1", v.ControlPlane.Name, v.facts().Surge, v.ControlPlane.MaxSurge)
		}},
		{faultlinev1.ReasonControlPlaneNotObserved, func(v *view) string {
			return when(v.exists() && !v.ControlPlane.Observed, "%s has not observed its current spec yet: wait, or check that its controller runs", v.ControlPlane.Name)
		}},
		{faultlinev1.ReasonControlPlaneRollingOut, checkRollingOut},
		{faultlinev1.ReasonControlPlaneScaling, checkScaling},
		{faultlinev1.ReasonMachineDeleting, func(v *view) string {
			return v.each(func(m *Machine) bool { return m.Deleting }, "is being deleted: wait until it is deleted; if it is not, see its condition Deleting")
		}},
		{faultlinev1.ReasonControlPlaneRemediating, checkRemediating},
		{faultlinev1.ReasonMachineNotReady, checkNodes},
		{faultlinev1.ReasonControlPlaneUnhealthy, checkHealth},
		{faultlinev1.ReasonMachineMarked, func(v *view) string {
			return v.each(func(m *Machine) bool { return m.Mark.Others() },
				"has the annotation cluster.x-k8s.io/delete-machine, which Faultline has not set: remove it, or scale down")
		}},
		{faultlinev1.ReasonInfrastructureMachineUnexpected, checkInfrastructure},
		{faultlinev1.ReasonFailureDomainIntentInvalid, checkIntents},
		{faultlinev1.ReasonStabilizing, func(v *view) string {
			// Advise moves nothing, so its plan has no time.
			return when(v.Mode != faultlinev1.ControlPlaneRebalanceAdvise && v.timeUntilStable() > 0, "the failure domains changed at %s: machines are moved after they have been unchanged for %s",
				v.Since.UTC().Format(time.RFC3339), v.Stabilization)
		}},
		{faultlinev1.ReasonTargetNotAvailable, checkTarget},
		{faultlinev1.ReasonControlPlaneDoesNotMove, checkResponse},
		{faultlinev1.ReasonAnnotationsRemoved, checkAnnotations},
		{faultlinev1.ReasonRolledOut, checkRolledOut},
	}
}

func when(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// each returns a message with the names of the machines for which wrong returns true.
func (v *view) each(wrong func(*Machine) bool, message string) string {
	var names []string
	for i := range v.Machines {
		if wrong(&v.Machines[i]) {
			names = append(names, "Machine "+v.Machines[i].Name)
		}
	}
	return when(len(names) > 0, "%s %s", strings.Join(names, ", "), message)
}

// exists reports whether there is a control plane of a kind that can replace single machines.
func (v *view) exists() bool { return v.ControlPlane.Kind != nil }

// facts returns what the control plane has in common with others of its kind.
func (v *view) facts() machines.ControlPlaneFacts {
	if !v.exists() {
		return machines.ControlPlaneFacts{}
	}
	return v.ControlPlane.Kind.Facts()
}

// instead returns the mode to set if a control plane does not replace single machines.
func (v *view) instead() faultlinev1.ControlPlaneRebalance {
	if v.facts().RolloutAfter == nil {
		return faultlinev1.ControlPlaneRebalanceAdvise
	}
	return faultlinev1.ControlPlaneRebalanceRolloutAfter
}

// checkVersion applies to single moves only, because they depend on behavior beyond the control plane's contract.
func checkVersion(v *view) string {
	if !v.exists() || v.Mode != faultlinev1.ControlPlaneRebalanceSurgeOne {
		return ""
	}
	return untested(v.facts(), v.ControlPlane.Version)
}

// checkKind checks for a control plane that cannot replace machines in the given mode, or does not exist.
func checkKind(v *view) string {
	cp := &v.ControlPlane
	switch {
	case cp.Unable != "":
		return fmt.Sprintf("%s %s: set spec.distribution.controlPlane.rebalance to Advise or Off", cp.Name, cp.Unable)
	case v.exists():
		return when(v.Mode == faultlinev1.ControlPlaneRebalanceRolloutAfter && v.facts().RolloutAfter == nil,
			"%s has no field rollout.after: set spec.distribution.controlPlane.rebalance to SurgeOne or Advise", cp.Name)
	case cp.Name != "":
		return fmt.Sprintf("%s, which spec.controlPlaneRef of Cluster %s names, does not exist: create it, or correct the reference", cp.Name, v.Cluster.Name)
	}
	return fmt.Sprintf("Cluster %s has no control plane that could move a machine: set spec.controlPlaneRef, or spec.distribution.controlPlane.rebalance to Off", v.Cluster.Name)
}

// checkRollingOut checks for machines that the control plane replaces for other reasons. It ignores the machine of the current
// move.
func checkRollingOut(v *view) string {
	cp := &v.ControlPlane
	if !v.exists() {
		return ""
	}
	if v.Cluster.Upgrade != "" {
		return fmt.Sprintf("%s replaces no machine until it is upgraded to %s, the version in spec.topology of Cluster %s: wait, or see the condition TopologyReconciled of the Cluster",
			cp.Name, v.Cluster.Upgrade, v.Cluster.Name)
	}
	if other := v.each(func(m *Machine) bool { return m.Outdated && !v.moving(m) }, "is not up to date: wait until the rollout is complete"); other != "" {
		return other
	}
	return when(v.Move == nil && (cp.RollingOut || !cp.UpToDate), "%s does not report that all its machines are up to date: see its conditions RollingOut and MachinesUpToDate", cp.Name)
}

// checkScaling checks for a number of machines that differs from the replicas.
func checkScaling(v *view) string {
	cp := &v.ControlPlane
	there := len(v.Machines)
	return when(v.exists() && (there != cp.Replicas || cp.Scaling), "%s has %d machines of %d replicas: wait until scaling is complete, or see its conditions ScalingUp and ScalingDown",
		cp.Name, there, cp.Replicas)
}

// checkRemediating checks for machines that fail a health check, and for a remediation in progress.
func checkRemediating(v *view) string {
	if failing := v.each(func(m *Machine) bool { return m.Unhealthy }, "fails a health check: wait until it is replaced, or repair it"); failing != "" {
		return failing
	}
	cp := &v.ControlPlane
	ends := v.Move == nil && cp.Remediation.Noted && v.leftOver() == "" // a move makes it create a machine
	return when(cp.Remediating || ends, "%s is replacing an unhealthy machine: wait until remediation is complete", cp.Name)
}

// leftOver returns why the control plane remediates no machine; "" if it does, or if it will remove the annotation of its last
// remediation. It removes the annotation when it creates a machine, and creates none while it has the desired number of machines.
// A move makes it create one.
func (v *view) leftOver() string {
	cp := &v.ControlPlane
	busy := func(m Machine) bool {
		return m.Deleting || m.Outdated || !m.HasNode && !m.Unhealthy || m.Name == cp.Remediation.Machine
	}
	if !v.exists() || !cp.Remediation.Noted || len(v.Machines) != cp.Replicas || slices.ContainsFunc(v.Machines, busy) {
		return ""
	}
	of, ends := "", "removes it too"
	if cp.Remediation.Kept {
		ends = "makes it ignore the annotation"
	}
	if cp.Remediation.Machine != "" {
		of = " of Machine " + cp.Remediation.Machine + ", which does not exist any more"
	}
	return fmt.Sprintf("%s has the annotation %s%s, and replaces no unhealthy machine until it is removed: remove the annotation, or let it create a machine, "+
		"which %s", cp.Name, controlplanev1.RemediationInProgressAnnotation, of, ends)
}

// checkNodes checks for machines that have no Node or are not Ready.
func checkNodes(v *view) string {
	if nodeless := v.each(func(m *Machine) bool { return !m.HasNode }, "has no Node: see its condition NodeHealthy"); nodeless != "" {
		return nodeless
	}
	return v.each(func(m *Machine) bool { return !m.Ready }, "is not Ready: see its conditions")
}

// checkHealth checks what the control plane reports about etcd and its components.
func checkHealth(v *view) string {
	cp := &v.ControlPlane
	if !v.exists() {
		return ""
	}
	if !cp.EtcdHealthy {
		return cp.Name + " does not report that etcd is healthy: see its condition EtcdClusterHealthy"
	}
	return when(!cp.ComponentsHealthy, "%s does not report that its components are healthy: see its condition ControlPlaneComponentsHealthy", cp.Name)
}

// checkInfrastructure checks for machines that cannot be marked as outdated, or already look outdated.
func checkInfrastructure(v *view) string {
	if foreign := v.each(func(m *Machine) bool { return !m.Infrastructure }, "has no infrastructure machine of this provider: replace it with one whose "+
		"spec.infrastructureRef is a "+v.MachineKind+", or set spec.distribution.controlPlane.rebalance to Off"); foreign != "" {
		return foreign
	}
	return v.each(func(m *Machine) bool {
		ours := v.moving(m) && m.ClonedFrom == outdatedName(v.ControlPlane.Template) && v.Move.ClonedFrom == v.ControlPlane.Template
		return v.exists() && m.ClonedFrom != v.ControlPlane.Template && !ours
	}, "has an infrastructure machine whose annotations cluster.x-k8s.io/cloned-from-name and cloned-from-groupkind do not match the control plane's template: "+
		"roll the control plane out once")
}

// checkIntents checks for entries of the spec that match no domain, because the user may have meant another one.
func checkIntents(v *view) string {
	return distribution.InvalidIntents(v.Intents, func(name string) bool { return v.domain(name) != nil })
}

// timeUntilStable returns how much longer the failure domains must stay unchanged.
func (s *Snapshot) timeUntilStable() time.Duration {
	if s.Since.IsZero() {
		return max(s.Stabilization, time.Nanosecond)
	}
	return s.Since.Add(s.Stabilization).Sub(s.Now)
}

// checkResponse blocks moves after the control plane did not react to a request to replace a machine, until one of its conditions
// changes, the failure domains change, or retryAfter has passed.
func checkResponse(v *view) string {
	return when(v.Move == nil && v.timeUntilRetry(faultlinev1.ReasonControlPlaneDoesNotMove) > 0, "%s did not replace Machine %s when requested: check that its controller runs, or set "+
		"spec.distribution.controlPlane.rebalance to %s; the request is repeated when one of its conditions or the failure domains change, and after %s",
		v.ControlPlane.Name, machineOf(v.Last), v.instead(), retryAfter)
}

// checkAnnotations blocks moves while written annotations are removed.
func checkAnnotations(v *view) string {
	if v.Removed != "" {
		return v.Removed
	}
	return when(v.Move == nil && v.timeUntilRetry(faultlinev1.ReasonAnnotationsRemoved) > 0, "%s; the move is retried when a condition of %s or the failure domains change, and after %s",
		messageOf(v.Last), v.ControlPlane.Name, retryAfter)
}

// timeUntilRetry returns how much longer no move is begun after one was aborted for the reason ControlPlaneDoesNotMove or
// AnnotationsRemoved, for which it would fail again; not positive if moves may begin.
func (s *Snapshot) timeUntilRetry(reason string) time.Duration {
	last := s.Last
	if last == nil || last.Reason != reason || s.ControlPlane.Changed.After(last.Finished.Time) || s.Since.After(last.Finished.Time) {
		return 0
	}
	return last.Finished.Add(retryAfter).Sub(s.Now)
}

// checkRolledOut blocks setting rollout.after again: one rollout is enough for an unchanged set of failure domains.
func checkRolledOut(v *view) string {
	after := v.ControlPlane.RolloutAfter
	if v.Mode != faultlinev1.ControlPlaneRebalanceRolloutAfter || after.IsZero() || after.Before(v.Since) {
		return ""
	}
	return v.ControlPlane.Name + " has rollout.after " + after.UTC().Format(time.RFC3339) + ", and the failure domains have not changed since: " +
		"set spec.distribution.controlPlane.rebalance to SurgeOne, or rollout.after to now"
}

func machineOf(move *faultlinev1.MachineMove) string {
	if move == nil {
		return ""
	}
	return move.Machine
}

func messageOf(move *faultlinev1.MachineMove) string {
	if move == nil {
		return ""
	}
	return move.Message
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline-io/faultline/e2e/workload"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/machines"
)

// history holds a control plane's states, one moment after each change, in the order of the revisions in which the API server stored the
// changes.
type history []moment

// moment is the state of a control plane after one change.
type moment struct {
	at time.Time
	// what describes the change.
	what string
	// replicas is the control plane's desired number of machines, paused whether it is paused.
	replicas int
	paused   bool
	// heldBack is true while the Cluster's topology has the version of an upgrade that the control plane does not have yet.
	heldBack bool
	machines []machine         // by name
	members  []workload.Member // of etcd
	// rollout is the control plane's rollout.after, asked the value that the user set last.
	rollout, asked time.Time
	// remediation is the last remediation that the control plane has noted.
	remediation machines.Remediation
	// move is the recorded move, shown whether the status shows one.
	move  *move
	shown bool
	// states maps failure domains to their states. It is replaced, not changed.
	states map[string]faultlinev1.DomainState
	// balanced is the condition ControlPlaneBalanced.
	balanced metav1.Condition
	// faultsOver is set once the faults are over.
	faultsOver bool
	// strippedUntil is the time until which a policy removes annotations and controllers may not have reacted yet.
	strippedUntil time.Time
	// capacity is the capacity of each failure domain in machines; 0 if there is spare capacity.
	capacity int
}

// machine is a Machine of the control plane.
type machine struct {
	name, domain string
	created      time.Time
	// marked reports a mark for a move, claimed a delete-machine mark of another writer.
	marked, claimed bool
	// outdated reports whether a move made its infrastructure machine look outdated.
	outdated        bool
	ready, deleting bool
	// failing reports whether it fails its health check or the user requested its remediation.
	failing bool
	// deletedByPerson reports that the user deleted it, releasedByPerson that the user removed the claim.
	deletedByPerson, releasedByPerson bool
}

// touched reports whether the machine has a mark of a move.
func (m machine) touched() bool { return m.marked || m.outdated }

// healthy reports whether the machine is ready and not being deleted.
func (m machine) healthy() bool { return m.ready && !m.deleting }

// move is the record of a move.
type move struct {
	Machine  string `json:"machine"`
	Aborting string `json:"aborting"`
}

// find returns the position of a machine, or where it would be.
func (m *moment) find(name string) (int, bool) {
	return slices.BinarySearchFunc(m.machines, name, func(is machine, name string) int { return strings.Compare(is.name, name) })
}

// named returns a machine, if it exists.
func (m moment) named(name string) (machine, bool) {
	i, there := m.find(name)
	if !there {
		return machine{}, false
	}
	return m.machines[i], true
}

// edit changes a machine, if it exists.
func (m *moment) edit(name string, change func(*machine)) {
	if i, there := m.find(name); there {
		change(&m.machines[i])
	}
}

// any reports whether a machine has a property.
func (m moment) any(has func(machine) bool) bool { return slices.ContainsFunc(m.machines, has) }

// those returns the machines that have a property.
func (m moment) those(have func(machine) bool) []machine {
	return slices.DeleteFunc(slices.Clone(m.machines), func(is machine) bool { return !have(is) })
}

// quorate reports whether the healthy etcd members without one machine form a quorum.
func (m moment) quorate(without string) bool {
	all, healthy := 0, 0
	for _, is := range m.members {
		if is.Machine == without {
			continue
		}
		all++
		if is.Healthy {
			healthy++
		}
	}
	return healthy > all/2
}

// complete reports whether the desired number of machines exists, all ready and none being deleted.
func (m moment) complete() bool {
	return len(m.machines) == m.replicas && !m.any(func(is machine) bool { return !is.healthy() })
}

// failing reports whether a machine fails its health check.
func (m moment) failing() bool { return m.any(func(is machine) bool { return is.failing }) }

// remediated reports whether the control plane has the annotation of a remediation, and heeds it.
func (m moment) remediated() bool {
	var created []time.Time
	for _, is := range m.machines {
		created = append(created, is.created)
	}
	return m.remediation.Heeded(created).Noted
}

// leftOver reports whether the control plane has the annotation of a finished remediation and the condition reports it.
func (m moment) leftOver() bool {
	return m.remediated() && strings.Contains(m.balanced.Message, faultlinev1.ReasonRemediationLeftOver)
}

// overCapacity reports whether a machine is not ready in a failure domain with more machines than capacity, so that it may be waiting for
// capacity.
func (m moment) overCapacity() bool {
	return m.capacity > 0 && m.any(func(is machine) bool {
		return !is.ready && !is.deleting && len(m.those(func(other machine) bool { return other.domain == is.domain })) > m.capacity
	})
}

// refused returns a machine that has not been ready for longer than refusedLimit in a failure domain that receives no machines, or "" if no
// machine has. It records in since when it first saw each such machine.
func (m moment) refused(since map[string]time.Time, now time.Time) string {
	for _, is := range m.machines {
		if is.ready || is.deleting || m.states[is.domain] == faultlinev1.DomainActive {
			delete(since, is.name)
			continue
		}
		if _, seen := since[is.name]; !seen {
			since[is.name] = now
		}
		if now.Sub(since[is.name]) > refusedLimit {
			return is.name
		}
	}
	return ""
}

// String formats the moment in one line for people.
func (m moment) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %-44s %d:", m.at.UTC().Format("15:04:05.000"), m.what, m.replicas)
	for _, is := range m.machines {
		fmt.Fprintf(&text, " %s@%s%s", suffix(is.name), suffix(is.domain), is.flags())
	}
	for _, name := range sortedKeys(m.states) {
		if m.states[name] != faultlinev1.DomainActive {
			fmt.Fprintf(&text, " %s=%s", suffix(name), m.states[name])
		}
	}
	text.WriteString(" etcd")
	for _, is := range m.members {
		fmt.Fprintf(&text, " %s%s", suffix(is.Machine), when(!is.Healthy, "!"))
	}
	if !m.rollout.IsZero() {
		fmt.Fprintf(&text, " rollout after %s", m.rollout.UTC().Format("15:04:05"))
	}
	if m.move != nil {
		fmt.Fprintf(&text, " moving %s%s", suffix(m.move.Machine), when(m.move.Aborting != "", " (back: "+m.move.Aborting+")"))
	}
	fmt.Fprintf(&text, "%s%s%s %s %s", when(m.paused, " paused")+when(m.heldBack, " upgrade held back"), when(m.remediated(), " remediated"), when(m.leftOver(), " (told)"), m.balanced.Status, m.balanced.Reason)
	return text.String()
}

func (m machine) flags() string {
	return when(m.marked, "+marked") + when(m.claimed, "+claimed") + when(m.outdated, "+outdated") + when(m.deleting, "+deleting") + when(m.failing, "+failing") + when(!m.ready, "+notready")
}

// suffix returns the part of a name that distinguishes it from those of the same control plane.
func suffix(name string) string { return name[strings.LastIndex(name, "-")+1:] }

func when(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

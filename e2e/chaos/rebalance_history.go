// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
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
	machines []machine // by name
	members  []etcdMember
	// rollout is the control plane's rollout.after, asked the value that the user set last.
	rollout, asked time.Time
	// move is the recorded move, shown whether the status shows one.
	move  *move
	shown bool
	// states maps failure domains to their states.
	states map[string]faultlinev1.DomainState
	// balanced is the condition ControlPlaneBalanced.
	balanced metav1.Condition
	// endFaults is set once the faults are over.
	faultsOver bool
	// strippedUntil is the time until which a policy removes annotations and controllers may not have reacted yet.
	strippedUntil time.Time
	// remediated reports whether the control plane has the annotation of a remediation, and heeds it.
	remediated bool
	// capacity is the capacity of each failure domain in machines; 0 if there is spare capacity.
	capacity int
}

// machine is a Machine of the control plane.
type machine struct {
	name, domain string
	uid          types.UID
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

// etcdMember is a member of etcd.
type etcdMember struct {
	machine string
	healthy bool
}

// move is the record of a move.
type move struct {
	Machine  string    `json:"machine"`
	UID      types.UID `json:"uid"`
	Aborting string    `json:"aborting"`
}

// named returns the machine with a UID, if it exists.
func (m moment) named(uid types.UID) (machine, bool) {
	i := slices.IndexFunc(m.machines, func(is machine) bool { return is.uid == uid })
	if i < 0 {
		return machine{}, false
	}
	return m.machines[i], true
}

// staying counts the machines that are not being deleted, except one.
func (m moment) staying(without types.UID) int {
	n := 0
	for _, is := range m.machines {
		if !is.deleting && is.uid != without {
			n++
		}
	}
	return n
}

// quorate reports whether the healthy etcd members without one machine form a quorum.
func (m moment) quorate(without string) bool {
	all, healthy := 0, 0
	for _, is := range m.members {
		if is.machine == without {
			continue
		}
		all++
		if is.healthy {
			healthy++
		}
	}
	return healthy > all/2
}

// complete reports whether the desired number of machines exists, all ready and none being deleted.
func (m moment) complete() bool {
	return len(m.machines) == m.replicas && !slices.ContainsFunc(m.machines, func(is machine) bool { return is.deleting || !is.ready })
}

// movable reports whether a move or a rollout may begin.
func (m moment) movable() bool { return !m.paused && !m.heldBack && m.complete() }

// failing reports whether a machine fails its health check.
func (m moment) failing() bool {
	return slices.ContainsFunc(m.machines, func(is machine) bool { return is.failing })
}

// leftOver reports whether the control plane has the annotation of a finished remediation and the condition reports it.
func (m moment) leftOver() bool {
	return m.remediated && strings.Contains(m.balanced.Message, faultlinev1.ReasonRemediationLeftOver)
}

// overCapacity reports whether a machine is not ready in a failure domain with more machines than capacity, so that it may be waiting for
// capacity.
func (m moment) overCapacity() bool {
	if m.capacity == 0 {
		return false
	}
	in := map[string]int{}
	for _, is := range m.machines {
		in[is.domain]++
	}
	return slices.ContainsFunc(m.machines, func(is machine) bool { return !is.ready && !is.deleting && in[is.domain] > m.capacity })
}

// refused returns a machine that has not been ready for longer than refusedLimit in a failure domain that receives no machines. since
// records when each was first seen.
func (m moment) refused(since map[types.UID]time.Time, now time.Time) *machine {
	for i := range m.machines {
		is := &m.machines[i]
		if is.ready || is.deleting || m.states[is.domain] == faultlinev1.DomainActive {
			delete(since, is.uid)
			continue
		}
		if _, seen := since[is.uid]; !seen {
			since[is.uid] = now
		}
		if now.Sub(since[is.uid]) > refusedLimit {
			return is
		}
	}
	return nil
}

// String formats the moment in one line for people.
func (m moment) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %-44s %d:", m.at.UTC().Format("15:04:05.000"), m.what, m.replicas)
	for _, is := range m.machines {
		fmt.Fprintf(&text, " %s@%s%s", is.name[strings.LastIndex(is.name, "-")+1:], is.domain[strings.LastIndex(is.domain, "-")+1:], is.flags())
	}
	for _, name := range sortedKeys(m.states) {
		if m.states[name] != faultlinev1.DomainActive {
			fmt.Fprintf(&text, " %s=%s", name[strings.LastIndex(name, "-")+1:], m.states[name])
		}
	}
	text.WriteString(" etcd")
	for _, is := range m.members {
		fmt.Fprintf(&text, " %s%s", is.machine[strings.LastIndex(is.machine, "-")+1:], when(!is.healthy, "!"))
	}
	if !m.rollout.IsZero() {
		fmt.Fprintf(&text, " rollout after %s", m.rollout.UTC().Format("15:04:05"))
	}
	if m.move != nil {
		fmt.Fprintf(&text, " moving %s%s", m.move.Machine[strings.LastIndex(m.move.Machine, "-")+1:], when(m.move.Aborting != "", " (back: "+m.move.Aborting+")"))
	}
	fmt.Fprintf(&text, "%s%s%s %s %s", when(m.paused, " paused")+when(m.heldBack, " upgrade held back"), when(m.remediated, " remediated"), when(m.leftOver(), " (told)"), m.balanced.Status, m.balanced.Reason)
	return text.String()
}

func (m machine) flags() string {
	return when(m.marked, "+marked") + when(m.claimed, "+claimed") + when(m.outdated, "+outdated") + when(m.deleting, "+deleting") + when(m.failing, "+failing") + when(!m.ready, "+notready")
}

func when(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/failuredomain"
	"github.com/faultline-io/faultline/shared/machines"
)

// The state of the model is small, comparable and canonical: machines are sorted by age, the oldest first, and have no other
// identity; the machine of a move is stored as an index. Time is only modeled by its effects, such as the end of the
// stabilization window or of the control plane's deadline.

const (
	mostMachines = 7
	mostDomains  = 4
	none         = int8(-1)
)

type health uint8

const (
	well     health = iota
	notReady        // its kubelet does not respond; visible on the Machine
	etcdDown        // its member is down; visible on the control plane
	failing         // it fails a health check; visible in that condition before Ready changes
)

// machine is a Machine with its infrastructure machine, Node and etcd member.
type machine struct {
	domain           int8 // requested domain
	at               int8 // actual domain; differs after a move outside Faultline
	health           health
	joined, placed   bool // it has a Node; its domain has capacity for it
	deleting         bool
	old, seenOld     bool // it does not match the control plane's spec; the control plane has reported it as not up to date
	asked            asked
	beside           bool // it has marked-for-move next to delete-machine
	cloned, unlinked bool // cloned-from-name is changed; it never had one
}

// asked is the owner of a Machine's delete-machine annotation, according to its value.
type asked uint8

const (
	unmarked asked = iota
	manager
	managerTriggered // the manager's, with the time of a Trigger
	users
)

// annotated returns a Machine with these annotations, to be interpreted by the real code.
func annotated(a asked, beside bool, first time.Time) *clusterv1.Machine {
	machine := &clusterv1.Machine{}
	machine.Annotations = map[string]string{}
	switch a {
	case unmarked:
	case manager:
		machine.Annotations[clusterv1.DeleteMachineAnnotation] = mark
	case managerTriggered:
		machine.Annotations[clusterv1.DeleteMachineAnnotation] = encodeTriggered(first, 1)
	case users:
		machine.Annotations[clusterv1.DeleteMachineAnnotation] = "yes"
	}
	if beside {
		machine.Annotations[faultlinev1.MarkedForMoveAnnotation] = mark
	}
	return machine
}

// ofMove reports whether the machine has any annotation of the manager.
func (m *machine) ofMove() bool {
	return m.beside || m.asked == manager || m.asked == managerTriggered || m.cloned
}

type mode uint8

const (
	advise mode = iota
	surgeOne
	rolloutAfter
)

// strips is what an admission policy removes from every written object.
type strips uint8

const (
	stripsNothing strips = iota
	stripsMachines
	stripsInfrastructure
	stripsRecords
)

// strip reports whether the policy removes what an action writes.
func (s *state) strip(action Action) bool {
	switch action {
	case MarkMachine, Trigger:
		return s.strips == stripsMachines
	case MarkInfrastructure:
		return s.strips == stripsInfrastructure
	case Record:
		return s.strips == stripsRecords
	}
	return false
}

type rolled uint8

const (
	never  rolled = iota
	before        // the domains have changed since
	since         // the domains have not changed since
)

type domain struct {
	there, listed bool // published, and listed by the Cluster
	state         uint8
	sick, dubious bool // observed unhealthy, but not for long; the user misspelt the entry that withdraws it
	filled        bool // it is temporarily full
	room          int8 // none means no limit
}

// record is the record of a move on the infrastructure cluster.
type record struct {
	there, aborting bool
	damaged         bool // a user has changed it so that it cannot be parsed
	victim          int8 // none if it was deleted
	from, to        int8
	silent          bool // it is aborted because the control plane did not react
	excused         bool // the user has changed the domains since it began: the next move may revert it
}

// pending is what the manager has decided and not yet written. It is lost when the manager stops.
type pending struct {
	action   Action
	machine  int8
	from, to int8
	abort    bool
	silent   bool
	excused  bool // copied from the record
	stale    bool // the object to write was changed by another client since
}

type state struct {
	count    uint8
	machines [mostMachines]machine
	domains  [mostDomains]domain
	replicas uint8

	kind                               uint8 // of the control plane: 0 kubeadm, 1 another
	kcpPaused, kcpDeleting, unobserved bool
	surgeless, deaf                    bool // maxSurge is 0; it ignores cloned-from-name
	untested                           bool // its version is unknown, and it deletes before it creates, whatever maxSurge is
	remediating                        bool // it deleted a failed machine, and has created none since
	strips                             strips
	stripped                           bool // the manager has detected the policy and has not finished its reconcile
	remediatedBefore                   bool // it did so before the move was recorded
	heldBack                           bool // the Cluster has a version to which it is not upgraded yet, and it acts on no machine
	paused, deleting                   bool // of the Cluster
	changing, flapping                 bool // the stabilization window is running; the domains will change again

	record record
	last   record // the last finished move; from and to are none if there was none
	late   bool   // the deadline has passed
	mode   mode   // spec.distribution.controlPlane.rebalance
	// rolled is the state of rollout.after, rolling is true while the rollout that it started is in progress.
	rolled  rolled
	rolling bool

	pending   pending
	disturbed bool // a fault happened since the manager decided to begin the move
	deleted   bool // a user, or remediation, has deleted a machine
	budget    uint8
}

var (
	modelNow    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	domainNames = [mostDomains]string{"a", "b", "c", "d"}
	stateNames  = [...]failuredomain.State{failuredomain.Active, failuredomain.Cordoned, failuredomain.Evicting}
)

func nameOf(i int8) string {
	if i == none {
		return ""
	}
	return domainNames[i]
}

func indexOf(name string) int8 {
	for i, n := range domainNames {
		if n == name {
			return int8(i)
		}
	}
	return none
}

func uid(i int8) types.UID {
	if i == none {
		return "gone"
	}
	return types.UID(fmt.Sprintf("uid-%d", i))
}

// snapshot returns the state as the real code reads it.
func (s *state) snapshot() Snapshot {
	snap := Snapshot{
		Now: modelNow, Mode: faultlinev1.ControlPlaneRebalanceAdvise, Stabilization: 5 * time.Minute, Since: modelNow.Add(-time.Hour),
		Cluster:      Cluster{Name: "c", Paused: s.paused, Deleting: s.deleting, Upgrade: s.upgrade()},
		ControlPlane: s.controlPlane(),
	}
	if s.stripped {
		snap.Removed = "it is removed"
	}
	switch s.mode {
	case advise:
	case surgeOne:
		snap.Mode = faultlinev1.ControlPlaneRebalanceSurgeOne
	case rolloutAfter:
		snap.Mode = faultlinev1.ControlPlaneRebalanceRolloutAfter
	}
	if s.changing {
		snap.Since = modelNow
	}
	switch s.rolled {
	case never:
	case before:
		snap.ControlPlane.RolloutAfter = snap.Since.Add(-time.Minute)
	case since:
		snap.ControlPlane.RolloutAfter = snap.Since
	}
	for i, d := range s.domains {
		if !d.there {
			continue
		}
		seen := Domain{Name: domainNames[i], State: stateNames[d.state], Listed: d.listed, ControlPlane: d.state == 0, Healthy: !d.sick}
		if d.room != none {
			room := int(d.room)
			seen.Capacity = &room
		}
		if d.dubious {
			snap.Intents = append(snap.Intents, faultlinev1.FailureDomainIntent{Name: domainNames[i] + "?", State: faultlinev1.DomainEvicting})
		}
		snap.Domains = append(snap.Domains, seen)
	}
	for i := range s.machines[:s.count] {
		snap.Machines = append(snap.Machines, s.machineSeen(int8(i)))
	}
	if s.record.there {
		snap.Move = &Move{
			Machine: "m", UID: uid(s.record.victim), From: nameOf(s.record.from), To: nameOf(s.record.to), ClonedFrom: "t", Started: metav1.NewTime(modelNow),
		}
		if s.record.aborting {
			snap.Move.Aborting, snap.Move.Why = "Aborting", "why"
		}
	}
	if s.last.silent {
		snap.Last = &faultlinev1.MachineMove{Reason: faultlinev1.ReasonControlPlaneDoesNotMove, Finished: metav1.NewTime(modelNow)}
	}
	return snap
}

func (s *state) controlPlane() machines.ControlPlane {
	cp := machines.ControlPlane{
		Kind: machines.Kubeadm{}, Name: "KubeadmControlPlane cp", Paused: s.kcpPaused, Deleting: s.kcpDeleting, Replicas: int(s.replicas), Observed: !s.unobserved,
		MaxSurge: 1, UpToDate: true, EtcdHealthy: true, ComponentsHealthy: true, Template: "t", Version: machines.Kubeadm{}.Facts().OldestTested,
	}
	if s.remediating {
		cp.Remediation = machines.Remediation{Noted: true, Machine: "gone", At: modelNow}
	}
	if s.remediatedBefore {
		cp.Remediation.At = modelNow.Add(-time.Minute)
	}
	if s.kind != 0 {
		cp.Kind, cp.Unable = nil, "is of another kind"
	}
	if s.surgeless {
		cp.MaxSurge = 0
	}
	if s.untested {
		cp.Version = ""
	}
	for i := range s.machines[:s.count] {
		m := &s.machines[i]
		if m.seenOld {
			cp.UpToDate, cp.RollingOut = false, true
		}
		if m.health == etcdDown {
			cp.EtcdHealthy = false
		}
	}
	return cp
}

func (s *state) upgrade() string {
	if s.heldBack {
		return "v2"
	}
	return ""
}

func (s *state) machineSeen(i int8) Machine {
	m := &s.machines[i]
	seen := Machine{
		Name: fmt.Sprintf("m%d", i), UID: uid(i), Created: modelNow.Add(time.Duration(i) * time.Second), Requested: nameOf(m.domain),
		Ready: m.joined && m.health != notReady, HasNode: m.joined, Deleting: m.deleting, Unhealthy: m.health == failing, Outdated: m.seenOld,
		Infrastructure: true, ClonedFrom: "t",
	}
	first := modelNow
	if s.late {
		first = modelNow.Add(-reactionTimeout)
	}
	seen.Mark, seen.Triggered, seen.Triggers = markOf(annotated(m.asked, m.beside, first))
	if m.at != m.domain {
		seen.Observed = nameOf(m.at)
	}
	switch {
	case m.unlinked:
		seen.ClonedFrom = ""
	case m.cloned:
		seen.ClonedFrom = outdatedName("t")
	}
	return seen
}

// remove removes a machine; the others stay sorted by age.
func (s *state) remove(i int8) {
	if s.machines[i].placed && s.machines[i].at != none {
		if d := &s.domains[s.machines[i].at]; d.room != none {
			d.room++
		}
	}
	copy(s.machines[i:], s.machines[i+1:])
	s.count--
	s.machines[s.count] = machine{}
	for _, index := range []*int8{&s.record.victim, &s.pending.machine} {
		switch {
		case *index == i:
			*index = none
		case *index > i:
			*index--
		}
	}
}

// create adds a machine, which is placed if its domain has capacity.
func (s *state) create(d int8) {
	m := machine{domain: d, at: d, placed: true}
	if d != none {
		switch room := &s.domains[d].room; *room {
		case none:
		case 0:
			m.placed = false
		default:
			*room--
		}
	}
	s.machines[s.count] = m
	s.count++
}

// outdated reports whether the control plane considers the machine not up to date in its next reconcile.
func (s *state) outdated(m *machine) bool {
	return m.old || m.cloned && !m.unlinked && !s.deaf && s.kind == 0
}

// touch records that another client has written to a machine, so that a pending write of the manager conflicts.
func (s *state) touch(i int8) {
	if s.pending.machine == i {
		switch s.pending.action {
		case MarkMachine, UnmarkMachine, Trigger:
			s.pending.stale = true
		}
	}
}

// touchRecord records that another client has written to the infrastructure cluster.
func (s *state) touchRecord() {
	if s.pending.action == Record || s.pending.action == Close {
		s.pending.stale = true
	}
}

func (s *state) any(is func(*machine) bool) bool { return s.number(is) > 0 }

func (s *state) number(is func(*machine) bool) int {
	n := 0
	for i := range s.machines[:s.count] {
		if is(&s.machines[i]) {
			n++
		}
	}
	return n
}

// change records that the domains change now.
func (s *state) change() {
	s.changing = true
	if s.rolled == since {
		s.rolled = before
	}
}

// uneven returns how far the machines are from being spread as they should be. It must decrease with each move. Machines that
// must leave their domain weigh more than all others.
func (s *state) uneven() int {
	sum, in := 0, [mostDomains]int{}
	for i := range s.machines[:s.count] {
		at := s.machines[i].at
		switch {
		case s.machines[i].deleting:
		case at == none, !s.domains[at].there, stateNames[s.domains[at].state] == failuredomain.Evicting:
			sum += 100
		case stateNames[s.domains[at].state] == failuredomain.Active:
			in[at]++
		}
	}
	for _, n := range in {
		sum += n * n
	}
	return sum
}

func healthyVoter(m *machine) bool { return m.joined && m.health == well }

func (s *state) String() string {
	text := ""
	flags := func(m *machine) []struct {
		text string
		on   bool
	} {
		return []struct {
			text string
			on   bool
		}{
			{"!", m.health != well}, {"-", !m.joined}, {"x", m.deleting}, {"o", m.seenOld}, {"O", m.old}, {"c", m.cloned}, {"m", m.beside},
			{"M", m.asked == manager}, {"W", m.asked == managerTriggered}, {"U", m.asked == users},
		}
	}
	for i := range s.machines[:s.count] {
		m := &s.machines[i]
		text += nameOf(m.domain)
		if m.at != m.domain {
			text += "(" + nameOf(m.at) + ")"
		}
		for _, flag := range flags(m) {
			if flag.on {
				text += flag.text
			}
		}
		text += " "
	}
	domains := ""
	for i, d := range s.domains {
		if d.there {
			domains += fmt.Sprintf(" %s:%s,%v,%d", domainNames[i], stateNames[d.state], d.listed, d.room)
		}
	}
	return fmt.Sprintf("%sof %d in%s; record %+v; pending %+v", text, s.replicas, domains, s.record, s.pending)
}

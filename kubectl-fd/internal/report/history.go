// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Entry is an event in the history of a cluster.
type Entry struct {
	Time metav1.Time `json:"time"`
	// Reason is the reason of an event, "Domain" and a state, or "Move" and a phase.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Count is the number of occurrences; Time is then that of the last one.
	Count int `json:"count,omitempty"`
}

// recordedEvents is an entry from the status, with the properties of the event that reports the same.
type recordedEvents struct {
	Entry
	// events lists the reasons of that event. about is the part of its note that identifies the failure domain or the Machine,
	// ending in its name.
	events []string
	about  string
}

// together is the maximum time between a change and the event that reports it.
const together = time.Minute

// recordedBy reports whether an event reports the same. An event with several occurrences contains more information.
func (r recordedEvents) recordedBy(event Entry) bool {
	if event.Count > 1 || event.Time.Sub(r.Time.Time).Abs() > together || !slices.Contains(r.events, event.Reason) {
		return false
	}
	_, rest, named := strings.Cut(event.Message, r.about)
	return named && strings.IndexAny(rest, " ,") == 0
}

// History returns the events of an infrastructure cluster, the time since which each failure domain is in its state, and the
// recorded moves, the oldest first. States and moves are kept after events have expired, so an event that reports the same is
// omitted.
func History(c Cluster, events []eventsv1.Event) []Entry {
	known := states(c)
	known = append(known, moves(c.ControlPlane.LastMove)...)
	known = append(known, moves(c.ControlPlane.CurrentMove)...)
	for i := range c.Workers {
		known = append(known, moves(c.Workers[i].LastMove)...)
		known = append(known, moves(c.Workers[i].CurrentMove)...)
	}
	var entries []Entry
	for _, r := range known {
		entries = append(entries, r.Entry)
	}
	for i := range events {
		event := entryOf(&events[i])
		if !slices.ContainsFunc(known, func(r recordedEvents) bool { return r.recordedBy(event) }) {
			entries = append(entries, event)
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return entries
}

// states returns the time since which each failure domain is in its state, and the recorded requests.
func states(c Cluster) []recordedEvents {
	var all []recordedEvents
	for _, domain := range c.Domains {
		if r := domain.Request; r != nil {
			all = append(all, recordedEvents{Entry: Entry{
				Time: r.Time, Reason: string(r.State) + "Requested",
				Message: fmt.Sprintf("failure domain %s: requested by %s: %s", domain.Name, cmp.Or(r.By, "an unknown user"), r.Reason),
			}})
		}
		if domain.Since.IsZero() {
			continue
		}
		message := fmt.Sprintf("failure domain %s has been %s since then", domain.Name, domain.State)
		if domain.Reason != "" {
			message += fmt.Sprintf(" (%s: %s)", domain.Reason, domain.Message)
		}
		all = append(all, recordedEvents{
			Entry:  Entry{Time: domain.Since, Reason: "Domain" + string(domain.State), Message: message},
			events: []string{"FailureDomain" + string(domain.State)}, about: "Failure domain " + domain.Name,
		})
	}
	return all
}

func entryOf(event *eventsv1.Event) Entry {
	entry := Entry{Time: metav1.NewTime(event.EventTime.Time), Reason: event.Reason, Message: event.Note}
	switch {
	case event.Series != nil:
		entry.Time, entry.Count = metav1.NewTime(event.Series.LastObservedTime.Time), int(event.Series.Count)
	case event.DeprecatedCount > 1:
		entry.Time, entry.Count = event.DeprecatedLastTimestamp, int(event.DeprecatedCount)
	case entry.Time.IsZero():
		entry.Time = event.DeprecatedLastTimestamp
	}
	if entry.Time.IsZero() {
		entry.Time = event.CreationTimestamp
	}
	return entry
}

// moves returns when a move began, and when it ended or its current phase.
func moves(move *faultlinev1.MachineMove) []recordedEvents {
	if move == nil {
		return nil
	}
	what := fmt.Sprintf("%s from %s to %s", move.Machine, cmp.Or(move.From, "no failure domain"), move.To)
	if move.Replacement != "" {
		what += ", replaced by " + move.Replacement
	}
	explained := what
	if move.Message != "" {
		explained += ": " + move.Message
	}
	started := recordedEvents{
		Entry:  Entry{Time: move.Started, Reason: "MoveStarted", Message: what},
		events: []string{"MoveStarted", "WorkerMoveStarted"}, about: "Machine " + move.Machine,
	}
	if move.Finished.IsZero() {
		started.Message = fmt.Sprintf("%s; it is %s now", explained, move.Phase)
		return []recordedEvents{started}
	}
	ended := recordedEvents{
		Entry:  Entry{Time: move.Finished, Reason: "Move" + string(move.Phase), Message: explained},
		events: []string{"Move" + string(move.Phase), "WorkerMoveAborted"}, about: "Machine " + move.Machine,
	}
	if move.Phase == faultlinev1.MoveCompleted {
		ended.events[1] = "WorkerMoved"
	}
	return []recordedEvents{started, ended}
}

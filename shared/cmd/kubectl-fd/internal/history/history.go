// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history puts in order what has happened to the failure domains of a cluster. Pure.
package history

import (
	"cmp"
	"fmt"
	"slices"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/cmd/kubectl-fd/internal/report"
)

// Entry is something that happened.
type Entry struct {
	Time metav1.Time `json:"time"`
	// Reason says in a word what it was: an event's reason, Domain and a state, or Move and a phase.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Count is how often it happened, Time then when it did last.
	Count int `json:"count,omitempty"`
}

// Of returns the events of an infrastructure cluster, since when each failure domain is in its state, and the moves that are
// remembered, the oldest first. States and moves stay when events have expired.
func Of(c report.Cluster, events []eventsv1.Event) []Entry {
	var entries []Entry
	for i := range events {
		entries = append(entries, entryOf(&events[i]))
	}
	for _, domain := range c.Domains {
		if domain.Since.IsZero() {
			continue
		}
		message := fmt.Sprintf("failure domain %s is %s since then", domain.Name, domain.State)
		if domain.Reason != "" {
			message += fmt.Sprintf(" (%s: %s)", domain.Reason, domain.Message)
		}
		entries = append(entries, Entry{Time: domain.Since, Reason: "Domain" + string(domain.State), Message: message})
	}
	entries = append(entries, moves(c.ControlPlane.LastMove)...)
	entries = append(entries, moves(c.ControlPlane.CurrentMove)...)
	for i := range c.Workers {
		entries = append(entries, moves(c.Workers[i].LastMove)...)
		entries = append(entries, moves(c.Workers[i].CurrentMove)...)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return entries
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

// moves has when a move began, and when it ended or how far it has come.
func moves(move *faultlinev1.MachineMove) []Entry {
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
	if !move.Finished.IsZero() {
		return []Entry{{Time: move.Started, Reason: "MoveStarted", Message: what}, {Time: move.Finished, Reason: "Move" + string(move.Phase), Message: explained}}
	}
	return []Entry{{Time: move.Started, Reason: "MoveStarted", Message: fmt.Sprintf("%s; it is %s now", explained, move.Phase)}}
}

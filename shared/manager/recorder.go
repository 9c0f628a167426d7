// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrlrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/faultline-io/faultline/shared/text"
)

const (
	// maxNoteLength is the maximum length of an event's note, in bytes. The API server rejects a longer one, and client-go does not
	// retry.
	maxNoteLength = 1024
	// truncationSuffix ends a truncated note and refers to the status for the rest.
	truncationSuffix = " ... (the rest is in the status)"
	// noteLife is how long the notes of an event are kept: client-go ends a series 6 to 12 minutes after its last event.
	noteLife = 12 * time.Minute
	// maxEvents is the number of events in noteLife from which on notes are kept for less.
	maxEvents = 2048
	// maxNotes is the maximum number of events that are kept separate although only their notes differ.
	maxNotes = 100
)

// Recorder returns the event recorder of a controller. It truncates notes that are too long, and keeps events separate if only
// their notes differ: client-go would merge them into one series with the first note. Network errors are normalized so that
// all attempts have the same text and an outage is one event, however often a request is retried.
func Recorder(manager ctrlrecorder.Provider, name string) events.EventRecorder {
	return &recorder{EventRecorder: manager.GetEventRecorder(name), notes: notes{seed: maphash.MakeSeed()}} //nolint:forbidigo // this is where they are made
}

// recorder shares client-go's series with all recorders of the manager: they have one broadcaster. Its notes are its own, because the name
// of the recorder is part of the key of a series.
type recorder struct {
	events.EventRecorder

	notes notes
}

// notes holds the hashes of the notes recorded for each event, in order, by the hash of its eventKey.
type notes struct {
	seed maphash.Seed

	mu sync.Mutex
	// current holds the events since the given time, former those recorded before and not since.
	current, former map[uint64][]uint64
	since           time.Time
}

// eventKey is client-go's key for merging events into one series.
type eventKey struct {
	regarding, related   types.UID
	version              string
	kind, reason, action string
}

// Eventf records an event.
func (r *recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) { //nolint:revive // client-go has so many
	note = text.Steady(fmt.Sprintf(note, args...))
	if again := r.notes.others(eventKey{uid(regarding), uid(related), resourceVersion(regarding), kind, reason, action}, note); again > 0 {
		action = fmt.Sprintf("%s-%d", action, again+1)
	}
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text.TruncateWith(note, maxNoteLength, truncationSuffix))
}

// others returns the number of other notes recorded for the same key before this one.
func (n *notes) others(of eventKey, note string) int {
	key, sum := maphash.Comparable(n.seed, of), maphash.String(n.seed, note)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.expire(time.Now())
	recorded, ok := n.current[key]
	if !ok {
		recorded = n.former[key]
	}
	at := slices.Index(recorded, sum)
	if at < 0 {
		if at = len(recorded); at < maxNotes {
			recorded = append(recorded, sum)
		}
	}
	n.current[key] = recorded
	return at
}

// expire drops the notes of events that were not recorded for a while. It replaces the maps, because a Go map never shrinks.
func (n *notes) expire(now time.Time) {
	age := now.Sub(n.since)
	if n.current != nil && age < noteLife && len(n.current) < maxEvents {
		return
	}
	n.former, n.current, n.since = n.current, map[uint64][]uint64{}, now
	if age >= 2*noteLife {
		n.former = nil
	}
}

func uid(o runtime.Object) types.UID {
	if object, err := meta.Accessor(o); err == nil {
		return object.GetUID()
	}
	return ""
}

func resourceVersion(o runtime.Object) string {
	if object, err := meta.Accessor(o); err == nil {
		return object.GetResourceVersion()
	}
	return ""
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/lru"
	ctrlrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/faultline-io/faultline/shared/text"
)

const (
	// maxNoteLength is the maximum length of an event's note, in bytes. The API server rejects a longer one, and client-go does not
	// retry.
	maxNoteLength = 1024
	// truncationSuffix ends a truncated note and refers to the status for the rest.
	truncationSuffix = " ... (the rest is in the status)"
	// remembered is the number of events for which previous notes are kept; client-go keeps its series for a few minutes.
	remembered = 4096
	// maxNotes is the maximum number of events that are kept separate although only their notes differ.
	maxNotes = 100
)

// Recorder returns the event recorder of a controller. It truncates notes that are too long, and keeps events separate if only
// their notes differ: client-go would merge them into one series with the first note. Network errors are normalized so that
// all attempts have the same text and an outage is one event, however often a request is retried.
func Recorder(manager ctrlrecorder.Provider, name string) events.EventRecorder {
	return &recorder{EventRecorder: manager.GetEventRecorder(name), seed: maphash.MakeSeed(), recorded: lru.New(remembered)} //nolint:forbidigo // this is where they are made
}

type recorder struct {
	events.EventRecorder

	seed     maphash.Seed
	mu       sync.Mutex
	recorded *lru.Cache // eventKey -> hashes of the notes recorded for it, in order
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
	if again := r.isRepeated(eventKey{uid(regarding), uid(related), resourceVersion(regarding), kind, reason, action}, note); again > 0 {
		action = fmt.Sprintf("%s-%d", action, again+1)
	}
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text.TruncateWith(note, maxNoteLength, truncationSuffix))
}

// isRepeated returns the number of other notes recorded for the same key before this one.
func (r *recorder) isRepeated(of eventKey, note string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.recorded.Get(of)
	notes, _ := known.([]uint64)
	sum := maphash.String(r.seed, note)
	if at := slices.Index(notes, sum); at >= 0 {
		return at
	}
	if len(notes) < maxNotes {
		r.recorded.Add(of, append(notes, sum))
	}
	return len(notes)
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

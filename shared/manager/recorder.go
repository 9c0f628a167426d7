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
	// longestNote is what an API server takes of an event's note: it refuses a longer one, and client-go does not try again.
	longestNote = 1024
	// cutNote says where the rest is of a note that was too long.
	cutNote = " ... (the rest is in the status)"
	// remembered is of how many events it is remembered what else was told of the same; client-go does so for a few minutes.
	remembered = 4096
	// mostNotes is how many events stay apart of which only the note differs.
	mostNotes = 100
)

// Recorder returns the recorder of a controller. Notes that are too long are cut, and events of which only the note differs stay apart:
// client-go would make them one, which says how often it happened and has the first note. Errors of a network are told in the words that each
// attempt has, so that an outage is one event however often something is tried.
func Recorder(manager ctrlrecorder.Provider, name string) events.EventRecorder {
	return &recorder{EventRecorder: manager.GetEventRecorder(name), seed: maphash.MakeSeed(), told: lru.New(remembered)} //nolint:forbidigo // this is where they are made
}

type recorder struct {
	events.EventRecorder

	seed maphash.Seed
	mu   sync.Mutex
	told *lru.Cache // eventKey -> sums of the notes that were told of it, in their order
}

// eventKey is what client-go knows events by that it makes one of.
type eventKey struct {
	regarding, related   types.UID
	version              string
	kind, reason, action string
}

// Eventf tells of something.
func (r *recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) { //nolint:revive // client-go has so many
	note = text.Steady(fmt.Sprintf(note, args...))
	if again := r.again(eventKey{uid(regarding), uid(related), resourceVersion(regarding), kind, reason, action}, note); again > 0 {
		action = fmt.Sprintf("%s-%d", action, again+1)
	}
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text.CutWith(note, longestNote, cutNote))
}

// again is how many other notes were told of the same before this one.
func (r *recorder) again(of eventKey, note string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.told.Get(of)
	notes, _ := known.([]uint64)
	sum := maphash.String(r.seed, note)
	if at := slices.Index(notes, sum); at >= 0 {
		return at
	}
	if len(notes) < mostNotes {
		r.told.Add(of, append(notes, sum))
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

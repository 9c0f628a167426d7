// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"hash/maphash"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func newNotes() *notes { return &notes{seed: maphash.MakeSeed()} }

func (n *notes) len() int { return len(n.current) + len(n.former) }

func eventOf(object int) eventKey {
	return eventKey{regarding: types.UID(strconv.Itoa(object)), version: "1"}
}

func TestNotesOfDeletedObjectsAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, n, object := NewWithT(t), newNotes(), 0
		for range 180 {
			for range 10 {
				object++
				n.others(eventOf(object), "created")
			}
			time.Sleep(time.Minute) //nolint:forbidigo // The clock of the test.
		}
		g.Expect(n.len()).To(BeNumerically("<=", 2*12*10), "those of the last minutes")
		time.Sleep(2 * noteLife) //nolint:forbidigo // The clock of the test.
		n.others(eventOf(0), "created")
		g.Expect(n.len()).To(Equal(1))
	})
}

func TestNotesAreKeptAsLongAsTheirSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, n := NewWithT(t), newNotes()
		for range 10 {
			g.Expect(n.others(eventOf(1), "no host is free")).To(BeZero())
			g.Expect(n.others(eventOf(1), "no datastore is free")).To(Equal(1))
			time.Sleep(noteLife - time.Second) //nolint:forbidigo // The clock of the test.
			n.others(eventOf(2), "created")
		}
	})
}

func TestNotesAreLimitedDuringAStormOfEvents(t *testing.T) {
	t.Parallel()
	g, n := NewWithT(t), newNotes()
	for object := range 10 * maxEvents {
		n.others(eventOf(object), "created")
	}
	g.Expect(n.len()).To(BeNumerically("<=", 2*maxEvents))
	for note := range 2 * maxNotes {
		g.Expect(n.others(eventOf(0), strconv.Itoa(note))).To(Equal(min(note, maxNotes)))
	}
}

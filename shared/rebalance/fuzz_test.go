// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// A record that was decoded is encoded to one that decodes to the same.
func FuzzRecordOfAMove(f *testing.F) {
	f.Add(`{"machine":"a","uid":"1","to":"b","started":"2026-11-01T12:00:00Z","clonedFrom":"t","others":["b"]}`)
	f.Add(`{"machine":"a","uid":"1","started":null}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		move, err := decode(text)
		if err != nil || move == nil {
			return
		}
		written, err := move.encode()
		if err != nil {
			t.Fatalf("writing %q: %v", text, err)
		}
		again, err := decode(written)
		if err != nil {
			t.Fatalf("reading %q: %v", written, err)
		}
		if rewritten, err := again.encode(); err != nil || rewritten != written || again.Machine != move.Machine || !reflect.DeepEqual(again.UID, move.UID) {
			t.Fatalf("%q became %q: %v", written, rewritten, err)
		}
	})
}

// The value of delete-machine after a Trigger decodes to what was encoded.
func FuzzWoken(f *testing.F) {
	f.Add("2026-11-01T12:00:00Z 3")
	f.Add("2026-11-01T12:00:00+01:00 -1")
	f.Fuzz(func(t *testing.T, text string) {
		first, times := decodeTriggered(text)
		if first.IsZero() {
			return
		}
		again, count := decodeTriggered(strings.TrimPrefix(encodeTriggered(first, times), mark+" "))
		if !again.Equal(first.Truncate(time.Second)) || count != times {
			t.Fatalf("%q was read as %s %d, and that as %s %d", text, first, times, again, count)
		}
	})
}

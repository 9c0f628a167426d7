// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"encoding/json"
	"maps"
	"testing"
	"unicode/utf8"
)

// FuzzWriters parses the annotation of a pool, which users may write.
func FuzzWriters(f *testing.F) {
	f.Add(`{"a":["192.168.1.0","fd00::"],"b":[]}`, "a")
	f.Add(`{"":["",null]}`, "")
	f.Add(`null`, "a")
	f.Add(`{"a":{}}`, "a")
	f.Fuzz(func(t *testing.T, annotation, me string) {
		if !utf8.ValidString(me) { // names of managers are valid UTF-8
			return
		}
		w := readWriters(annotation, nil)
		others := w.others(me)
		if len(others) > 0 && !w.hasOthers(me) {
			t.Fatalf("%q: others have %v open, and there are none", annotation, others)
		}
		next := maps.Clone(w)
		next[me] = others // as the next writer does
		written, err := json.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(readWriters(string(written), nil))
		if err != nil || string(again) != string(written) {
			t.Fatalf("%q became %q, and that %q: %v", annotation, written, again, err)
		}
	})
}

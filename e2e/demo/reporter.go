// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report prints the events of a demo, one line each.
package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// Reporter prints the demo. Its methods may be called from several goroutines.
type Reporter struct {
	out   io.Writer
	began time.Time

	mutex sync.Mutex
	since time.Time
	last  snapshot.Snapshot
}

// New returns a Reporter that prints to out, with times relative to the beginning of the demo.
func New(out io.Writer, began time.Time) *Reporter { return &Reporter{out: out, began: began} }

// Begin begins a step.
func (r *Reporter) Begin(step string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.since = time.Now()
	r.print(step)
}

// Note adds a remark about the step.
func (r *Reporter) Note(text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.print("  " + text)
}

// End ends the step.
func (r *Reporter) End(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	word := "done in "
	if err != nil {
		word = "FAILED after "
	}
	r.print("  " + word + Seconds(time.Since(r.since)))
}

// Show prints the changes in the cluster.
func (r *Reporter) Show(now snapshot.Snapshot) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, change := range snapshot.Changes(r.last, now) {
		r.print("  " + change)
	}
	r.last = now
}

func (r *Reporter) print(text string) {
	_, _ = fmt.Fprintf(r.out, "[%7s] %s\n", Seconds(time.Since(r.began)), text)
}

// Seconds formats a duration in seconds.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

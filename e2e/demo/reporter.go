// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// reporter prints the events of the demo, one line each. Its methods may be called from several goroutines.
type reporter struct {
	out   io.Writer
	began time.Time

	mutex sync.Mutex
	since time.Time
	last  snapshot.Snapshot
}

// begin begins a step.
func (r *reporter) begin(step string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.since = time.Now()
	r.print(step)
}

// note adds a remark about the step.
func (r *reporter) note(text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.print("  " + text)
}

// end ends the step.
func (r *reporter) end(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	word := "done in "
	if err != nil {
		word = "FAILED after "
	}
	r.print("  " + word + seconds(time.Since(r.since)))
}

// show prints the changes in the cluster.
func (r *reporter) show(now snapshot.Snapshot) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, change := range snapshot.Changes(r.last, now) {
		r.print("  " + change)
	}
	r.last = now
}

func (r *reporter) print(text string) {
	_, _ = fmt.Fprintf(r.out, "[%7s] %s\n", seconds(time.Since(r.began)), text)
}

// seconds formats a duration in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

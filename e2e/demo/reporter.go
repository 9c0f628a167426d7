// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reporter tells the demo to whoever looks on. Its methods may be called from
// several goroutines.
type reporter interface {
	// begin a step, end it, and say something about it in between.
	begin(step string)
	note(text string)
	end(err error)
	// show what the cluster looks like now.
	show(Snapshot)
	// close leaves what was told for good. It may be called twice.
	close()
}

func newReporter(options Options, began time.Time) reporter {
	if options.Size == nil {
		return &lines{out: options.Out, began: began}
	}
	return newScreen(options.Out, options.Size, began)
}

// lines is the reporter for files and pipes: a line for everything that happens.
type lines struct {
	out   io.Writer
	began time.Time

	mutex sync.Mutex
	since time.Time
	last  Snapshot
}

func (l *lines) begin(step string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.since = time.Now()
	l.print(step)
}

func (l *lines) note(text string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.print("  " + text)
}

func (l *lines) end(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	word := "done in "
	if err != nil {
		word = "FAILED after "
	}
	l.print("  " + word + seconds(time.Since(l.since)))
}

func (l *lines) show(now Snapshot) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, change := range changes(l.last, now) {
		l.print("  " + change)
	}
	l.last = now
}

func (l *lines) close() {}

func (l *lines) print(text string) {
	_, _ = fmt.Fprintf(l.out, "[%7s] %s\n", seconds(time.Since(l.began)), text)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

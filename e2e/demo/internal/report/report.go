// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report tells of a demo: in lines, or in a frame that changes in place.
package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// Reporter tells the demo to whoever looks on. Its methods may be called from
// several goroutines.
type Reporter interface {
	// Begin a step, end it, and say something about it in between.
	Begin(step string)
	Note(text string)
	End(err error)
	// Show what the cluster looks like now.
	Show(snapshot.Snapshot)
	// Close leaves what was told for good. It may be called twice.
	Close()
}

// New tells it in lines, or, to a terminal whose size is known, in place.
func New(out io.Writer, size func() (columns, rows int), began time.Time) Reporter {
	if size == nil {
		return &lines{out: out, began: began}
	}
	return newScreen(out, size, began)
}

// lines is the reporter for files and pipes: a line for everything that happens.
type lines struct {
	out   io.Writer
	began time.Time

	mutex sync.Mutex
	since time.Time
	last  snapshot.Snapshot
}

func (l *lines) Begin(step string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.since = time.Now()
	l.print(step)
}

func (l *lines) Note(text string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.print("  " + text)
}

func (l *lines) End(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	word := "done in "
	if err != nil {
		word = "FAILED after "
	}
	l.print("  " + word + Seconds(time.Since(l.since)))
}

func (l *lines) Show(now snapshot.Snapshot) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, change := range snapshot.Changes(l.last, now) {
		l.print("  " + change)
	}
	l.last = now
}

func (l *lines) Close() {}

func (l *lines) print(text string) {
	_, _ = fmt.Fprintf(l.out, "[%7s] %s\n", Seconds(time.Since(l.began)), text)
}

// Seconds is a time in words.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// refreshEvery keeps clocks running.
	refreshEvery = 250 * time.Millisecond

	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Frame renders what is to be shown at a moment, in lines of at most that many columns.
type Frame func(now time.Time, columns int) []string

// Writer writes a frame to a terminal again and again.
type Writer struct {
	out   io.Writer
	size  func() (columns, rows int)
	frame Frame

	mutex   sync.Mutex
	last    []string // as it was rendered, before its top was cut
	written int
	closed  chan struct{}
	once    sync.Once
}

// NewWriter writes a frame until Close. The frame is rendered by one goroutine at a time, and not while Change changes something.
func NewWriter(out io.Writer, size func() (columns, rows int), frame Frame) *Writer {
	w := &Writer{out: out, size: size, frame: frame, closed: make(chan struct{})}
	_, _ = io.WriteString(out, hideCursor)
	go w.run()
	return w
}

func (w *Writer) run() {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.closed:
			return
		case <-tick.C:
			w.Change(func() {})
		}
	}
}

// Change changes what the frame shows and writes it, unless the writer is closed.
func (w *Writer) Change(how func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	how()
	select {
	case <-w.closed:
	default:
		w.write()
	}
}

// write replaces the frame on the terminal. One that is too high loses its top,
// as what moves is below.
func (w *Writer) write() {
	columns, rows := w.size()
	lines := w.frame(time.Now(), columns)
	if slices.Equal(lines, w.last) {
		return
	}
	w.last = lines
	if rows > 1 && len(lines) > rows-1 {
		lines = lines[len(lines)-rows+1:]
	}
	var text strings.Builder
	if w.written > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", w.written)
	}
	for _, line := range lines {
		text.WriteString("\r" + line + clearLine + "\n")
	}
	text.WriteString(clearBelow)
	w.written = len(lines)
	_, _ = io.WriteString(w.out, text.String())
}

// Close leaves the last frame on the terminal. It may be called twice.
func (w *Writer) Close() {
	w.once.Do(func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.write()
		close(w.closed)
		_, _ = io.WriteString(w.out, showCursor)
	})
}

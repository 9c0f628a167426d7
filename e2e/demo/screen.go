// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// repaintEvery keeps the clocks on the screen running.
	repaintEvery = 250 * time.Millisecond
	// notesShown are the latest of the step that runs.
	notesShown = 8

	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// screen is the reporter for terminals: one picture that is painted anew in place.
type screen struct {
	out  io.Writer
	size func() (columns, rows int)

	mutex   sync.Mutex
	picture picture
	last    []string // as it was painted, before its top was cut
	painted int
	closed  chan struct{}
	once    sync.Once
}

func newScreen(out io.Writer, size func() (columns, rows int), began time.Time) *screen {
	s := &screen{out: out, size: size, picture: picture{began: began}, closed: make(chan struct{})}
	_, _ = io.WriteString(out, hideCursor)
	go s.run()
	return s
}

func (s *screen) run() {
	tick := time.NewTicker(repaintEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-tick.C:
			s.change(func(*picture) {})
		}
	}
}

// change changes the picture and paints it.
func (s *screen) change(how func(*picture)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	how(&s.picture)
	select {
	case <-s.closed:
	default:
		s.paint()
	}
}

// paint replaces the picture on the terminal. One that is too high loses its top,
// as what moves is below.
func (s *screen) paint() {
	columns, rows := s.size()
	painting := s.picture.paint(time.Now(), columns)
	if slices.Equal(painting, s.last) {
		return
	}
	s.last = painting
	if rows > 1 && len(painting) > rows-1 {
		painting = painting[len(painting)-rows+1:]
	}
	var text strings.Builder
	if s.painted > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", s.painted)
	}
	for _, line := range painting {
		text.WriteString("\r" + line + clearLine + "\n")
	}
	text.WriteString(clearBelow)
	s.painted = len(painting)
	_, _ = io.WriteString(s.out, text.String())
}

func (s *screen) begin(name string) {
	s.change(func(p *picture) { p.steps = append(p.steps, painted{name: name, began: time.Now()}) })
}

func (s *screen) note(text string) {
	s.change(func(p *picture) { p.latest().notes = append(p.latest().notes, text) })
}

func (s *screen) end(err error) {
	s.change(func(p *picture) {
		p.latest().took, p.latest().ended, p.latest().failed = time.Since(p.latest().began), true, err != nil
	})
}

func (s *screen) show(now Snapshot) { s.change(func(p *picture) { p.now = now }) }

func (s *screen) close() {
	s.once.Do(func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.paint()
		close(s.closed)
		_, _ = io.WriteString(s.out, showCursor)
	})
}

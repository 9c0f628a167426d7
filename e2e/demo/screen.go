// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"io"
	"time"

	"github.com/faultline-io/faultline/e2e/terminal"
)

// screen is the reporter for terminals: one frame that changes in place.
type screen struct {
	*terminal.Writer

	frame *frame
}

func newScreen(out io.Writer, size func() (columns, rows int), began time.Time) *screen {
	f := &frame{began: began}
	return &screen{frame: f, Writer: terminal.NewWriter(out, size, f.render)}
}

func (s *screen) begin(name string) {
	s.Change(func() { s.frame.steps = append(s.frame.steps, shownStep{name: name, began: time.Now()}) })
}

func (s *screen) note(text string) {
	s.Change(func() { s.frame.latest().notes = append(s.frame.latest().notes, text) })
}

func (s *screen) end(err error) {
	s.Change(func() {
		latest := s.frame.latest()
		latest.took, latest.ended, latest.failed = time.Since(latest.began), true, err != nil
	})
}

func (s *screen) show(now Snapshot) { s.Change(func() { s.frame.now = now }) }

func (s *screen) close() { s.Close() }

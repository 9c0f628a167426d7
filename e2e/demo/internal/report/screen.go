// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

// screen is the reporter for terminals: one frame that changes in place.
type screen struct {
	*Writer

	frame *frame
}

func newScreen(out io.Writer, size func() (columns, rows int), began time.Time) *screen {
	f := &frame{began: began}
	return &screen{frame: f, Writer: NewWriter(out, size, f.render)}
}

func (s *screen) Begin(name string) {
	s.Change(func() { s.frame.steps = append(s.frame.steps, shownStep{name: name, began: time.Now()}) })
}

func (s *screen) Note(text string) {
	s.Change(func() { s.frame.latest().notes = append(s.frame.latest().notes, text) })
}

func (s *screen) End(err error) {
	s.Change(func() {
		latest := s.frame.latest()
		latest.took, latest.ended, latest.failed = time.Since(latest.began), true, err != nil
	})
}

func (s *screen) Show(now snapshot.Snapshot) { s.Change(func() { s.frame.now = now }) }

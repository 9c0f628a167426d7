// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
)

const (
	narrowest = 60
	// notesShown are the latest of the step that runs.
	notesShown = 8
)

// frame is what is shown: the steps so far and, below, the domains as
// columns with the machines in them.
type frame struct {
	began time.Time
	steps []shownStep
	now   snapshot.Snapshot
}

// shownStep is a step as it is shown.
type shownStep struct {
	name          string
	began         time.Time
	took          time.Duration
	notes         []string
	ended, failed bool
}

// latest is the step that runs; notes before the first one are for nobody.
func (f *frame) latest() *shownStep {
	if len(f.steps) == 0 {
		return &shownStep{}
	}
	return &f.steps[len(f.steps)-1]
}

// render draws the frame in lines of at most that many columns.
func (f *frame) render(now time.Time, columns int) []string {
	columns = max(columns, narrowest)
	list := []string{Color(Bold, Ends("Faultline demo", Clock(now.Sub(f.began)), columns)), ""}
	for i := range f.steps {
		list = append(list, f.steps[i].render(now, columns, i == len(f.steps)-1)...)
	}
	if len(f.now.Domains) == 0 {
		return list
	}
	return append(append(list, ""), f.domains(columns)...)
}

func (s *shownStep) render(now time.Time, columns int, latest bool) []string {
	mark, shade, took := "▸", Yellow, Clock(now.Sub(s.began))
	switch {
	case s.failed:
		mark, shade, took = "✗", Red, Seconds(s.took)
	case s.ended:
		mark, shade, took = "✓", Green, Seconds(s.took)
	}
	list := []string{Color(shade, Ends(mark+" "+s.name, took, columns))}
	if !latest {
		return list
	}
	for _, note := range s.notes[max(0, len(s.notes)-notesShown):] {
		list = append(list, Color(Faint, Cut("    "+note, columns)))
	}
	return list
}

// domains draws a column for each domain, and below them the machines that are
// in none.
func (f *frame) domains(columns int) []string {
	width := columns/len(f.now.Domains) - 1
	cells := make([][]string, len(f.now.Domains))
	for i, domain := range f.now.Domains {
		cells[i] = append(cells[i], Color(Bold, Fit(domain.Name, width)), domainLine(domain, width), Color(Faint, strings.Repeat("─", width)))
		for _, m := range f.now.Machines {
			if m.Domain == domain.Name {
				cells[i] = append(cells[i], machineLines(m, width)...)
			}
		}
	}
	list := Beside(cells, width)
	for _, m := range f.now.Machines {
		if m.Domain == "" {
			list = append(list, Color(Yellow, Cut("· "+m.Name+": "+m.Words(), columns)))
		}
	}
	return list
}

func domainLine(d snapshot.Domain, width int) string {
	shade := Red
	if d.ControlPlane {
		shade = Green
	}
	if d.State == "" {
		shade = Faint
	}
	return Color(shade, Fit(d.Words(), width))
}

func machineLines(m snapshot.Machine, width int) []string {
	shade := Yellow
	switch {
	case m.Deleting || m.Role == "":
		shade = Red
	case m.Ready:
		shade = Green
	}
	return []string{
		Color(shade, Fit("● "+m.Name, width)),
		Color(Faint, Fit("  "+strings.TrimPrefix(m.Role+", "+m.State(), ", "), width)),
	}
}

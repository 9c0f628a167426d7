// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	green  = "32"
	yellow = "33"
	red    = "31"
	bold   = "1"
	faint  = "2"

	narrowest = 60
)

// picture is what is on the screen: the steps so far and, below, the domains as
// columns with the machines in them.
type picture struct {
	began time.Time
	steps []painted
	now   Snapshot
}

// painted is a step on the screen.
type painted struct {
	name          string
	began         time.Time
	took          time.Duration
	notes         []string
	ended, failed bool
}

// latest is the step that runs; notes before the first one are for nobody.
func (p *picture) latest() *painted {
	if len(p.steps) == 0 {
		return &painted{}
	}
	return &p.steps[len(p.steps)-1]
}

// paint draws the picture in lines of at most that many columns.
func (p *picture) paint(now time.Time, columns int) []string {
	columns = max(columns, narrowest)
	list := []string{color(bold, ends("Faultline demo", clock(now.Sub(p.began)), columns)), ""}
	for i := range p.steps {
		list = append(list, p.steps[i].paint(now, columns, i == len(p.steps)-1)...)
	}
	if len(p.now.Domains) == 0 {
		return list
	}
	return append(append(list, ""), p.domains(columns)...)
}

func (s *painted) paint(now time.Time, columns int, latest bool) []string {
	mark, shade, took := "▸", yellow, clock(now.Sub(s.began))
	switch {
	case s.failed:
		mark, shade, took = "✗", red, seconds(s.took)
	case s.ended:
		mark, shade, took = "✓", green, seconds(s.took)
	}
	list := []string{color(shade, ends(mark+" "+s.name, took, columns))}
	if !latest {
		return list
	}
	for _, note := range s.notes[max(0, len(s.notes)-notesShown):] {
		list = append(list, color(faint, cut("    "+note, columns)))
	}
	return list
}

// domains draws a column for each domain, and below them the machines that are
// in none.
func (p *picture) domains(columns int) []string {
	width := columns/len(p.now.Domains) - 1
	cells := make([][]string, len(p.now.Domains))
	for i, domain := range p.now.Domains {
		cells[i] = append(cells[i], color(bold, fit(domain.Name, width)), domain.paint(width), color(faint, strings.Repeat("─", width)))
		for _, m := range p.now.Machines {
			if m.Domain == domain.Name {
				cells[i] = append(cells[i], m.paint(width)...)
			}
		}
	}
	list := beside(cells, width)
	for _, m := range p.now.Machines {
		if m.Domain == "" {
			list = append(list, color(yellow, cut("· "+m.Name+": "+m.words(), columns)))
		}
	}
	return list
}

func (d Domain) paint(width int) string {
	shade := red
	if d.ControlPlane {
		shade = green
	}
	if d.State == "" {
		shade = faint
	}
	return color(shade, fit(d.words(), width))
}

func (m Machine) paint(width int) []string {
	shade := yellow
	switch {
	case m.Deleting || m.Role == "":
		shade = red
	case m.Ready:
		shade = green
	}
	return []string{
		color(shade, fit("● "+m.Name, width)),
		color(faint, fit("  "+strings.TrimPrefix(m.Role+", "+m.state(), ", "), width)),
	}
}

// beside puts columns beside each other.
func beside(columns [][]string, width int) []string {
	height := 0
	for _, column := range columns {
		height = max(height, len(column))
	}
	list := make([]string, height)
	for row := range list {
		cells := make([]string, len(columns))
		for i, column := range columns {
			cells[i] = strings.Repeat(" ", width)
			if row < len(column) {
				cells[i] = column[row]
			}
		}
		list[row] = strings.TrimRight(strings.Join(cells, " "), " ")
	}
	return list
}

// ends puts one text at each end of a line.
func ends(left, right string, columns int) string {
	return fit(left, columns-utf8.RuneCountInString(right)-1) + " " + right
}

// fit makes a text exactly that wide, cut one at most that wide.
func fit(text string, width int) string {
	text = cut(text, width)
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}

func color(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }

func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

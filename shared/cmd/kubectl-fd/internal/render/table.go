// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render shows reports to people: as text, in a terminal with colours, and as a picture. Pure: what it writes depends on
// what it is given and on nothing else.
package render

import (
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Style is what the place can show to which text is written.
type Style struct {
	// Width is that of the terminal; 0 when there is none, and then no line is cut.
	Width int
	// Colour says whether colours are shown.
	Colour bool
	// Now is the time of which ages are told.
	Now time.Time
}

// colour is a number of ECMA-48; 0 is none.
type colour string

const (
	green   colour = "32"
	yellow  colour = "33"
	red     colour = "31"
	magenta colour = "35"
	bold    colour = "1"
	faint   colour = "2"
)

// span is text in one colour.
type span struct {
	text string
	in   colour
}

func plain(text string) []span { return []span{{text: text}} }

// cell is what is in one column of a row.
type cell []span

func (c cell) width() int {
	width := 0
	for _, s := range c {
		width += utf8.RuneCountInString(s.text)
	}
	return width
}

// row is a line of cells, which are aligned with those of other rows.
type row []cell

// table aligns rows. A row of one cell, such as a note below others, widens no column.
type table struct {
	style Style
	rows  []row
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// gap is between two columns.
const gap = 2

func (t *table) write(w io.Writer) error {
	widths := t.widths()
	var text strings.Builder
	for _, row := range t.rows {
		text.WriteString(t.line(row, widths))
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (t *table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		if len(row) < 2 {
			continue
		}
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cell.width())
		}
	}
	return widths
}

// line is a row without spaces at its end, cut at the width of the terminal.
func (t *table) line(r row, widths []int) string {
	last := len(r) - 1
	for last > 0 && r[last].width() == 0 {
		last--
	}
	var spans []span
	for i, cell := range r[:last+1] {
		spans = append(spans, cell...)
		if i < last {
			spans = append(spans, span{text: strings.Repeat(" ", widths[i]-cell.width()+gap)})
		}
	}
	return t.style.paint(cut(spans, t.style.Width))
}

// cut ends a line that is too long with an ellipsis.
func cut(spans []span, width int) []span {
	if width <= 0 || cell(spans).width() <= width {
		return spans
	}
	var fitting []span
	for _, s := range spans {
		if length := utf8.RuneCountInString(s.text); length < width {
			fitting, width = append(fitting, s), width-length
			continue
		}
		return append(fitting, span{text: string([]rune(s.text)[:width-1]) + "…", in: s.in})
	}
	return fitting
}

func (s Style) paint(spans []span) string {
	var text strings.Builder
	for _, part := range spans {
		if s.Colour && part.in != "" && part.text != "" {
			text.WriteString("\x1b[" + string(part.in) + "m" + part.text + "\x1b[0m")
			continue
		}
		text.WriteString(part.text)
	}
	return text.String()
}

// ago is for how long something has been so, "" when that is not known.
func (s Style) ago(since metav1.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(s.Now.Sub(since.Time))
}

func stateColour(state faultlinev1.DomainState) colour {
	switch state {
	case faultlinev1.DomainActive:
		return green
	case faultlinev1.DomainCordoned:
		return yellow
	case faultlinev1.DomainEvicting:
		return red
	}
	return magenta
}

// oneLine makes text of several lines one.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

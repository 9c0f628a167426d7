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
		for _, line := range t.lines(row, widths) {
			text.WriteString(t.style.paint(line) + "\n")
		}
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

// indent is that of what does not fit into a line, and least what is left of a line at least for text to go on in its column.
const (
	indent = 4
	least  = 30
)

// lines is a row without spaces at its end. What does not fit into the terminal goes on below.
func (t *table) lines(r row, widths []int) [][]span {
	last := len(r) - 1
	for last > 0 && r[last].width() == 0 {
		last--
	}
	var line []span
	for i, cell := range r[:last] {
		line = append(append(line, cell...), span{text: strings.Repeat(" ", widths[i]-cell.width()+gap)})
	}
	at := cell(line).width()
	if t.style.Width <= 0 || at+r[last].width() <= t.style.Width {
		return [][]span{append(line, r[last]...)}
	}
	if t.style.Width-at < least || last == 0 {
		at = indent
	}
	return t.wrap(line, r[last], at)
}

// wrap adds words to a line, and goes on in further lines from a column on.
func (t *table) wrap(line []span, text cell, at int) [][]span {
	var lines [][]span
	width, fresh := cell(line).width(), true
	for _, part := range text {
		for _, word := range strings.SplitAfter(part.text, " ") {
			length := utf8.RuneCountInString(strings.TrimSuffix(word, " "))
			if width+length > t.style.Width && (!fresh || width > at) {
				lines = append(lines, line)
				line, width = []span{trunk(lines[0], at)}, at
			}
			line, width, fresh = append(line, span{word, part.in}), width+utf8.RuneCountInString(word), false
		}
	}
	return append(lines, line)
}

// trunk is what stands before text that goes on below a line: the tree goes on, too.
func trunk(line []span, width int) span {
	if strings.HasPrefix(line[0].text, "├") {
		return span{text: "│" + strings.Repeat(" ", width-1), in: line[0].in}
	}
	return span{text: strings.Repeat(" ", width)}
}

func (s Style) paint(spans []span) string {
	var text strings.Builder
	for i, part := range spans {
		if i == len(spans)-1 {
			part.text = strings.TrimRight(part.text, " ")
		}
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
func oneLine(text string) string {
	var line string
	for part := range strings.Lines(text) {
		switch part = strings.Join(strings.Fields(part), " "); {
		case part == "":
		case line == "":
			line = part
		case strings.HasSuffix(line, ":"):
			line += " " + part
		default:
			line += "; " + part
		}
	}
	return line
}

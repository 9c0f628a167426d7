// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render prints reports: as text, in a terminal with colours, and as a picture. It is pure: the output only depends on
// its arguments.
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

// Style describes the capabilities of the output.
type Style struct {
	// Width is the width of the terminal in columns; 0 if the output is not a terminal, and then lines are not wrapped.
	Width int
	// Colour enables colours.
	Colour bool
	// NoHeaders omits the headers of the columns.
	NoHeaders bool
	// Now is the time from which ages are computed.
	Now time.Time
}

// colour is a parameter of the ECMA-48 escape sequence; "" means no colour.
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

// cell is the content of one column in a row.
type cell []span

func (c cell) width() int {
	width := 0
	for _, s := range c {
		width += utf8.RuneCountInString(s.text)
	}
	return width
}

// row is a line of cells that are aligned with those of other rows.
type row []cell

// table aligns rows. A row with one cell, such as a note below others, does not affect the column widths.
type table struct {
	style Style
	rows  []row
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// gap is the space between two columns.
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

// indent is the indentation of wrapped text, and least the minimum remaining width for text to wrap within its column.
const (
	indent = 4
	least  = 30
)

// lines returns a row without trailing spaces. Text that does not fit into the terminal is wrapped.
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

// wrap appends words to a line, and continues in further lines at a column.
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

// trunk returns the prefix of a wrapped line, which continues the lines of the tree.
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

// ago returns how long a state has lasted, "" if that is unknown.
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

// oneLine converts text with several lines to one line.
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

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Colors of text.
const (
	Green  = "32"
	Yellow = "33"
	Red    = "31"
	Bold   = "1"
	Faint  = "2"
)

// Beside puts columns beside each other.
func Beside(columns [][]string, width int) []string {
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

// Ends puts one text at each end of a line.
func Ends(left, right string, columns int) string {
	return Fit(left, columns-utf8.RuneCountInString(right)-1) + " " + right
}

// Fit makes a text exactly that wide.
func Fit(text string, width int) string {
	text = Cut(text, width)
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// Cut makes a text at most that wide.
func Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-1)]) + "…"
}

// Color colors a text.
func Color(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }

// Clock words a duration as minutes and seconds.
func Clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

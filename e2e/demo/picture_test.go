// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// The terminal of a recording, in characters, and how much faster than the demo it is.
const (
	recordedColumns = 96
	recordedRows    = 30
	recordedSpeed   = 5
	// recordedPause is how long the last frame is shown, in seconds.
	recordedPause = 6
)

// row is a line of the terminal with its attributes, and when the demo printed it, in seconds.
type row struct {
	text, attributes string
	at               float64
}

// recording returns the output of a demo as an animated picture of a terminal, in SVG. Viewers without animations show its end.
func recording(output string) (string, error) {
	rows := terminal(output)
	if len(rows) == 0 || rows[len(rows)-1].at == 0 {
		return "", errors.New("the output has no lines with times, such as \"[ 15.2 s] Apply the templates\": pass the whole output of a demo")
	}
	const lineHeight, width = 17, recordedColumns*8 + 24
	var body, scroll, cover strings.Builder
	for i, one := range rows {
		if one.text != "" {
			fmt.Fprintf(&body, "<text x=\"12\" y=\"%d\"%s>%s</text>\n", (i+1)*lineHeight, one.attributes, html.EscapeString(one.text))
		}
	}
	shift := func(printed int) int { return min(recordedRows-printed, 0) * lineHeight }
	end := rows[len(rows)-1].at
	length := end/recordedSpeed + recordedPause
	for i, one := range rows {
		if i+1 == len(rows) || rows[i+1].at != one.at {
			at := 100 * one.at / recordedSpeed / length
			fmt.Fprintf(&scroll, "%.2f%%{transform:translateY(%dpx)}", at, shift(i+1))
			fmt.Fprintf(&cover, "%.2f%%{transform:translateY(%dpx)}", at, min(i+1, recordedRows)*lineHeight)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="Output of make demo, %[3]d times as fast">
<style>
text{font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d0d7de;white-space:pre}
.step{fill:#fff;font-weight:bold}.good{fill:#56d364}.bad{fill:#ff7b72}
#rows{transform:translateY(%[4]dpx);animation:scroll %.1[5]fs step-end infinite}
#cover{transform:translateY(%[2]dpx);animation:cover %.1[5]fs step-end infinite}
@keyframes scroll{%[6]s100%%{transform:translateY(%[4]dpx)}}
@keyframes cover{%[7]s100%%{transform:translateY(%[2]dpx)}}
@media (prefers-reduced-motion:reduce){#rows,#cover{animation:none}}
</style>
<clipPath id="screen"><rect width="%[1]d" height="%[2]d" rx="8"/></clipPath>
<g clip-path="url(#screen)"><rect width="%[1]d" height="%[2]d" fill="#0d1117"/>
<g id="rows">
%[8]s</g>
<rect id="cover" y="5" width="%[1]d" height="%[2]d" fill="#0d1117"/></g>
</svg>
`, width, recordedRows*lineHeight+5, recordedSpeed, shift(len(rows)), length, scroll.String(), cover.String(), body.String()), nil
}

// terminal returns the lines as a terminal wraps them. A line without a time was printed with the one before it.
func terminal(output string) []row {
	var rows []row
	at := 0.0
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if stamp := regexp.MustCompile(`^\[ *([0-9.]+) s\]`).FindStringSubmatch(line); stamp != nil {
			at, _ = strconv.ParseFloat(stamp[1], 64)
		}
		attributes := colour(line)
		for len(line) > recordedColumns {
			rows = append(rows, row{line[:recordedColumns], attributes, at})
			line = line[recordedColumns:]
		}
		rows = append(rows, row{line, attributes, at})
	}
	return rows
}

// colour returns the attribute that colours a line.
func colour(line string) string {
	for _, one := range []struct{ class, pattern string }{
		{"bad", `Cordoned|removed |Ready=False|deleted Machine`},
		{"good", `: Active|Ready=True|restored |shows its replacement|, Ready,|nothing is left|none of its machines`},
		{"step", `^\[ *[0-9.]+ s\] \S|^[^\s\[]`},
	} {
		if regexp.MustCompile(one.pattern).MatchString(line) {
			return ` class="` + one.class + `"`
		}
	}
	return ""
}

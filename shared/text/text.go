// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text fits messages to where they are stored and quoted, and keeps those of an outage the same for each attempt. It writes what users gave
// as YAML.
package text

import "strings"

const dots = "..."

// Cut has a text of no more than so many bytes, at least those of the dots that say that something is missing. No letter is cut in two.
func Cut(text string, most int) string { return CutWith(text, most, dots) }

// CutWith is Cut with other words for what is missing.
func CutWith(text string, most int, missing string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(missing)], "") + missing
}

// InLine returns a message of a summarized condition, which has a bullet and a line for each condition, as one line that can be quoted in a
// sentence: "* A: x\n* B: y" is "A: x; B: y". A message without bullets keeps its words.
func InLine(message string) string {
	line := ""
	for part := range strings.Lines(message) {
		part = strings.TrimPrefix(strings.TrimSpace(part), "* ")
		switch {
		case part == "":
			continue
		case line == "":
		case strings.HasSuffix(line, ":"):
			line += " "
		default:
			line += "; "
		}
		line += part
	}
	return line
}

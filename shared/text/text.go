// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text truncates messages for fields with a maximum length, formats them for quoting, and normalizes the messages of
// repeated attempts. It also writes user-provided values as YAML.
package text

import "strings"

const dots = "..."

// Truncate truncates text to at most most bytes on a character boundary and ends it in "...". most must be at least the length of the
// dots.
func Truncate(text string, most int) string { return TruncateWith(text, most, dots) }

// TruncateWith is Truncate with another ending.
func TruncateWith(text string, most int, missing string) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(missing)], "") + missing
}

// SingleLine converts the message of a summarized condition, which has a line with a bullet for each condition, to one line that can
// be quoted in a sentence: "* A: x\n* B: y" becomes "A: x; B: y". The words of a message without bullets are not changed.
func SingleLine(message string) string {
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

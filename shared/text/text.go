// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text keeps what is said within the limits of who stores it. Standard library only.
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

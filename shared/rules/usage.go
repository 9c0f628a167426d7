// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
)

// namesShown is how many names a message has at most.
const namesShown = 3

// InUseBy says which objects of a kind are in the way, as the beginning of a sentence.
func InUseBy(kind string, names []string) string {
	if len(names) == 1 {
		return kind + " " + names[0] + " is"
	}
	return fmt.Sprintf("%d %ss (%s) are", len(names), kind, Abbreviated(names))
}

// Abbreviated joins names, and leaves out what is too much to read.
func Abbreviated(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), len(names)-namesShown)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
)

// namesShown is the maximum number of names in a message.
const namesShown = 3

// InUseBy returns the start of a message that names the objects of a kind that use something.
func InUseBy(kind string, names []string) string {
	if len(names) == 1 {
		return kind + " " + names[0] + " is"
	}
	return fmt.Sprintf("%d %ss (%s) are", len(names), kind, Abbreviated(names))
}

// Abbreviated joins names, and omits all but the first if there are too many for a message.
func Abbreviated(names []string) string {
	if len(names) <= namesShown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namesShown], ", "), len(names)-namesShown)
}

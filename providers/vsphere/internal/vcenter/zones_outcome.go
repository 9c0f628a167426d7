// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Outcome is what came of what was to be done for a zone.
type Outcome struct {
	// Running says that it is not over: Options.Done is told of its end.
	Running bool
	// Failed has the errors, by item.
	Failed map[inventory.ConfiguredItem]error
	// NotOurs is what is not to be on record as made: somebody else was faster, or it was never tried.
	NotOurs map[inventory.ConfiguredItem]bool
	// Kept is what is left where it is although it was to be removed, and why: it is used by others.
	Kept map[inventory.ConfiguredItem]string
	// InUse is what cannot be removed yet, and why.
	InUse map[inventory.ConfiguredItem]string
}

// Err returns the errors as one, in the order of the items.
func (o Outcome) Err() error {
	items := slices.SortedFunc(maps.Keys(o.Failed), inventory.CompareConfigured)
	var all []error
	for _, item := range items {
		all = append(all, o.Failed[item])
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &severalErrors{all}
}

// severalErrors are told in one line: they are shown in a condition.
type severalErrors struct{ all []error }

func (e *severalErrors) Error() string {
	const most = 6 // a rack may have a hundred hosts
	var texts []string
	for _, err := range e.all[:min(most, len(e.all))] {
		texts = append(texts, err.Error())
	}
	if len(e.all) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(e.all)-most))
	}
	return strings.Join(texts, "; ")
}

func (e *severalErrors) Unwrap() []error { return e.all }

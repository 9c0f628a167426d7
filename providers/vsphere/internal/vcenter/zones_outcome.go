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

// Outcome holds the result of work for a zone.
type Outcome struct {
	// Running is true until the work has finished; then Options.Done is called.
	Running bool
	// Failed holds the errors by item.
	Failed map[inventory.ConfiguredItem]error
	// NotOurs holds the items that must not be recorded as created: another client created them first, or they were never
	// tried.
	NotOurs map[inventory.ConfiguredItem]bool
	// Kept holds the items that should have been removed but are used by others, with the reason.
	Kept map[inventory.ConfiguredItem]string
	// InUse holds the items that cannot be removed yet, with the reason.
	InUse map[inventory.ConfiguredItem]string
}

// Err returns all errors as one, in the order of the items.
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

// severalErrors formats errors in a single line for a condition.
type severalErrors struct{ all []error }

func (e *severalErrors) Error() string {
	const most = 6 // a rack can have a hundred hosts
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

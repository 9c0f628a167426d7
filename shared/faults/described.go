// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// tester is a testing.T. Simulators are programs and must not link package testing.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
}

// Described checks that each fault has a unique name, an implementation, and a row in the README.md in the folder of the test
// that describes it and the rule that it breaks.
func Described[S, O, T any](t tester, all []Fault[S, O, T]) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Errorf("reading the described faults: %v", err)
	}
	rows := strings.Split(string(readme), "\n")
	named := map[string]bool{}
	for _, fault := range all {
		if named[fault.Name] {
			t.Errorf("two faults have the name %q", fault.Name)
		}
		named[fault.Name] = true
		if fault.Set == nil && fault.Options == nil {
			t.Errorf("fault %s does nothing", fault.Name)
		}
		if fault.Is == "" || fault.Breaks == "" {
			t.Errorf("fault %s does not describe its effect, or the rule that it breaks", fault.Name)
		}
		if row := fmt.Sprintf("| `%s` | %s | %s |", fault.Usage(), fault.Is, fault.Breaks); !slices.Contains(rows, row) {
			t.Errorf("README.md lacks the row %s", row)
		}
	}
}

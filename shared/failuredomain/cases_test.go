// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"testing"
)

// Cases from other systems and from Faultline's design. Those in testdata apply to the rules of this package; a larger collection
// may exist next to the repository.
const (
	ownCases       = "testdata/placement.jsonl"
	collectedCases = "../../../shared/cases/placement.jsonl"
)

// placementCase is one case. Its fields, and the types of machines and expect, depend on its kind.
type placementCase struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Domains  []string        `json:"domains"`
	Evict    []string        `json:"evict"`
	Replicas int             `json:"replicas"`
	Machines json.RawMessage `json:"machines"`
	Deleting []int           `json:"deleting"`
	All      []namedMachine  `json:"all_machines"`
	Priority []namedMachine  `json:"priority_machines"`
	AnyOf    []string        `json:"expect_any_of"`
	Moves    []struct {
		From, To string
	} `json:"moves"`
	Processes int             `json:"desired_processes"`
	Count     int             `json:"desired_domains"`
	Current   map[string]int  `json:"current"`
	Base      map[string]any  `json:"base"`
	Expect    json.RawMessage `json:"expect"`
}

type namedMachine struct {
	Name     string `json:"name"`
	FD       string `json:"fd"`
	Deleting bool   `json:"deleting"`
}

// kinds maps every kind of case to its check, or to the reason for which it does not apply.
var kinds = map[string]struct {
	check  func(*testing.T, placementCase)
	except string
}{
	// CPMS maps machine indexes to domains. This package has no indexes, so only the domains that gain and lose a machine are
	// compared.
	"cpms.index-map": {check: checkIndexMap},
	"cpms.base-map":  {check: checkBaseMap},
	"cpms.reconcile": {check: checkReconcile},
	// KCP picks a domain to add to or to remove from.
	"capi.pick-fewest": {check: checkPickFewest},
	"capi.pick-most":   {check: checkPickMost},
	"fdb.binpack":      {check: checkBinPack},
	"ours.plan":        {check: checkPlan},

	"fdb.choose-distributed":        {except: "chooses which of many processes serve as coordinators: nothing is placed"},
	"fdb.choose-distributed.counts": {except: "as fdb.choose-distributed"},
}

// exceptions lists cases that do not apply although their kind does.
var exceptions = map[string]string{
	"cpms-map-000":  "no domains is an error there and an empty plan here",
	"cpms-map-024":  "more machines than replicas: we move nothing while scaling",
	"cpms-map-026":  "more machines than replicas: we move nothing while scaling",
	"cpms-map-028":  "an error of the index map; the same situation is an ordinary one here",
	"cpms-base-029": "no replicas is an error there and an ordinary number here",
	"cpms-base-045": "an error of the index map; the same situation is an ordinary one here",
	"cpms-rec-054":  "gives a deleting machine's index to another domain: we move nothing while a machine is deleting",
}

// why returns why a case does not apply, "" if it does.
func why(c placementCase) string {
	if reason := exceptions[c.ID]; reason != "" {
		return reason
	}
	if c.Kind == "capi.pick-fewest" || c.Kind == "capi.pick-most" {
		switch {
		case !slices.Equal(c.All, c.Priority):
			return "prefers machines that a rollout has or has not reached: rollouts are KCP's"
		case c.Kind == "capi.pick-most" && len(c.Domains) == 0:
			return "chooses a domain of none; Victim chooses a machine, and there are some"
		}
	}
	return kinds[c.Kind].except
}

func TestPlacementCases(t *testing.T) {
	t.Parallel()
	cases := readCases(t, ownCases)
	seen := map[string]bool{}
	for _, c := range cases {
		if reason := why(c); reason != "" {
			t.Errorf("%s has %s, which does not apply: %s", ownCases, c.ID, reason)
		}
		seen[c.Kind] = true
	}
	for kind, rule := range kinds {
		if applies := rule.except == ""; seen[kind] != applies {
			t.Errorf("%s has cases of kind %s: %t, want %t", ownCases, kind, seen[kind], applies)
		}
	}
	runCases(t, cases)
}

func TestPlacementCasesOfCollection(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(collectedCases); errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s is not there: the copy in testdata is what is tested", collectedCases)
		return
	}
	runCases(t, readCases(t, collectedCases))
}

func runCases(t *testing.T, cases []placementCase) {
	t.Helper()
	for _, c := range cases {
		rule, known := kinds[c.Kind]
		if !known {
			t.Errorf("%s is of the unknown kind %q: check it, or say why it does not apply", c.ID, c.Kind)
			continue
		}
		if why(c) != "" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) { rule.check(t, c) })
	}
}

func readCases(t *testing.T, path string) []placementCase {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []placementCase
	for line := range bytes.Lines(content) {
		var c placementCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		cases = append(cases, c)
	}
	return cases
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return value
}

// multiset returns the counts without names.
func multiset(counts map[string]int) []int { return slices.Sorted(maps.Values(counts)) }

// countValues counts how often each value occurs.
func countValues(of map[string]string) map[string]int {
	counts := map[string]int{}
	for value := range maps.Values(of) {
		counts[value]++
	}
	return counts
}

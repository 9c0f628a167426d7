// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vulncheck looks for known vulnerabilities in the code of programs that are built from the repository.
package vulncheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Allowed is a vulnerability that programs may have temporarily.
type Allowed struct {
	// ID is the ID in the Go vulnerability database, such as GO-2026-0001.
	ID string
	// Why explains why it cannot be fixed now and is harmless.
	Why string
	// Until is the day on which it must be reviewed, such as 2027-01-31.
	Until string
}

// allowed returns the vulnerabilities that cannot be fixed now.
func allowed() []Allowed { return nil }

// Finding is a vulnerability whose vulnerable code is in a program.
type Finding struct {
	Program, ID, Summary, Module, Version, Fixed, Symbol string
}

// text formats the finding in one line.
func (f Finding) text(programs []string) string {
	remedy := "no version fixes it"
	if f.Fixed != "" {
		remedy = "fixed in " + f.Fixed
	}
	return fmt.Sprintf("%s: %s (%s %s has %s; %s): %s", f.ID, f.Summary, f.Module, f.Version, f.Symbol, remedy, strings.Join(programs, ", "))
}

// message holds the required fields of govulncheck's JSON output.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV          string `json:"osv"`
		FixedVersion string `json:"fixed_version"`
		Trace        []struct {
			Module, Version, Package, Function, Receiver string
		} `json:"trace"`
	} `json:"finding"`
	Config *struct {
		ScanMode string `json:"scan_mode"`
	} `json:"config"`
}

// Read returns govulncheck's findings in a program: one for each vulnerability with a linked function. Vulnerabilities of modules and
// packages without such a function are ignored.
func Read(program string, output io.Reader) ([]Finding, error) {
	decoder := json.NewDecoder(output)
	summaries, found, scanned := map[string]string{}, map[string]Finding{}, false
	for {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of govulncheck: %w", err)
		}
		switch {
		case m.Config != nil:
			scanned = true
		case m.OSV != nil:
			summaries[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0 && m.Finding.Trace[0].Function != "":
			at := m.Finding.Trace[0]
			found[m.Finding.OSV] = Finding{
				Program: program, ID: m.Finding.OSV, Module: at.Module, Version: at.Version, Fixed: m.Finding.FixedVersion, Symbol: at.Package + "." + at.Function,
			}
		}
	}
	if !scanned {
		return nil, fmt.Errorf("govulncheck printed nothing about %s", program)
	}
	list := make([]Finding, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		f := found[id]
		f.Summary = summaries[id]
		list = append(list, f)
	}
	return list, nil
}

// Check returns the error with which the check fails: findings that are not allowed, and allowances that have expired or are unused.
func Check(found []Finding, now time.Time) error { return check(found, allowed(), now) }

func check(found []Finding, allowances []Allowed, now time.Time) error {
	var errs []error
	open := map[string]bool{}
	for _, a := range allowances {
		until, err := time.Parse(time.DateOnly, a.Until)
		switch {
		case err != nil || a.Why == "":
			errs = append(errs, fmt.Errorf("the allowance for %s must have a reason and a date, for example 2027-01-31", a.ID))
		case !slices.ContainsFunc(found, func(f Finding) bool { return f.ID == a.ID }):
			errs = append(errs, fmt.Errorf("no program has %s: remove its allowance", a.ID))
		case now.After(until):
			errs = append(errs, fmt.Errorf("the allowance for %s ended on %s (%s): fix it, or extend the allowance", a.ID, a.Until, a.Why))
		default:
			open[a.ID] = true
		}
	}
	first, programs := map[string]Finding{}, map[string][]string{}
	for _, f := range found {
		if _, known := first[f.ID]; !known {
			first[f.ID] = f
		}
		programs[f.ID] = append(programs[f.ID], f.Program)
	}
	for _, id := range slices.Sorted(maps.Keys(first)) {
		if !open[id] {
			errs = append(errs, errors.New(first[id].text(programs[id])))
		}
	}
	return errors.Join(errs...)
}

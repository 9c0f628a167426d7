// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Words and units of tables.
const (
	None       = "-" // where there is nothing to compare with
	Unmeasured = "not measured"
	Missed     = "MISSED"
	Mebibyte   = 1 << 20
)

// Row is a line of the table. A row with a name only is a heading.
type Row struct {
	Name, Ours, Upstream, Aim, Verdict string
}

// All keeps everything.
func All(string) bool { return true }

// IsApart tells what is listed apart from Kubernetes requests: how many of them
// there are depends on time and chance.
func IsApart(name string) bool {
	verb, resource, _ := strings.Cut(name, " ")
	return resource == "events" || resource == "leases" || verb == "watch"
}

// Except turns a rule around.
func Except(is func(string) bool) func(string) bool {
	return func(name string) bool { return !is(name) }
}

// Line is a row with all its columns.
func Line(name, ours, upstream, aim, verdict string) Row {
	return Row{Name: name, Ours: ours, Upstream: upstream, Aim: aim, Verdict: verdict}
}

// Nothing stands where a scenario failed.
func Nothing() Row { return Row{Unmeasured, None, None, None, ""} }

// Verdict is what to say about an aim.
func Verdict(reached bool) string {
	if reached {
		return ""
	}
	return Missed
}

// Align sets the rows as columns, names to the left and numbers to the right.
func Align(rows []Row) string {
	widths := make([]int, 4)
	for _, r := range rows {
		if r.Ours == "" {
			continue // a heading may be longer than its column
		}
		for i, cell := range []string{r.Name, r.Ours, r.Upstream, r.Aim} {
			widths[i] = max(widths[i], len(cell)+2)
		}
	}
	var text strings.Builder
	for _, r := range rows {
		if r.Ours == "" {
			fmt.Fprintf(&text, "%s\n", r.Name)
			continue
		}
		line := fmt.Sprintf("  %-*s%*s%*s%*s  %s", widths[0], r.Name, widths[1], r.Ours, widths[2], r.Upstream, widths[3], r.Aim, r.Verdict)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// Column is a number of machines and what they cost together.
type Column struct {
	Title    string
	Machines int
	Cost     Cost
}

// Breakdown has a row for every name and a column for every number of machines.
func Breakdown(title string, columns []Column, of func(Cost) Counts) string {
	names := map[string]bool{}
	width := len(title)
	for _, column := range columns {
		for name := range of(column.Cost) {
			names[name] = true
			width = max(width, len(name)+2)
		}
	}
	if len(names) == 0 {
		return title + ": none\n"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%-*s", width, title)
	for _, column := range columns {
		fmt.Fprintf(&text, "%*s", column.width(), column.Title)
	}
	text.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&text, "  %-*s", width-2, name)
		for _, column := range columns {
			fmt.Fprintf(&text, "%*.2f", column.width(), float64(of(column.Cost)[name])/float64(column.Machines))
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (c Column) width() int { return max(10, len(c.Title)+2) }

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	none       = "-" // shown if there is nothing to compare with
	unmeasured = "not measured"
	// Missed marks a figure that missed its target.
	Missed = "MISSED"
	// Mebibyte is the number of bytes in a MiB.
	Mebibyte = 1 << 20
)

// Row is a line of the table. A row with only a name is a heading.
type Row struct {
	Name, Ours, Upstream, Aim, Verdict string

	value float64
}

// Figure returns a row with a figure, without comparison and target.
func Figure(name, format string, value float64) Row {
	return Row{Name: name, Ours: fmt.Sprintf(format, value), Upstream: none, Aim: none, value: value}
}

// WithUpstream adds a figure to compare with: upstream's, or ours without the measured feature. "" adds none.
func (r Row) WithUpstream(other string) Row {
	if other != "" {
		r.Upstream = other
	}
	return r
}

// AtMost adds an upper target.
func (r Row) AtMost(aim float64) Row {
	return r.aim(fmt.Sprintf("<= %v", aim), r.value <= aim)
}

// AtLeast adds a lower target.
func (r Row) AtLeast(aim float64) Row {
	return r.aim(fmt.Sprintf(">= %v", aim), r.value >= aim)
}

// Below adds an exclusive upper target.
func (r Row) Below(aim float64) Row {
	return r.aim(fmt.Sprintf("< %v", aim), r.value < aim)
}

// Zero adds the target zero.
func (r Row) Zero() Row { return r.aim("0", r.value == 0) }

func (r Row) aim(words string, reached bool) Row {
	r.Aim = words
	if !reached {
		r.Verdict = Missed
	}
	return r
}

// report holds the results so far.
type report struct {
	rows    []Row
	details []string
	notes   string
}

// Section begins a section of the table.
func (r *report) Section(title string) { r.rows = append(r.rows, Row{Name: title}) }

// Add adds rows to the table.
func (r *report) Add(rows ...Row) { r.rows = append(r.rows, rows...) }

// Detail lists below the table what a manager did for each of n items.
func (r *report) Detail(title string, n int, cost Cost) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, each of %d\n", title, n)
	for _, part := range []struct {
		title  string
		counts Counts
	}{
		{"calls to the infrastructure", cost.Calls}, {"requests to the Kubernetes API", cost.Requests},
		{"reconciles, by controller", cost.Reconciles},
	} {
		if len(part.counts) == 0 {
			continue
		}
		fmt.Fprintf(&text, "  %s\n", part.title)
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(&text, "  %10.2f  %s\n", float64(part.counts[name])/float64(n), name)
		}
	}
	r.details = append(r.details, text.String())
}

func (r *report) add(other report) {
	r.rows, r.details = append(r.rows, other.rows...), append(r.details, other.details...)
}

func (r *report) text() string {
	return strings.Join(append([]string{Table(r.rows), r.notes}, r.details...), "\n")
}

// Table formats rows in columns, with names left-aligned and numbers right-aligned.
func Table(rows []Row) string {
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
		line := r.Name
		if r.Ours != "" {
			line = fmt.Sprintf("  %-*s%*s%*s%*s  %s", widths[0], r.Name, widths[1], r.Ours, widths[2], r.Upstream, widths[3], r.Aim, r.Verdict)
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Dashboard is what is drawn of a Grafana dashboard.
type Dashboard struct {
	Title  string
	Panels []Panel
}

// Panel is a panel of a dashboard.
type Panel struct {
	Title, Type, Description string
	// GridPos is where it is, in a grid of 24 columns.
	GridPos     struct{ X, Y, W, H int }
	Targets     []Target
	FieldConfig struct{ Defaults Defaults }
}

// Target is a query of a panel.
type Target struct{ Expr, LegendFormat string }

// Defaults is how values are shown.
type Defaults struct {
	Thresholds struct {
		Steps []struct {
			Color string
			// Value is from which on; nil for the first.
			Value *float64
		}
	}
	Mappings []struct {
		// Options are by value.
		Options map[string]struct{ Text, Color string }
	}
	Custom struct {
		AxisLabel   string
		FillOpacity int
		Stacking    struct{ Mode string }
	}
}

// Load reads a dashboard from its file.
func Load(path string) (Dashboard, error) {
	var d Dashboard
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &d)
	}
	if err != nil {
		return Dashboard{}, fmt.Errorf("reading dashboard %s: %w", path, err)
	}
	return d, nil
}

// Everything replaces the variables of an expression so that it is about all clusters.
func Everything(expression string) string {
	return strings.NewReplacer("$namespace", ".*", "$cluster", ".*").Replace(expression)
}

// Named is a line as the legend of its panel calls it.
type Named struct {
	Name   string
	Values []float64
}

// Data is what a panel shows of a recording, sorted by name.
func (p Panel) Data(ctx context.Context, r *Recording) ([]Named, error) {
	var all []Named
	for _, target := range p.Targets {
		lines, err := r.Evaluate(ctx, Everything(target.Expr))
		if err != nil {
			return nil, fmt.Errorf("panel %q: %w", p.Title, err)
		}
		for _, line := range lines {
			all = append(all, Named{Name: legend(target.LegendFormat, line.Labels), Values: line.Values})
		}
	}
	slices.SortFunc(all, func(a, b Named) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// legend fills in the labels that a legend names in braces.
func legend(format string, labels map[string]string) string {
	return regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`).ReplaceAllStringFunc(format, func(found string) string {
		return labels[strings.Trim(found, "{} ")]
	})
}

// last is the last value of a line that is a number; false when there is none.
func last(values []float64) (float64, bool) {
	for _, value := range slices.Backward(values) {
		if !math.IsNaN(value) {
			return value, true
		}
	}
	return 0, false
}

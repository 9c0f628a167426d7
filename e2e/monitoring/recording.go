// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring records what a manager exports while something happens to a cluster, and draws the panels of a Grafana
// dashboard of it, without Prometheus and Grafana: expressions are evaluated by Prometheus' own engine.
package monitoring

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"
)

// StepMetric is 1 for the step of a story that goes on, with labels number and step.
const StepMetric model.LabelValue = "demo_step"

// Recording is what was scraped, one scrape each interval.
type Recording struct {
	// Name says what was recorded.
	Name     string
	Interval time.Duration
	scrapes  []scrape
}

// scrape is what was exported at one time, by series; nil when nobody answered.
type scrape map[string]float64

// file is how a recording is kept: as test of rules for promtool, which can be read by people and compared line by line.
type file struct {
	Tests []group `json:"tests"`
}

type group struct {
	Name        string   `json:"name"`
	Interval    string   `json:"interval"`
	InputSeries []series `json:"input_series"`
}

type series struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// add appends a scrape.
func (r *Recording) add(samples model.Vector) {
	taken := scrape{}
	for _, sample := range samples {
		taken[sample.Metric.String()] = float64(sample.Value)
	}
	r.scrapes = append(r.scrapes, taken)
}

// miss appends a scrape that was not answered.
func (r *Recording) miss() { r.scrapes = append(r.scrapes, nil) }

// trim cuts off what is before the first and after the last scrape that has more to tell than which step went on.
func (r *Recording) trim() {
	empty := func(taken scrape) bool {
		for name := range taken {
			if !strings.HasPrefix(name, string(StepMetric)) {
				return false
			}
		}
		return true
	}
	first := slices.IndexFunc(r.scrapes, func(taken scrape) bool { return !empty(taken) })
	r.scrapes = r.scrapes[max(0, first):]
	for len(r.scrapes) > 0 && empty(r.scrapes[len(r.scrapes)-1]) {
		r.scrapes = r.scrapes[:len(r.scrapes)-1]
	}
}

// names are those of all series, sorted.
func (r *Recording) names() []string {
	var names []string
	for _, taken := range r.scrapes {
		for name := range taken {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Write writes the recording so that Read reads it.
func (r *Recording) Write(w io.Writer) error {
	if len(r.scrapes) == 0 {
		return errors.New("writing a recording: nothing was recorded")
	}
	kept := group{Name: r.Name, Interval: model.Duration(r.Interval).String()}
	for _, name := range r.names() {
		kept.InputSeries = append(kept.InputSeries, series{Series: name, Values: r.values(name)})
	}
	content, err := yaml.Marshal(file{Tests: []group{kept}})
	if err != nil {
		return fmt.Errorf("writing a recording: %w", err)
	}
	_, err = w.Write(content)
	return err
}

// values are those of a series in the notation of Prometheus: 1x3 is a 1 and three more of it, _x3 are three that are missing, and
// stale is where a series ends.
func (r *Recording) values(name string) string {
	var words []string
	word, times, there := "", 0, false
	flush := func() {
		switch {
		case times > 1 && word == "_":
			words = append(words, fmt.Sprintf("_x%d", times))
		case times > 1:
			words = append(words, fmt.Sprintf("%sx%d", word, times-1))
		case times == 1:
			words = append(words, word)
		}
	}
	for _, taken := range r.scrapes {
		next := "_"
		value, exported := taken[name]
		switch {
		case exported:
			next, there = fmt.Sprint(value), true
		case taken != nil && there:
			next, there = "stale", false
		}
		if next != word {
			flush()
			word, times = next, 0
		}
		times++
	}
	flush()
	return strings.Join(words, " ")
}

// Read reads what Write wrote.
func Read(content []byte) (*Recording, error) {
	var kept file
	if err := yaml.UnmarshalStrict(content, &kept); err != nil {
		return nil, fmt.Errorf("reading a recording: %w", err)
	}
	if len(kept.Tests) != 1 {
		return nil, fmt.Errorf("reading a recording: it has %d tests, not 1", len(kept.Tests))
	}
	interval, err := model.ParseDuration(kept.Tests[0].Interval)
	if err != nil {
		return nil, fmt.Errorf("reading a recording: %w", err)
	}
	r := &Recording{Name: kept.Tests[0].Name, Interval: time.Duration(interval)}
	for _, one := range kept.Tests[0].InputSeries {
		if err := r.fill(one); err != nil {
			return nil, fmt.Errorf("reading series %s: %w", one.Series, err)
		}
	}
	return r, nil
}

// fill puts a series into the scrapes.
func (r *Recording) fill(one series) error {
	_, values, err := language().ParseSeriesDesc(one.Series + " " + one.Values)
	if err != nil {
		return err
	}
	for i, value := range values {
		if i == len(r.scrapes) {
			r.miss()
		}
		if value.Omitted {
			continue
		}
		if r.scrapes[i] == nil {
			r.scrapes[i] = scrape{}
		}
		if !isStale(value.Value) {
			r.scrapes[i][one.Series] = value.Value
		}
	}
	return nil
}

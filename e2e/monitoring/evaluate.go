// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	// maxSamples and queryLimit bound a query; a story needs much less.
	maxSamples = 5_000_000
	queryLimit = time.Minute
)

// Line is an answer to a query: a value for each scrape, not a number where there is none.
type Line struct {
	Labels map[string]string
	Values []float64
}

// Evaluate evaluates an expression of PromQL at the time of each scrape.
func (r *Recording) Evaluate(ctx context.Context, expression string) ([]Line, error) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: queryLimit, Parser: language()})
	defer func() { _ = engine.Close() }()
	last := max(0, len(r.scrapes)-1)
	query, err := engine.NewRangeQuery(ctx, r, nil, expression, time.UnixMilli(0), time.UnixMilli(r.at(last)), r.Interval)
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expression, err)
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", expression, err)
	}
	lines := make([]Line, 0, len(matrix))
	for _, one := range matrix {
		line := Line{Labels: one.Metric.Map(), Values: make([]float64, len(r.scrapes))}
		for i := range line.Values {
			line.Values[i] = math.NaN()
		}
		for _, point := range one.Floats {
			line.Values[time.Duration(point.T)*time.Millisecond/r.Interval] = point.F
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// at is when a scrape was, in milliseconds since the first.
func (r *Recording) at(i int) int64 { return (time.Duration(i) * r.Interval).Milliseconds() }

// Querier implements storage.Queryable.
func (r *Recording) Querier(mint, maxt int64) (storage.Querier, error) {
	return querier{recording: r, mint: mint, maxt: maxt}, nil
}

// language reads names of series, and series of values.
func language() parser.Parser { return parser.NewParser(parser.Options{}) }

// querier answers what is asked of a recording.
type querier struct {
	recording  *Recording
	mint, maxt int64
}

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{}
	for _, name := range q.recording.names() {
		described, err := language().ParseMetric(name)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		if matches(described, matchers) {
			set.found = append(set.found, storage.NewListSeries(described, q.samples(name)))
		}
	}
	return set
}

func matches(described labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(described.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

// samples are those of a series. As Prometheus does, it marks where a series that was there is not exported any more.
func (q querier) samples(name string) []chunks.Sample {
	var list []chunks.Sample
	there := false
	for i, taken := range q.recording.scrapes {
		t := q.recording.at(i)
		v, exported := taken[name]
		if !exported && taken != nil && there {
			v = math.Float64frombits(value.StaleNaN)
		}
		if (exported || taken != nil && there) && t >= q.mint && t <= q.maxt {
			list = append(list, sample{t, v})
		}
		if taken != nil {
			there = exported
		}
	}
	return list
}

func isStale(v float64) bool { return value.IsStaleNaN(v) }

// LabelValues implements storage.Querier; queries do not need it.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier; queries do not need it.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

// seriesSet goes through the series that were found.
type seriesSet struct {
	found []storage.Series
	next  int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool { s.next++; return s.next <= len(s.found) }

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.found[s.next-1] }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a value at a time.
type sample struct {
	t int64
	v float64
}

// T implements chunks.Sample.
func (s sample) T() int64 { return s.t }

// ST implements chunks.Sample: when the series started is not recorded.
func (sample) ST() int64 { return 0 }

// F implements chunks.Sample.
func (s sample) F() float64 { return s.v }

// H implements chunks.Sample.
func (sample) H() *histogram.Histogram { return nil }

// FH implements chunks.Sample.
func (sample) FH() *histogram.FloatHistogram { return nil }

// Type implements chunks.Sample.
func (sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

// Copy implements chunks.Sample.
func (s sample) Copy() chunks.Sample { return s }

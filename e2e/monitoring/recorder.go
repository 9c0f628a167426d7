// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// prefix is that of the metrics which are kept.
const prefix = "capi_failure_domain_"

// scrapeLimit bounds a scrape.
const scrapeLimit = 5 * time.Second

// Recorder records what is exported, until it is stopped.
type Recorder struct {
	mutex     sync.Mutex
	recording Recording
	steps     int
	step      string
}

// NewRecorder returns a Recorder of one scrape each interval.
func NewRecorder(name string, interval time.Duration) *Recorder {
	return &Recorder{recording: Recording{Name: name, Interval: interval}}
}

// Begin says that a step of the story has begun.
func (r *Recorder) Begin(step string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.steps++
	r.step = step
}

// Run scrapes the metrics at the URL until the context ends. A scrape that is not answered leaves a gap.
func (r *Recorder) Run(ctx context.Context, url string) {
	tick := time.NewTicker(r.recording.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			samples, err := get(ctx, url)
			r.keep(samples, err == nil)
		}
	}
}

func (r *Recorder) keep(samples model.Vector, answered bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !answered {
		r.recording.miss()
		return
	}
	if r.step != "" {
		samples = append(samples, &model.Sample{Value: 1, Metric: model.Metric{
			model.MetricNameLabel: StepMetric,
			"number":              model.LabelValue(fmt.Sprintf("%02d", r.steps)), "step": model.LabelValue(r.step),
		}})
	}
	r.recording.add(samples)
}

// Recording is what has been recorded of clusters, from the first scrape that had one to the last.
func (r *Recorder) Recording() *Recording {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.recording.trim()
	return &r.recording
}

// get reads the metrics about failure domains that are exported at a URL.
func get(ctx context.Context, url string) (model.Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, err
	}
	var samples model.Vector
	for name, family := range families {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		some, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return nil, err
		}
		samples = append(samples, some...)
	}
	return samples, nil
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/faultline-io/faultline/e2e/tool"
)

// Metric returns a metric family that the process serves.
func (p Process) Metric(ctx context.Context, name string) (family *dto.MetricFamily, err error) {
	err = Read(ctx, p.Metrics, func(metrics io.Reader) error {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(metrics)
		if err != nil {
			return err
		}
		if family = families[name]; family == nil {
			return fmt.Errorf("%s not found", name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", p.Name, err)
	}
	return family, nil
}

// Gauge returns the sum of all series of a gauge that the process serves.
func (p Process) Gauge(ctx context.Context, name string) (float64, error) {
	family, err := p.Metric(ctx, name)
	value := 0.0
	for _, metric := range family.GetMetric() {
		value += metric.GetGauge().GetValue()
	}
	return value, err
}

// Read passes the content of a URL to read.
func Read(ctx context.Context, url string, read func(io.Reader) error) error {
	body, err := tool.Get(ctx, http.DefaultClient, url)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return read(body)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dashboard draws the Grafana dashboard in docs/monitoring as it would look with the metrics that a demo has recorded.
// Neither Grafana nor Prometheus has to run.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/faultline-io/faultline/e2e/monitoring"
	"github.com/faultline-io/faultline/e2e/program"
)

func main() { program.Main(run, program.Plain) }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dashboard", flag.ContinueOnError)
	dashboard := flags.String("dashboard", "../docs/monitoring/dashboard.json", "the dashboard")
	metrics := flags.String("metrics", "monitoring/testdata/return.yaml", "what `make demo METRICS=FILE` has recorded")
	out := flags.String("out", "../docs/monitoring/dashboard.svg", "the picture")
	if err := program.Parse(flags, args); err != nil {
		return err
	}
	panels, err := monitoring.Load(*dashboard)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(*metrics)
	if err != nil {
		return fmt.Errorf("reading what was recorded: %w", err)
	}
	recording, err := monitoring.Read(content)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := monitoring.Draw(ctx, &picture, panels, recording); err != nil {
		return err
	}
	return os.WriteFile(*out, picture.Bytes(), 0o644)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

// scrapeEvery is how often the metrics are read: more often than Prometheus would, as all happens within minutes.
const scrapeEvery = time.Second

// command is what was typed to see this demo.
func (o Options) command() string {
	command := "make demo"
	if o.Provider != nil && o.Provider.Describe().Name != provider.DefaultName {
		command += " PROVIDER=" + o.Provider.Describe().Name
	}
	if o.Story != "" {
		command += " STORY=" + o.Story
	}
	if o.Flavor != "" {
		command += " FLAVOR=" + o.Flavor
	}
	return command
}

// record reads the metrics of the provider's manager while the demo goes on, if they are wanted.
func (d *demo) record() {
	if d.options.Metrics == "" {
		return
	}
	for _, process := range d.management.Processes() {
		if process.Name == binaries.Provider(d.about.Name) {
			d.background.Go(func() { d.recorder.Run(d.life, process.Metrics) })
		}
	}
}

// keepMetrics writes what was recorded.
func (d *demo) keepMetrics() error {
	if d.options.Metrics == "" {
		return nil
	}
	file, err := os.Create(d.options.Metrics)
	if err != nil {
		return fmt.Errorf("keeping the metrics: %w", err)
	}
	return errors.Join(d.recorder.Recording().Write(file), file.Close())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/binaries"
)

// HostResults are the raw numbers of a run on bare metal.
type HostResults struct {
	Provider string  `json:"provider"`
	CPUs     int     `json:"cpus"`
	Load     float64 `json:"load"`
	Batches  []Batch `json:"batches"`
}

// Batch is what it took to make a number of machines at once.
type Batch struct {
	Machines int `json:"machines"`
	Hosts    int `json:"hosts"`
	// Associated is after how many seconds the last machine had its host. Median and
	// P99 are of the seconds that it took each from its creation.
	Associated float64 `json:"associatedSeconds"`
	Median     float64 `json:"medianSeconds"`
	P99        float64 `json:"p99Seconds"`
	// Association is what it cost until then, the host's new spec included.
	Association benchmark.Cost `json:"association"`
	// Provisioned is how many seconds more it took, with hosts that do everything in
	// no time, until the last machine was provisioned, and Provisioning what that cost.
	Provisioned  float64        `json:"provisionedSeconds"`
	Provisioning benchmark.Cost `json:"provisioning"`
	// RSS and Peak are the manager's memory in bytes at the end, and at its highest;
	// ServerPeak is the highest of the API server.
	RSS        int64 `json:"rssBytes"`
	Peak       int64 `json:"peakBytes"`
	ServerPeak int64 `json:"serverPeakBytes"`
}

// suite measures both.
func suite() benchmark.Suite {
	return benchmark.Suite{Machines: []int{200, 1000}, Measure: measure, Scale: measureScale}
}

// scenario is what one runs in.
type scenario struct{ *benchmark.Environment }

// measure makes batches on as many hosts as machines, and the smallest once more
// on twice the hosts.
func measure(ctx context.Context, b *benchmark.Runner, machines []int) (benchmark.Outcome, error) {
	r := HostResults{Provider: b.Provider, CPUs: goruntime.NumCPU(), Load: benchmark.Load()}
	type size struct{ machines, hosts int }
	var sizes []size
	for _, n := range machines {
		sizes = append(sizes, size{n, n})
	}
	smallest := slices.Min(machines)
	sizes = append(sizes, size{smallest, 2 * smallest})
	var errs []error
	for _, s := range sizes {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, b.Scenario(ctx, fmt.Sprintf("hosts-%d-machines-%d", s.hosts, s.machines), nil, func(ctx context.Context, l *benchmark.Environment) error {
			batch, err := scenario{l}.batch(ctx, s.machines, s.hosts)
			if err == nil {
				r.Batches = append(r.Batches, batch)
			}
			return err
		}))
	}
	return r, errors.Join(errs...)
}

// batch makes machines at once: first until each has its host, then until it runs.
func (l scenario) batch(ctx context.Context, machines, hosts int) (Batch, error) {
	y, err := l.setUp(ctx, "bench", hosts)
	if err != nil {
		return Batch{}, err
	}
	all, err := y.prepare(ctx, machines)
	if err != nil {
		return Batch{}, err
	}
	if err := l.Rest(ctx, y); err != nil {
		return Batch{}, err
	}
	batch := Batch{Machines: machines, Hosts: hosts}
	batch.Association, err = l.During(ctx, y, func() error {
		took, each, err := y.associate(ctx, all)
		if err != nil {
			return err
		}
		slices.Sort(each)
		batch.Associated, batch.Median, batch.P99 = took.Seconds(), benchmark.Median(each), percentile(each, 99)
		l.Progressf("%d machines have hosts after %.1f s", machines, batch.Associated)
		return l.Rest(ctx, y)
	})
	if err != nil {
		return Batch{}, err
	}
	batch.Provisioning, err = l.During(ctx, y, func() error {
		began := time.Now()
		y.work(ctx)
		if _, err := y.await(ctx, all, provisioned); err != nil {
			return err
		}
		batch.Provisioned = time.Since(began).Seconds()
		return l.Rest(ctx, y)
	})
	if err != nil {
		return Batch{}, err
	}
	server, err := l.Process(binaries.APIServer)
	if err != nil {
		return Batch{}, err
	}
	batch.ServerPeak = server.Peak
	batch.RSS, batch.Peak, err = l.Memory()
	return batch, err
}

// percentile of sorted values.
func percentile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}

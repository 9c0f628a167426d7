// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// reconcileTotal is controller-runtime's counter of reconciles.
	reconcileTotal = "controller_runtime_reconcile_total"

	// restFor is how long the manager must do nothing to count as idle.
	restFor = 1500 * time.Millisecond
	// restShare is the share of a core that an idle manager may use.
	restShare = 0.05
)

// counter counts the calls to an infrastructure.
type counter struct {
	calls  func() Counts
	isWork func(call string) bool
}

// CountCalls adds the calls to an infrastructure's API to the cost. isWork distinguishes calls that do work from those that only wait for
// changes.
func (e *Environment) CountCalls(calls func() Counts, isWork func(call string) bool) {
	e.counters = append(e.counters, counter{calls, isWork})
}

// Sample returns everything that can be counted of the manager since it started.
func (e *Environment) Sample(ctx context.Context) (Cost, error) {
	cost, err := e.counted()
	if err != nil {
		return Cost{}, err
	}
	process, err := e.manager()
	if err != nil {
		return Cost{}, err
	}
	family, err := process.Metric(ctx, reconcileTotal)
	cost.Reconciles, cost.CPU = countReconciles(family), process.CPU
	return cost, err
}

// counted returns what infrastructures and the API server counted so far. The manager need not run.
func (e *Environment) counted() (cost Cost, err error) {
	cost.Calls = Counts{}
	for _, c := range e.counters {
		for call, n := range c.calls() {
			cost.Calls[call] += n
		}
	}
	log, err := os.Open(e.audit)
	if err != nil {
		return Cost{}, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cost.Requests, err = countRequests(log, e.userAgent())
	return cost, err
}

// During returns what the manager did while happens ran.
func (e *Environment) During(ctx context.Context, happens func() error) (Cost, error) {
	before, err := e.Sample(ctx)
	if err != nil {
		return Cost{}, err
	}
	return e.since(ctx, before, happens)
}

// FromStart starts the manager, which has been killed, and returns what it did from its start until happens returned.
func (e *Environment) FromStart(ctx context.Context, happens func() error) (Cost, error) {
	before, err := e.counted()
	if err != nil {
		return Cost{}, err
	}
	ready, err := e.Management.Restart(ctx, binaries.Provider(e.runner.provider))
	if err == nil {
		err = ready(ctx)
	}
	if err == nil {
		err = e.awaitMetrics(ctx)
	}
	if err != nil {
		return Cost{}, err
	}
	return e.since(ctx, before, happens)
}

func (e *Environment) since(ctx context.Context, before Cost, happens func() error) (Cost, error) {
	if err := happens(); err != nil {
		return Cost{}, err
	}
	after, err := e.Sample(ctx)
	return after.Minus(before), err
}

// awaitMetrics waits until the ready manager reports its reconcile metrics: its controllers start later than its endpoints.
func (e *Environment) awaitMetrics(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, provider.PollInterval, true, func(ctx context.Context) (bool, error) {
		process, err := e.manager()
		if err == nil {
			_, last = process.Metric(ctx, reconcileTotal)
		}
		return last == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager's controllers: %w", errors.Join(provider.Because(ctx, err), last))
	}
	return nil
}

// Kill kills the manager without warning.
func (e *Environment) Kill() error { return e.Management.Kill(binaries.Provider(e.runner.provider)) }

// manager returns the process that is measured.
func (e *Environment) manager() (managementcluster.Process, error) {
	process, err := e.Management.Process(binaries.Provider(e.runner.provider))
	if err == nil && process.Peak == 0 {
		err = errors.New("measuring the manager: the operating system does not report the CPU time and memory of processes")
	}
	return process, err
}

// Memory returns the manager's current and highest memory in bytes.
func (e *Environment) Memory() (now, peak int64, err error) {
	process, err := e.manager()
	return process.Memory, process.Peak, err
}

// Rest waits until the manager is idle: for a while it made no call that does work, sent no request and used almost no CPU. A manager other
// than ours may poll all the time, so Rest only waits for that while.
func (e *Environment) Rest(ctx context.Context) error {
	if e.runner.installation.Other != nil {
		return provider.Pause(ctx, restFor)
	}
	still := &idleDetector{activity: -1}
	err := wait.PollUntilContextCancel(ctx, provider.PollInterval, true, func(context.Context) (bool, error) {
		log, err := os.Stat(e.audit)
		if err != nil {
			return false, fmt.Errorf("looking at the audit log: %w", err)
		}
		activity := log.Size()
		for _, c := range e.counters {
			activity += int64(c.calls().Sum(c.isWork))
		}
		process, err := e.manager()
		return still.after(activity, process.CPU, time.Now()) > restFor, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager to become idle: %w", provider.Because(ctx, err))
	}
	return nil
}

// idleDetector records since when a manager has been idle.
type idleDetector struct {
	activity int64
	used     float64
	since    time.Time
}

// after returns how long the manager has been idle at that time. It resets if a new call or request was counted, or if the manager used
// more CPU-seconds than an idle one does: an API server whose watches lag has the manager convert objects long after all requests have
// been answered.
func (s *idleDetector) after(activity int64, used float64, at time.Time) time.Duration {
	if activity != s.activity || used-s.used > restShare*restFor.Seconds() {
		*s = idleDetector{activity, used, at}
	}
	return at.Sub(s.since)
}

// countReconciles adds up the reconciles of each controller, regardless of their result.
func countReconciles(family *dto.MetricFamily) Counts {
	counts := Counts{}
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" {
				counts[label.GetValue()] += int(metric.GetCounter().GetValue())
			}
		}
	}
	return counts
}

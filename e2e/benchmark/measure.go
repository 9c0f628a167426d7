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

	// restFor is how long the manager must do nothing to count as idle, and restLimit bounds the wait for that.
	restFor   = 1500 * time.Millisecond
	restLimit = 3 * time.Minute
	// restShare is the share of a core that an idle manager may use.
	restShare = 0.05
)

// Counted is an infrastructure whose calls can be counted.
type Counted interface {
	// Calls counts the calls to the infrastructure's API, if it has its own.
	Calls() Counts
	// IsWork distinguishes calls that do work from those that only wait for changes.
	IsWork(call string) bool
}

// Sample returns everything that can be counted of the manager since it started.
func (e *Environment) Sample(ctx context.Context, w Counted) (Cost, error) {
	cost, err := e.counted(w)
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

// counted returns what the infrastructure and the API server counted so far. The manager need not run.
func (e *Environment) counted(w Counted) (cost Cost, err error) {
	cost.Calls = w.Calls()
	log, err := os.Open(e.audit)
	if err != nil {
		return Cost{}, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cost.Requests, err = countRequests(log, e.userAgent())
	return cost, err
}

// During returns what the manager did while happens ran.
func (e *Environment) During(ctx context.Context, w Counted, happens func() error) (Cost, error) {
	before, err := e.Sample(ctx, w)
	if err != nil {
		return Cost{}, err
	}
	return e.since(ctx, w, before, happens)
}

// FromStart starts the manager, which has been killed, and returns what it did from its start until happens returned.
func (e *Environment) FromStart(ctx context.Context, w Counted, happens func() error) (Cost, error) {
	before, err := e.counted(w)
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
	return e.since(ctx, w, before, happens)
}

func (e *Environment) since(ctx context.Context, w Counted, before Cost, happens func() error) (Cost, error) {
	if err := happens(); err != nil {
		return Cost{}, err
	}
	after, err := e.Sample(ctx, w)
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

// Rest waits until the manager is idle: for a while it made no call except the stream's, sent no request and used almost no CPU. A
// manager other than ours may poll all the time, so Rest only waits for that while.
func (e *Environment) Rest(ctx context.Context, w Counted) error {
	if e.runner.installation.Other != nil {
		return provider.Pause(ctx, restFor)
	}
	still := &idleDetector{activity: -1}
	err := wait.PollUntilContextTimeout(ctx, provider.PollInterval, restLimit, true, func(context.Context) (bool, error) {
		log, err := os.Stat(e.audit)
		if err != nil {
			return false, fmt.Errorf("looking at the audit log: %w", err)
		}
		process, err := e.manager()
		return still.after(log.Size()+int64(w.Calls().Sum(w.IsWork)), process.CPU, time.Now()) > restFor, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("waiting for the manager to become idle: it is still busy after %s", restLimit)
	}
	if err != nil {
		return provider.Because(ctx, err)
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

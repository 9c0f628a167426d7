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
	// heapInUse is what Go's heap takes of a process.
	heapInUse = "go_memstats_heap_inuse_bytes"

	// restFor is how long nothing must happen for the manager to be at rest, and
	// restLimit how long that is waited for.
	restFor   = 1500 * time.Millisecond
	restLimit = 3 * time.Minute
	// restShare is what of a core a manager may use that is at rest.
	restShare = 0.05
)

// Counted is what a manager works with.
type Counted interface {
	// Calls counts the calls to its API, if it has one of its own.
	Calls() Counts
	// IsWork distinguishes such calls from those that only wait for changes.
	IsWork(call string) bool
}

// Sample reads everything that can be counted of the manager, since it started.
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

// counted is what others have counted of the managers so far, and what it took them: the manager need not run.
func (e *Environment) counted(w Counted) (cost Cost, err error) {
	cost.Calls = w.Calls()
	log, err := os.Open(e.audit)
	if err != nil {
		return Cost{}, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	if cost.Requests, cost.Failed, err = countRequests(log, e.userAgent()); err != nil {
		return Cost{}, err
	}
	server, err := e.Process(binaries.APIServer)
	cost.ServerCPU = server.CPU
	return cost, err
}

// During returns what the manager did while something happened.
func (e *Environment) During(ctx context.Context, w Counted, happens func() error) (Cost, error) {
	before, err := e.Sample(ctx, w)
	if err != nil {
		return Cost{}, err
	}
	return e.since(ctx, w, before, happens)
}

// FromStart starts the manager, which has been killed, and returns what it did from its start until something had happened.
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

// awaitMetrics waits until the manager, which is ready, counts what it does: its controllers start later.
func (e *Environment) awaitMetrics(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, provider.LookEvery, true, func(ctx context.Context) (bool, error) {
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

// Kill ends the manager in the middle of whatever it does.
func (e *Environment) Kill() error { return e.Management.Kill(binaries.Provider(e.runner.provider)) }

// manager finds the process that is measured.
func (e *Environment) manager() (managementcluster.Process, error) {
	process, err := e.Process(binaries.Provider(e.runner.provider))
	if err == nil && process.Peak == 0 {
		err = errors.New("measuring the manager: the system does not report what a process takes")
	}
	return process, err
}

// Process is a program of the management cluster.
func (e *Environment) Process(name string) (managementcluster.Process, error) {
	for _, process := range e.Management.Processes() {
		if process.Name == name {
			return process, nil
		}
	}
	return managementcluster.Process{}, fmt.Errorf("finding what is measured: there is no process %s", name)
}

// Memory is that of the manager, in bytes: now and at its highest.
func (e *Environment) Memory() (now, peak int64, err error) {
	process, err := e.manager()
	return process.Memory, process.Peak, err
}

// Heap is what the manager's heap takes of its memory, in bytes.
func (e *Environment) Heap(ctx context.Context) (int64, error) {
	process, err := e.manager()
	if err != nil {
		return 0, err
	}
	bytes, err := process.Gauge(ctx, heapInUse)
	return int64(bytes), err
}

// Rest waits until the manager has nothing to do any more: it called nothing but
// the stream, sent no request and hardly computed for a while. Another manager than ours may ask all
// the time, and is given that while only.
func (e *Environment) Rest(ctx context.Context, w Counted) error {
	if e.runner.installation.Other != nil {
		return provider.Pause(ctx, restFor)
	}
	still := &stillness{activity: -1}
	err := wait.PollUntilContextTimeout(ctx, provider.LookEvery, restLimit, true, func(context.Context) (bool, error) {
		log, err := os.Stat(e.audit)
		if err != nil {
			return false, fmt.Errorf("looking at the audit log: %w", err)
		}
		process, err := e.manager()
		return still.after(log.Size()+int64(w.Calls().Sum(w.IsWork)), process.CPU, time.Now()) > restFor, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("waiting for the manager to come to rest: it still works after %s", restLimit)
	}
	if err != nil {
		return provider.Because(ctx, err)
	}
	return nil
}

// stillness is since when a manager has been at rest.
type stillness struct {
	activity int64
	used     float64
	since    time.Time
}

// after is for how long it has rested at that time. It has not where anybody counted something new, or where it has used more CPU-seconds
// than one at rest does: an API server that lags behind in its own watches has it convert objects when all requests have
// been answered for long.
func (s *stillness) after(activity int64, used float64, at time.Time) time.Duration {
	if activity != s.activity || used-s.used > restShare*restFor.Seconds() {
		*s = stillness{activity, used, at}
	}
	return at.Sub(s.since)
}

// countReconciles adds up the reconciles of each controller, whatever became of them.
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

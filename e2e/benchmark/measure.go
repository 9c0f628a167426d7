// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// ticksPerSecond is the unit of times in /proc/<pid>/stat. Linux shows
	// programs this value whatever the kernel's own is.
	ticksPerSecond = 100
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
	// IsWork tells such calls from those that only wait for changes.
	IsWork(call string) bool
}

// Sample reads everything that can be counted of the manager, since it started.
func (e *Environment) Sample(ctx context.Context, w Counted) (Cost, error) {
	cost, err := e.asked(w)
	if err != nil {
		return Cost{}, err
	}
	process, err := e.manager()
	if err != nil {
		return Cost{}, err
	}
	if cost.Reconciles, err = reconciles(ctx, process.Metrics); err != nil {
		return Cost{}, fmt.Errorf("reading the manager's metrics: %w", err)
	}
	cost.CPU, err = cpu(process)
	return cost, err
}

// asked is what others have counted of the managers so far, and what it took them: the processes need not be there.
func (e *Environment) asked(w Counted) (cost Cost, err error) {
	cost.Calls = w.Calls()
	if cost.Requests, cost.Failed, err = e.requests(); err != nil {
		return Cost{}, err
	}
	server, err := e.Process(binaries.APIServer)
	if err != nil {
		return Cost{}, err
	}
	cost.ServerCPU, err = cpu(server)
	return cost, err
}

// cpu is how many seconds a process has used.
func cpu(process managementcluster.Process) (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.PID))
	if err != nil {
		return 0, fmt.Errorf("measuring the CPU time of %s: %w", process.Name, err)
	}
	return cpuSeconds(string(stat))
}

func (e *Environment) requests() (requests, failed Counts, err error) {
	log, err := os.Open(e.audit)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer func() { _ = log.Close() }()
	return countRequests(log, e.Runner.userAgent())
}

// manager finds the process that is measured.
func (e *Environment) manager() (managementcluster.Process, error) {
	return e.Process(binaries.Provider(e.Runner.Provider))
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
	if err == nil && process.Peak == 0 {
		err = errors.New("measuring the manager's memory: the system does not tell")
	}
	return process.Memory, process.Peak, err
}

// Rest waits until the manager has nothing to do any more: it called nothing but
// the stream, sent no request and hardly computed for a while. Another manager than ours may ask all
// the time, and is given that while only.
func (e *Environment) Rest(ctx context.Context, w Counted) error {
	if e.Runner.Other != "" {
		return provider.Pause(ctx, restFor)
	}
	still := &stillness{activity: -1}
	err := wait.PollUntilContextTimeout(ctx, provider.LookEvery, restLimit, true, func(context.Context) (bool, error) {
		log, err := os.Stat(e.audit)
		if err != nil {
			return false, fmt.Errorf("looking at the audit log: %w", err)
		}
		process, err := e.manager()
		if err != nil {
			return false, err
		}
		used, err := cpu(process)
		return still.after(log.Size()+int64(w.Calls().Sum(w.IsWork)), used, time.Now()) > restFor, err
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

// Load is the average of the last minute, 0 where the system does not tell.
func Load() float64 {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	average, _, _ := strings.Cut(string(content), " ")
	value, err := strconv.ParseFloat(average, 64)
	if err != nil {
		return 0
	}
	return value
}

// cpuSeconds reads user and system time from the content of /proc/<pid>/stat.
func cpuSeconds(stat string) (float64, error) {
	// The second field is the program's name in parentheses and may hold anything;
	// user and system time are the 12th and 13th fields behind it.
	const user, system = 11, 12
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) <= system {
		return 0, fmt.Errorf("reading process times: %q is not what /proc/<pid>/stat holds", stat)
	}
	ticks := int64(0)
	for _, field := range []int{user, system} {
		value, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading process times: %w", err)
		}
		ticks += value
	}
	return float64(ticks) / ticksPerSecond, nil
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

func reconciles(ctx context.Context, url string) (counts Counts, err error) {
	err = managementcluster.Read(ctx, url, func(metrics io.Reader) (err error) {
		counts, err = countReconciles(metrics)
		return err
	})
	return counts, err
}

// familyOf reads metrics and returns those of a name.
func familyOf(metrics io.Reader, name string) (*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(metrics)
	if err != nil {
		return nil, err
	}
	family, ok := families[name]
	if !ok {
		return nil, fmt.Errorf("there is no %s", name)
	}
	return family, nil
}

// countReconciles reads metrics and adds up the reconciles of each controller,
// whatever became of them.
func countReconciles(metrics io.Reader) (Counts, error) {
	family, err := familyOf(metrics, reconcileTotal)
	if err != nil {
		return nil, err
	}
	counts := Counts{}
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "controller" {
				counts[label.GetValue()] += int(metric.GetCounter().GetValue())
			}
		}
	}
	return counts, nil
}

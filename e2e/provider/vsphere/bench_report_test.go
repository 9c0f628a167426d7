// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

var update = flag.Bool("update", false, "write the golden files anew")

// example is a run that reached some aims and missed others.
func example() Results {
	cost := func(vms int) benchmark.Cost {
		return benchmark.Cost{
			Calls:      benchmark.Counts{"CloneVM_Task": vms, "PowerOnVM_Task": vms, stream: 3, "REST POST /rest/com/vmware/cis/session": 1},
			Requests:   benchmark.Counts{"patch vspherevms/status": 16 * vms, "create events": 3 * vms, "update leases": 1},
			Failed:     benchmark.Counts{"patch vspheremachines 409": 2},
			Reconciles: benchmark.Counts{"vspherevm": 6 * vms, "vspheremachine": 8 * vms},
			CPU:        0.04*float64(vms) + 0.02,
		}
	}
	return Results{
		Provider: "vsphere", CPUs: 2, Load: 0.31,
		Rollouts: []Rollout{
			{VMs: 1, Ready: 0.25, Cost: cost(1), RSS: 70 << 20, Peak: 71 << 20},
			{VMs: 100, Ready: 11.2, Cost: cost(100), RSS: 90 << 20, Peak: 98 << 20},
		},
		Stock: Rollout{VMs: 100, Ready: 16, Cost: cost(100)},
		Idle: Idle{
			VMs: 100, Periods: 3, SyncPeriod: 10,
			Cost:    benchmark.Cost{Calls: benchmark.Counts{stream: 1}, Requests: benchmark.Counts{"patch vspheredeploymentzones/status": 9}, Reconciles: benchmark.Counts{"vspherevm": 199}},
			Touched: benchmark.Cost{Calls: benchmark.Counts{"RetrievePropertiesEx": 100}, Reconciles: benchmark.Counts{"vspherevm": 200}},
		},
		Zones: Zones{
			First:   Checks{Due: 3, Done: 6, Cost: benchmark.Cost{Calls: benchmark.Counts{"Login": 1, "REST POST /rest/com/vmware/cis/session": 12}}},
			Touched: Checks{Due: 30, Done: 60},
			Changed: Checks{Due: 15, Done: 15, Cost: benchmark.Cost{Calls: benchmark.Counts{"REST POST /rest/com/vmware/cis/tagging": 5, stream: 5}}},
		},
		Neighbours: benchmark.Neighbours{
			Machines: 20, Delay: 2,
			Alone: []float64{1.8, 1.7, 4.6}, BesideFast: []float64{2.3, 2.5}, Beside: []float64{2.5, 2.6, 2.4}, Slow: []float64{19.1},
		},
	}
}

func TestReport(t *testing.T) {
	g := NewWithT(t)
	golden := filepath.Join("testdata", "report.txt")
	if *update {
		g.Expect(os.WriteFile(golden, []byte(example().Report()), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(golden)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(example().Report()).To(Equal(string(want)))
}

// TestReportMarksMissedAims moves one number at a time over its aim.
func TestReportMarksMissedAims(t *testing.T) {
	good := func() Results {
		cost := benchmark.Cost{
			Calls: benchmark.Counts{"CloneVM_Task": aimCalls * aimVMs}, Requests: benchmark.Counts{"get secrets": aimRequests * aimVMs, "create events": 1000}, CPU: aimCPU * aimVMs,
		}
		return Results{
			Rollouts: []Rollout{{VMs: aimVMs, Ready: aimSeconds - 0.01, Cost: cost}},
			Stock:    Rollout{VMs: aimVMs, Ready: aimStock - 0.01, Cost: benchmark.Cost{Calls: benchmark.Counts{"CloneVM_Task": aimStock * aimVMs}}},
			Idle: Idle{
				VMs: 10, Periods: 3,
				Cost: benchmark.Cost{Calls: benchmark.Counts{stream: 1}, Reconciles: benchmark.Counts{vmController: 10 * aimSync}},
			},
			Zones:      Zones{First: Checks{Due: 1}, Touched: Checks{Due: 1}, Changed: Checks{Due: 1}},
			Neighbours: benchmark.Neighbours{Alone: []float64{10}, Beside: []float64{10}},
		}
	}
	NewWithT(t).Expect(missedRows(good())).To(BeEmpty())

	for _, test := range []struct {
		row    string
		change func(*Results)
	}{
		{"SOAP calls a VM", func(r *Results) { r.Rollouts[0].Calls[stream]++ }},
		{"Kubernetes requests a VM", func(r *Results) { r.Rollouts[0].Requests["get secrets"]++ }},
		{"CPU-seconds a VM", func(r *Results) { r.Rollouts[0].CPU += 0.01 }},
		{"seconds until ready", func(r *Results) { r.Rollouts[0].Ready = aimSeconds }},
		{"SOAP calls a VM, 100 VMs", func(r *Results) { r.Stock.Calls[stream]++ }},
		{"seconds until ready, 100 VMs", func(r *Results) { r.Stock.Ready = aimStock }},
		{"SOAP calls", func(r *Results) { r.Idle.Calls["Login"]++ }},
		{"REST calls", func(r *Results) { r.Idle.Calls["REST GET /rest"]++ }},
		{"reconciles of a VSphereVM", func(r *Results) { r.Idle.Reconciles[vmController]-- }},
		{"beside one that is 0 s late", func(r *Results) { r.Neighbours.Beside[0] = 12 }},
	} {
		t.Run(test.row, func(t *testing.T) {
			r := good()
			test.change(&r)
			NewWithT(t).Expect(missedRows(r)).To(ConsistOf(HavePrefix(test.row)))
		})
	}
}

func TestReportOfFailures(t *testing.T) {
	g := NewWithT(t)
	text := (Results{Neighbours: benchmark.Neighbours{Machines: 20, Delay: 2, Alone: []float64{1.8}}}).Report()
	g.Expect(strings.Count(text, benchmark.Unmeasured)).To(Equal(8), "five parts, and three of the times:\n%s", text)
	g.Expect(text).NotTo(Or(ContainSubstring(benchmark.Missed), ContainSubstring("NaN")))
}

func missedRows(r Results) []string {
	var rows []string
	for line := range strings.Lines(r.Report()) {
		if strings.HasSuffix(strings.TrimSpace(line), benchmark.Missed) {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

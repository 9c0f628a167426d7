// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestReportMarksMissedTargets(t *testing.T) {
	type results struct{ rollout, idle benchmark.Batch }
	good := func() results {
		return results{
			rollout: benchmark.Batch{Machines: aimVMs, Seconds: aimSeconds - 0.01, Cost: benchmark.Cost{
				Calls: benchmark.Counts{"CloneVM_Task": aimCalls * aimVMs}, CPU: aimCPU * aimVMs,
				Requests: benchmark.Counts{"get secrets": aimRequests * aimVMs, "create events": 1000},
			}},
			idle: benchmark.Batch{Machines: 10, Cost: benchmark.Cost{
				Calls: benchmark.Counts{stream: 1}, Reconciles: benchmark.Counts{vmController: 10 * aimSync},
			}},
		}
	}
	missed := func(r results) (names []string) {
		for _, row := range slices.Concat(rolloutRows(r.rollout), idleRows(r.idle.Machines, r.idle.Cost)) {
			if row.Verdict == benchmark.Missed {
				names = append(names, row.Name)
			}
		}
		return names
	}
	NewWithT(t).Expect(missed(good())).To(BeEmpty())
	for _, test := range []struct {
		row    string
		change func(*results)
	}{
		{"SOAP calls a VM", func(r *results) { r.rollout.Calls[stream]++ }},
		{"Kubernetes requests a VM", func(r *results) { r.rollout.Requests["get secrets"]++ }},
		{"CPU-seconds a VM", func(r *results) { r.rollout.CPU += 0.01 }},
		{"seconds until ready", func(r *results) { r.rollout.Seconds = aimSeconds }},
		{"SOAP calls", func(r *results) { r.idle.Calls["Login"]++ }},
		{"REST calls", func(r *results) { r.idle.Calls["REST GET /rest"]++ }},
		{"reconciles of a VSphereVM in all periods", func(r *results) { r.idle.Reconciles[vmController]-- }},
	} {
		t.Run(test.row, func(t *testing.T) {
			r := good()
			test.change(&r)
			NewWithT(t).Expect(missed(r)).To(Equal([]string{test.row}))
		})
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvester

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestReportSeparatesIdleRequestsFromReopenedWatches(t *testing.T) {
	g := NewWithT(t)
	idle := benchmark.Cost{CPU: 0.6, Calls: benchmark.Counts{"list nodes": 3, "watch virtualmachines": 4, "watch nodes": 1}}
	text := benchmark.Table(rows(benchmark.Batch{Machines: 50}, idle, 10*time.Minute))
	g.Expect(text).To(MatchRegexp(`(?m)^ +requests to Harvester in 10m0s of idling +3 +\S+ +0 +MISSED$`))
	g.Expect(text).To(MatchRegexp(`(?m)^ +reopened watches of Harvester in that time +5 `))
}

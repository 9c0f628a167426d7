// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestCPUSeconds(t *testing.T) {
	behind := " S 1 2 2 0 -1 4194560 26563 0 4 0 1234 66 7 8 20 0 12 0 3318 1290000 17000"
	for _, test := range []struct {
		name, stat string
		want       float64
		wrong      string
	}{
		{name: "plain", stat: "4711 (manager)" + behind, want: 13},
		{name: "a name that looks like more fields", stat: "4711 (a) S 1 (b c) d)" + behind, want: 13},
		{name: "empty", wrong: "is not what"},
		{name: "cut short", stat: "4711 (manager) S 1 2 3", wrong: "is not what"},
		{name: "no numbers", stat: "4711 (manager)" + strings.ReplaceAll(behind, "66", "x"), wrong: "invalid syntax"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			seconds, err := cpuSeconds(test.stat)
			if test.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(seconds).To(Equal(test.want))
		})
	}
}

func TestCPUSecondsOfAProcess(t *testing.T) {
	g := NewWithT(t)
	stat, err := os.ReadFile("testdata/stat")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cpuSeconds(string(stat))).To(Equal(6.75))
}

func TestAManagerThatStillComputesIsNotAtRest(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	still := &stillness{activity: -1}
	g.Expect(still.after(7, 1, began)).To(BeZero())
	g.Expect(still.after(7, 1.01, began.Add(time.Second))).To(Equal(time.Second), "a tick of the clock is no work")
	g.Expect(still.after(7, 1.2, began.Add(2*time.Second))).To(BeZero(), "nobody counts what the API server has converted")
	g.Expect(still.after(7, 1.2, began.Add(4*time.Second))).To(Equal(2 * time.Second))
	g.Expect(still.after(8, 1.2, began.Add(5*time.Second))).To(BeZero())
}

func TestCountRequests(t *testing.T) {
	g := NewWithT(t)
	log, err := os.Open("testdata/audit.log")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	requests, failed, err := countRequests(log, (&Runner{Provider: "vsphere"}).userAgent())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests).To(Equal(Counts{
		"create events":           1,
		"get /api":                1,
		"patch vspheremachines":   2,
		"patch vspherevms/status": 1,
		"watch machines":          1,
	}), "other clients, the end of watches and an unfinished line do not count")
	g.Expect(failed).To(Equal(Counts{"patch vspheremachines 409": 1}))
}

func TestCountRequestsRefusesOtherFiles(t *testing.T) {
	_, _, err := countRequests(strings.NewReader("{}\nnot JSON\n"), (&Runner{Provider: "vsphere"}).userAgent())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("line 2")))
}

func TestCountReconciles(t *testing.T) {
	g := NewWithT(t)
	counts, err := countReconciles(strings.NewReader(`# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="vspherevm",result="error"} 1
controller_runtime_reconcile_total{controller="vspherevm",result="requeue_after"} 2
controller_runtime_reconcile_total{controller="vspherevm",result="success"} 40
controller_runtime_reconcile_total{controller="vspherecluster",result="success"} 5
# TYPE controller_runtime_reconcile_errors_total counter
controller_runtime_reconcile_errors_total{controller="vspherevm"} 1
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(counts).To(Equal(Counts{"vspherevm": 43, "vspherecluster": 5}))

	_, err = countReconciles(strings.NewReader("up 1\n"))
	g.Expect(err).To(MatchError(ContainSubstring(reconcileTotal)))
}

func TestCostMinus(t *testing.T) {
	g := NewWithT(t)
	before := Cost{Calls: Counts{"Login": 1, "CloneVM_Task": 2}, CPU: 1.5}
	after := Cost{Calls: Counts{"Login": 1, "CloneVM_Task": 5, "WaitForUpdatesEx": 1}, CPU: 2}
	g.Expect(after.Minus(before).Calls).To(Equal(Counts{"CloneVM_Task": 3, "WaitForUpdatesEx": 1}))
	g.Expect(after.Minus(before).CPU).To(Equal(0.5))
	g.Expect(after.Calls).To(HaveLen(3), "what is compared is left as it is")
}

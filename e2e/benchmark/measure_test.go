// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package benchmark

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestBusyManagerIsNotIdle(t *testing.T) {
	g := NewWithT(t)
	began := time.Now()
	still := &idleDetector{activity: -1}
	g.Expect(still.after(7, 1, began)).To(BeZero())
	g.Expect(still.after(7, 1.01, began.Add(time.Second))).To(Equal(time.Second), "a tick of the clock does not count")
	g.Expect(still.after(7, 1.2, began.Add(2*time.Second))).To(BeZero(), "conversions by the API server do not count")
	g.Expect(still.after(7, 1.2, began.Add(4*time.Second))).To(Equal(2 * time.Second))
	g.Expect(still.after(8, 1.2, began.Add(5*time.Second))).To(BeZero())
}

func TestCountRequests(t *testing.T) {
	g := NewWithT(t)
	log, err := os.Open("testdata/audit.log")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	requests, err := countRequests(log, "faultline-vsphere-manager")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(requests).To(Equal(Counts{
		"create events":           1,
		"get /api":                1,
		"patch vspheremachines":   2,
		"patch vspherevms/status": 1,
		"watch machines":          1,
	}), "other clients, the end of watches and an unfinished line do not count")
}

func TestCountRequestsRejectsInvalidFiles(t *testing.T) {
	_, err := countRequests(strings.NewReader("{}\nnot JSON\n"), "faultline-vsphere-manager")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("audit log")))
}

func TestCostMinus(t *testing.T) {
	g := NewWithT(t)
	before := Cost{Calls: Counts{"Login": 1, "CloneVM_Task": 2}, CPU: 1.5}
	after := Cost{Calls: Counts{"Login": 1, "CloneVM_Task": 5, "WaitForUpdatesEx": 1}, CPU: 2}
	g.Expect(after.Minus(before).Calls).To(Equal(Counts{"CloneVM_Task": 3, "WaitForUpdatesEx": 1}))
	g.Expect(after.Minus(before).CPU).To(Equal(0.5))
	g.Expect(after.Calls).To(HaveLen(3), "what is compared is left as it is")
}

func TestParseScale(t *testing.T) {
	g := NewWithT(t)
	parse := func(text string) (machines int, watch time.Duration, err error) {
		quantities := flag.NewFlagSet("scale", flag.ContinueOnError)
		quantities.IntVar(&machines, "machines", 200, "")
		quantities.DurationVar(&watch, "watch", time.Minute, "")
		err = parseScale(text, quantities)
		return machines, watch, err
	}
	for text, want := range map[string]struct {
		machines int
		watch    time.Duration
	}{
		"1": {200, time.Minute}, "true": {200, time.Minute}, "watch=5s": {200, 5 * time.Second}, "machines=20, watch=5s": {20, 5 * time.Second},
	} {
		machines, watch, err := parse(text)
		g.Expect(err).NotTo(HaveOccurred(), text)
		g.Expect(machines).To(Equal(want.machines), text)
		g.Expect(watch).To(Equal(want.watch), text)
	}
	for _, wrong := range []string{"machines=", "machines=0", "machines=-1", "vms=3", "watch=5", "watch=0s", ""} {
		_, _, err := parse(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
	}
}

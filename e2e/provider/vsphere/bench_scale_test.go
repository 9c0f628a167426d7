// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestScaleIsReadFromWhatDiffers(t *testing.T) {
	g := NewWithT(t)
	full, err := ParseScale("1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*full).To(Equal(Scale{Machines: 2000, Foreign: 10000, Watch: time.Minute, Outage: 5 * time.Minute}))
	some, err := ParseScale("machines=300, outage=30s")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*some).To(Equal(Scale{Machines: 300, Foreign: 10000, Watch: time.Minute, Outage: 30 * time.Second}))
	g.Expect(some.limit()).To(BeNumerically(">", 2*time.Minute+30*time.Second))
	for _, wrong := range []string{"machines=", "machines=0", "vms=3", "outage=5", ""} {
		_, err := ParseScale(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
	}
}

func TestScaleReportHasALineForEachPhase(t *testing.T) {
	g := NewWithT(t)
	text := (&ScaleResults{Machines: 300, Foreign: 2000, Ready: 41, Phases: []Phase{
		{Name: "rest", Seconds: 20, RSS: 90 * benchmark.Mebibyte, Peak: 100 * benchmark.Mebibyte, Cost: benchmark.Cost{
			CPU: 1, Reconciles: benchmark.Counts{vmController: 4, zoneController: 3},
			Requests: benchmark.Counts{"patch vspherevms/status": 2, "update leases": 9, "get leases": 9}, Calls: benchmark.Counts{stream: 5},
		}},
	}}).Report()
	g.Expect(text).To(ContainSubstring("300 machines, the last of them ready after 41 s, beside 2000 virtual machines of others"))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	g.Expect(strings.Fields(lines[len(lines)-1])).To(Equal(strings.Fields("20 1.0 5.0 % 90 100 7 4 2 5 rest")))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/demo/internal/report"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// summary describes the result: times, memory, and the calls per machine.
func (d *demo) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nWhere %s had the machines\n  %s\n", d.about.System, strings.Join(d.placed, "\n  "))
	if d.replacement.Name != "" {
		fmt.Fprintf(&text, "  While %s was broken, %s was replaced by %s in %s.\n", d.failed.Domain, d.failed.Name, d.replacement.Name, d.replacement.Domain)
	}
	if d.client != nil {
		fmt.Fprintf(&text, "  A client wrote before %s was gone, meanwhile and after: %s.\n", d.failed.Domain, d.written())
	}
	fmt.Fprintln(&text, "\nSummary")
	text.WriteString(report.Timings(d.timings, time.Since(d.began)))
	processes := append(d.Management.Processes(), managementcluster.Self("demo"))
	fmt.Fprintf(&text, "  memory: %s\n", report.Memory(processes))
	if _, counted := d.infrastructure.(provider.Counter); counted {
		fmt.Fprintf(&text, "  calls to %s: %s\n", d.about.System, d.calls.Words())
	}
	return text.String()
}

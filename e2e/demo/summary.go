// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// summary describes the result: the placement, the time and the memory.
func (d *demo) summary() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nWhere %s had the machines\n  %s\n", d.about.System, strings.Join(d.placed, "\n  "))
	if d.replacement.Name != "" {
		fmt.Fprintf(&text, "  While %s was broken, %s was replaced by %s in %s.\n", d.failed.Domain, d.failed.Name, d.replacement.Name, d.replacement.Domain)
	}
	if d.client != nil {
		fmt.Fprintf(&text, "  A client wrote before %s was gone, meanwhile and after: %s.\n", d.failed.Domain, d.written())
	}
	fmt.Fprintf(&text, "\nSummary\n  %s in all\n", seconds(time.Since(d.began)))
	processes, peak := append(d.Management.Processes(), managementcluster.Self("demo")), int64(0)
	for _, p := range processes {
		peak += p.Peak
	}
	if peak > 0 { // It is unknown on some systems.
		fmt.Fprintf(&text, "  memory: %d MiB in %d processes at their peaks\n", peak>>20, len(processes))
	}
	return text.String()
}

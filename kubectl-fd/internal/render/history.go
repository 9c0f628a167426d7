// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"time"

	"github.com/faultline-io/faultline/kubectl-fd/internal/report"
)

// History prints events, with the time in UTC and their age.
func History(w io.Writer, entries []report.Entry, style Style) error {
	t := &table{style: style}
	t.add(head("TIME", "AGO", "REASON", "MESSAGE")...)
	for _, entry := range entries {
		message := oneLine(entry.Message)
		if entry.Count > 1 {
			message += fmt.Sprintf(" (%d times)", entry.Count)
		}
		t.add(plain(entry.Time.UTC().Format(time.RFC3339)), plain(style.ago(entry.Time)), plain(entry.Reason), plain(message))
	}
	return t.write(w)
}

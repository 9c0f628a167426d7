// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"

	"github.com/faultline-io/faultline/kubectl-fd/internal/preflight"
)

// Preflight prints findings, and their number per verdict.
func Preflight(w io.Writer, findings []preflight.Finding, style Style) error {
	t := &table{style: style}
	count := map[preflight.Verdict]int{}
	if len(findings) > 0 {
		t.add(head("VERDICT", "PROVIDER", "OBJECT", "RULE", "ABOUT")...)
	}
	for _, f := range findings {
		count[f.Verdict]++
		t.add(cell{{string(f.Verdict), verdictColour(f.Verdict)}}, plain(f.Provider), plain(objectOf(f)), plain(f.Rule), plain(oneLine(about(f))))
	}
	if err := t.write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d to fix before the takeover, %d to check, %d that will be different\n",
		count[preflight.Stops], count[preflight.Check], count[preflight.Changes])
	return err
}

// about returns the message of a finding, prefixed with its field.
func about(f preflight.Finding) string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

func verdictColour(v preflight.Verdict) colour {
	switch v {
	case preflight.Stops:
		return red
	case preflight.Check:
		return yellow
	}
	return faint
}

func objectOf(f preflight.Finding) string {
	switch {
	case f.Name == "":
		return f.Kind
	case f.Namespace == "":
		return f.Kind + " " + f.Name
	}
	return f.Kind + " " + f.Namespace + "/" + f.Name
}

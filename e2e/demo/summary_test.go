// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
)

func TestExplain(t *testing.T) {
	g := NewWithT(t)
	err := error(&StepError{Step: "The cluster comes up", Err: errors.New("timed out after 3m0s"), Diagnosis: "  Machine a\n    Ready=False\n", Logs: "/logs"})
	g.Expect(Explain(err)).To(Equal("Failed at: The cluster comes up\n  timed out after 3m0s\nUnexpected state:\n  Machine a\n    Ready=False\nLogs: /logs"))
	g.Expect(Explain(errors.New("no such provider"))).To(ContainSubstring("no such provider"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestStepsReportDuration(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(0, 0)
	var out strings.Builder
	s := stepper{logs: t.TempDir(), out: &out, clock: func() time.Time { return now }}
	g.Expect(s.run(t.Context(), []step{
		{"node image", func(context.Context, io.Writer) error { now = now.Add(1500 * time.Millisecond); return nil }},
		{"kind cluster", func(context.Context, io.Writer) error { now = now.Add(time.Minute); return nil }},
	})).To(Succeed())
	g.Expect(strings.Fields(out.String())).To(Equal(strings.Fields("node image 1.5 s kind cluster 60.0 s in all 61.5 s")))
}

func TestFailedStepNamesLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := stepper{logs: t.TempDir(), out: io.Discard, clock: time.Now}
	cause := errors.New("docker import: exit status 1")
	err := s.run(t.Context(), []step{
		{"node image", func(_ context.Context, log io.Writer) error {
			_, _ = fmt.Fprintln(log, "some output")
			return cause
		}},
		{"never", func(context.Context, io.Writer) error { panic("a step after one that failed") }},
	})
	log := filepath.Join(s.logs, "node-image.log")
	g.Expect(err).To(MatchError(cause))
	g.Expect(err).To(MatchError(And(ContainSubstring(`step "node image"`), ContainSubstring(log))))
	g.Expect(os.ReadFile(log)).To(BeEquivalentTo("some output\nError: docker import: exit status 1\n"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRunAnswersAndLogs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var log strings.Builder
	out, err := Runner{Log: &log, Env: []string{"WORD=hello"}}.Run(t.Context(), "sh", "-c", `echo "$WORD"; echo aside >&2`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("hello\n"))
	g.Expect(log.String()).To(ContainSubstring(`$ sh -c 'echo "$WORD"; echo aside >&2'`))
	g.Expect(log.String()).To(And(ContainSubstring("hello\n"), ContainSubstring("aside\n")))
}

func TestRunNamesFailedCommand(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := Runner{}.Run(t.Context(), "sh", "-c", "for i in $(seq 21); do echo line $i >&2; done; exit 3")
	g.Expect(err).To(MatchError(And(ContainSubstring("sh -c"), ContainSubstring("exit status 3"), ContainSubstring("line 21"))))
	g.Expect(err.Error()).NotTo(ContainSubstring("line 1\n"))
}

func TestStreamFeedsTheCommand(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out, log strings.Builder
	err := Runner{Log: &log}.Stream(t.Context(), Streams{In: strings.NewReader("bytes"), Out: &out}, "cat")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.String()).To(Equal("bytes"))
	g.Expect(log.String()).NotTo(ContainSubstring("bytes"))
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Runner{}.Run(ctx, "sleep", "60")
	NewWithT(t).Expect(err).To(MatchError(context.Canceled))
}

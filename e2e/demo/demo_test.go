// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

// Libraries with a process-wide logger must not write into the output of tests.
func TestMain(m *testing.M) {
	divertLogs(io.Discard)
	os.Exit(m.Run())
}

// output can be read while the demo runs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (t *output) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *output) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// demoOf returns the demo that Run would run with the options.
func demoOf(t *testing.T, options Options) *demo {
	t.Helper()
	s, err := newDemo(t.Context(), options, t.TempDir())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(s.close)
	return s
}

// testFailure breaks a domain before there is a cluster, so that the demo fails.
func testFailure(t *testing.T, s *demo, told *output) {
	t.Helper()
	g := NewWithT(t)
	err := s.run([]step{
		{"Break", time.Second, func(ctx context.Context) error { _, err := s.infrastructure.Break(ctx, "zone-a"); return err }},
		{"Apply", time.Minute, s.apply},
		{"Wait", 15 * time.Second, s.domainsReady},
		{"Never", time.Second, func(context.Context) error { panic("the demo went on") }},
	})
	var failed *StepError
	g.Expect(errors.As(err, &failed)).To(BeTrue(), "%v", err)
	g.Expect(failed.Step).To(Equal("Wait"))
	g.Expect(failed).To(MatchError(And(ContainSubstring("timed out after 15s"), ContainSubstring("zone-a"))))
	g.Expect(failed.Diagnosis).To(And(
		ContainSubstring("VSphereDeploymentZone zone-a"), ContainSubstring("DatastoreNotFound"), Not(ContainSubstring("VSphereDeploymentZone zone-b")),
	))
	g.Expect(failed.Logs).To(BeADirectory())
	g.Expect(told.String()).To(ContainSubstring("FAILED after"))
}

func TestInterruptionCleansUp(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := emptyDemo(ctx, Options{Out: &strings.Builder{}}, t.TempDir())
	err := s.run([]step{{"Wait", time.Minute, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}})
	g.Expect(err).To(MatchError(ErrInterrupted))
	g.Expect(Explain(err)).To(Equal("Interrupted at: Wait"))
	s.close()
}

func TestClosedOutputInterruptsTheDemo(t *testing.T) {
	g := NewWithT(t)
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := emptyDemo(ctx, Options{Out: &interrupting{out: writer, interrupt: cancel}}, t.TempDir())
	g.Expect(reader.Close()).To(Succeed())
	err := s.run([]step{{"Wait", time.Minute, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}})
	g.Expect(err).To(MatchError(ErrInterrupted))
	s.close()
}

func TestUnknownFlavorIsRejectedBeforeBuild(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, tc := range []struct {
		options Options
		says    string
	}{
		{Options{Provider: vsphere.Provider{}, Flavor: "vanilla"}, `no flavor "vanilla": must be one of external-loadbalancer, topology`},
		{Options{Provider: metal3.Provider{}, Flavor: "vanilla"}, "topology"},
		{Options{Provider: metal3.Provider{}, Flavor: "rke2"}, `no flavor "rke2": must be one of remediation, topology`},
	} {
		_, err := newDemo(t.Context(), tc.options, t.TempDir())
		g.Expect(err).To(MatchError(ContainSubstring(tc.says)))
	}
}

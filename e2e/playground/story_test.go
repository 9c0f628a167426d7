// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// TestStory tells the whole story with a cluster from the ClusterClass; `make demo`
// tells it with one from the plain template.
func TestStory(t *testing.T) {
	for provider, broken := range map[string][]string{
		"vsphere": {"Ready=False", "no control plane (DatastoreNotFound)", "Ready=True", "from nothing to ready"},
		"metal3":  {"rack-b has no power", "no control plane (FailureDomainHostsUnhealthy)", "delete the BareMetalHost to let the Machine go"},
	} {
		t.Run(provider, func(t *testing.T) {
			g := NewWithT(t)
			var told strings.Builder
			err := Run(t.Context(), Options{Provider: provider, Flavor: topology, Out: &told})
			t.Log(told.String())
			if err != nil {
				t.Fatal(Explain(err))
			}
			for _, part := range append(broken, "leaves nothing") {
				g.Expect(told.String()).To(ContainSubstring(part))
			}
		})
	}
}

// TestFailureIsExplained breaks a domain before there is a cluster, so that the
// story cannot go on.
func TestFailureIsExplained(t *testing.T) {
	g := NewWithT(t)
	builder, err := binaries.New(os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	programs, err := builder.Ensure(t.Context(), binaries.Playground("vsphere")...)
	g.Expect(err).NotTo(HaveOccurred())
	restore, err := divertLogs(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(restore)
	var told strings.Builder
	s := newStory(t.Context(), Options{Provider: "vsphere", Out: &told}, builder, programs, t.TempDir())
	t.Cleanup(s.close)
	err = s.tell([]step{
		{"Start", time.Minute, s.begin},
		{"Break", time.Second, func(ctx context.Context) error { _, err := s.infrastructure.Break(ctx, "zone-a"); return err }},
		{"Apply", time.Minute, s.apply},
		{"Wait", 15 * time.Second, s.domainsReady},
		{"Never", time.Second, func(context.Context) error { panic("the story went on") }},
	})
	var failed *StepError
	g.Expect(errors.As(err, &failed)).To(BeTrue(), "%v", err)
	g.Expect(failed.Step).To(Equal("Wait"))
	g.Expect(failed).To(MatchError(And(ContainSubstring("gave up after 15s"), ContainSubstring("zone-a"))))
	g.Expect(failed.Diagnosis).To(And(
		ContainSubstring("VSphereDeploymentZone zone-a"), ContainSubstring("DatastoreNotFound"), Not(ContainSubstring("VSphereDeploymentZone zone-b")),
	))
	g.Expect(failed.Logs).To(BeADirectory())
	g.Expect(told.String()).To(ContainSubstring("FAILED after"))
}

func TestInterruptionLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	s := newStory(ctx, Options{Out: &strings.Builder{}}, nil, nil, t.TempDir())
	err := s.tell([]step{{"Wait", time.Minute, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}}})
	g.Expect(err).To(MatchError(ErrInterrupted))
	g.Expect(Explain(err)).To(Equal("Interrupted at: Wait"))
	s.close()
}

func TestUnknownProvider(t *testing.T) {
	g := NewWithT(t)
	_, err := newInfrastructure("abacus")
	g.Expect(err).To(MatchError(ContainSubstring("abacus")))
}

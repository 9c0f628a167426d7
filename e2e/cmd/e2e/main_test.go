// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// None of them may start anything, such as a kind cluster.
func TestInvalidArgumentsAreRejected(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                           "a subcommand is required: e2e SUBCOMMAND",
		"frobnicate":                 "  kind       creates a kind cluster",
		"--kills=3":                  "a subcommand is required",
		"storm --kils=3":             `flag provided but not defined: -kils: see "e2e storm --help"`,
		"storm --control-plane=rke2": "control planes of rke2 are for mode rebalance",
		"storm --mode=rebalance --control-plane=k3s":  `unknown control plane "k3s": must be kubeadm or rke2`,
		"storm --mode=rebalance --control-plane=rke2": "FAULTLINE_RKE2 and FAULTLINE_RKE2_RELEASE are empty",
		"demo metal3":                  `unexpected argument "metal3"`,
		"bench --manager=x":            "--manager and --release must be set together",
		"release":                      "--version and --out must be set",
		"kind":                         "an action is required: e2e kind up, or one of down, images, managers, template",
		"kind frobnicate":              `unknown action "e2e kind frobnicate": must be one of up, down, images, managers, template`,
		"kind up now":                  `unexpected argument "now": run e2e kind up`,
		"kind up --boot":               "flags must precede arguments: e2e kind --boot up",
		"kind template":                "the name of the cluster is required, the flavor is optional: e2e kind template NAME [FLAVOR]",
		"kind --providers=abacus up":   "abacus",
		"kind --images=imagined up":    "imagined",
		"kind --boot=perhaps template": `invalid boolean value "perhaps" for -boot`,
	} {
		g := NewWithT(t)
		var stdout, stderr bytes.Buffer
		g.Expect(run(t.Context(), strings.Fields(args), &stdout, &stderr)).To(MatchError(ContainSubstring(want)), args)
		g.Expect(stdout.String()+stderr.String()).To(BeEmpty(), args)
	}
}

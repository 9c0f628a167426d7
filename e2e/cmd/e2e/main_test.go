// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// None of them may start anything, such as a kind cluster.
func TestWordsThatSayNothingAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                             "name what to do: e2e SUBCOMMAND",
		"frobnicate":                   "  kind       brings up a kind cluster",
		"--kills=3":                    "name what to do",
		"storm --kils=3":               "there is no flag --kils: `e2e storm --help` lists those there are",
		"demo metal3":                  `"metal3" is no flag`,
		"bench --manager=x":            "--manager and --release go together",
		"release":                      "say --version and --out",
		"kind":                         "say what to do: e2e kind up, or one of down, images, managers, template",
		"kind frobnicate":              `there is no "e2e kind frobnicate": say one of up, down, images, managers, template`,
		"kind up now":                  `"now" is not asked for: write e2e kind up`,
		"kind up --boot":               "flags go before words: e2e kind --boot up",
		"kind template":                "name the cluster, and no more than a flavor: e2e kind template NAME [FLAVOR]",
		"kind --providers=abacus up":   "abacus",
		"kind --images=imagined up":    "imagined",
		"kind --boot=perhaps template": `--boot="perhaps": it is true or false`,
	} {
		g := NewWithT(t)
		var stdout, stderr bytes.Buffer
		g.Expect(run(t.Context(), strings.Fields(args), &stdout, &stderr)).To(MatchError(ContainSubstring(want)), args)
		g.Expect(stdout.String()+stderr.String()).To(BeEmpty(), args)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// None of them may begin anything: there would be a kind cluster.
func TestWordsThatSayNothingAreRefusedInOneLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                        "say what to do: kind up, or one of down, images, managers, template",
		"frobnicate":              `there is no "kind frobnicate": say one of up, down, images, managers, template`,
		"up now":                  `"now" is not asked for: write kind up`,
		"up --boot":               "flags go before words: kind --boot up",
		"template":                "name the cluster, and no more than a flavor: kind template NAME [FLAVOR]",
		"--providers=abacus up":   "abacus",
		"--images=imagined up":    "imagined",
		"--boot=perhaps template": `--boot="perhaps": it is true or false`,
	} {
		g := NewWithT(t)
		var stdout, stderr bytes.Buffer
		g.Expect(run(t.Context(), strings.Fields(args), &stdout, &stderr)).To(MatchError(ContainSubstring(want)), args)
		g.Expect(stdout.String()+stderr.String()).To(BeEmpty(), args)
	}
}

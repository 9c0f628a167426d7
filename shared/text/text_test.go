// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/text"
)

func TestCut(t *testing.T) {
	g := NewWithT(t)
	g.Expect(text.Truncate("rack-2", 6)).To(Equal("rack-2"))
	g.Expect(text.Truncate("rack-23", 6)).To(Equal("rac..."))
	umlauts := strings.Repeat("ü", 20)
	for most := 3; most < len(umlauts); most++ {
		cut := text.Truncate(umlauts, most)
		g.Expect(len(cut)).To(And(BeNumerically("<=", most), BeNumerically(">=", most-1)))
		g.Expect(utf8.ValidString(cut)).To(BeTrue(), cut)
		g.Expect(cut).To(HaveSuffix("..."))
	}
}

func TestInLine(t *testing.T) {
	g := NewWithT(t)
	g.Expect(text.SingleLine("no machine has joined")).To(Equal("no machine has joined"))
	g.Expect(text.SingleLine("* FailureDomainValidated: datacenter dc is missing")).To(Equal("FailureDomainValidated: datacenter dc is missing"))
	g.Expect(text.SingleLine("* A: x\n* Machine m:\n  * B: y\n  * C: z\n")).To(Equal("A: x; Machine m: B: y; C: z"))
	g.Expect(text.SingleLine("")).To(BeEmpty())
}

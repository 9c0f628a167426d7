// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAFrameIsReplacedInPlaceAndLeftAtTheEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var out strings.Builder
	text := "one"
	w := NewWriter(&out, func() (int, int) { return 80, 3 }, func(time.Time, int) []string { return []string{"too high", "head", text} })
	w.Change(func() {})
	w.Change(func() { text = "two" })
	w.Close()
	w.Close()
	w.Change(func() { text = "three" })
	written := out.String()
	g.Expect(strings.Count(written, showCursor)).To(Equal(1))
	g.Expect(written).To(ContainSubstring("\x1b[2A\rhead" + clearLine + "\n\rtwo"))
	g.Expect(written).NotTo(Or(ContainSubstring("three"), ContainSubstring("too high")))
}

func TestTextsFitTheirColumns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Fit("ab", 4)).To(Equal("ab  "))
	g.Expect(Fit("abcde", 4)).To(Equal("abc…"))
	g.Expect(Ends("left", "1:05", 12)).To(Equal("left    1:05"))
	g.Expect(Clock(65 * time.Second)).To(Equal("1:05"))
	g.Expect(Beside([][]string{{"a", "b"}, {"c"}}, 1)).To(Equal([]string{"a c", "b"}))
}

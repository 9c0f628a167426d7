// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// smallestText is the smallest font size of a picture, in pixels.
const smallestText = 12

// A picture must be readable in dark mode, on a small screen, to a screen reader, and without access to the network.
func TestPicturesAreReadable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	files, err := filepath.Glob(filepath.Join(repository, "docs", "images", "*.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(files)).To(BeNumerically(">=", 7))
	pages := documents(t)
	for _, file := range files {
		name := filepath.Base(file)
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		picture := string(content)
		for decoder := xml.NewDecoder(strings.NewReader(picture)); err == nil; {
			_, err = decoder.Token()
		}
		g.Expect(errors.Is(err, io.EOF)).To(BeTrue(), "%s: %v", name, err)
		g.Expect(picture).NotTo(MatchRegexp(`@import|@font-face|href="http|url\(http`), name)
		for _, size := range regexp.MustCompile(`font(?:-size)?[:=]\s*"?(\d+)`).FindAllStringSubmatch(picture, -1) {
			px, err := strconv.Atoi(size[1])
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(px).To(BeNumerically(">=", smallestText), name)
		}
		if name != "demo.svg" && name != "kubectl-fd.svg" { // a terminal is always dark; the other is a program's output
			g.Expect(picture).To(And(ContainSubstring("@media (prefers-color-scheme: dark)"), ContainSubstring(`role="img" aria-label=`)), name)
		}
		shown := false
		for _, page := range pages {
			shown = shown || strings.Contains(page, "images/"+name+")")
		}
		g.Expect(shown).To(BeTrue(), "no page shows docs/images/%s", name)
	}
}

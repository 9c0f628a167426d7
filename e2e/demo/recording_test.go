// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// update makes the test of the documentation write the picture of the recorded demo.
var update = flag.Bool("update", false, "write docs/images/demo.svg")

func TestRecordingWrapsAndScrolls(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	long := "[ 10.0 s]   " + strings.Repeat("<", 100)
	picture, err := recording("[  0.0 s] Start\n" + long + "\n[ 20.0 s]   failure domain zone-b: Cordoned\n\nSummary\n")
	g.Expect(err).NotTo(HaveOccurred())
	var texts []string
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	g.Expect(texts).To(ContainElements("[  0.0 s] Start", long[:96], long[96:], "[ 20.0 s]   failure domain zone-b: Cordoned", "Summary"))
	// Rows are 17 px high. After 0 s, 10 s and 20 s there are one, three and six; five times as fast, and 6 s for the last frame.
	g.Expect(picture).To(ContainSubstring("@keyframes cover{0.00%{transform:translateY(17px)}20.00%{transform:translateY(51px)}40.00%{transform:translateY(102px)}"))
	g.Expect(picture).To(ContainSubstring("@keyframes scroll{0.00%{transform:translateY(0px)}20.00%{transform:translateY(0px)}"))
	g.Expect(picture).To(ContainSubstring(`<text x="12" y="17" class="step">[  0.0 s] Start`))
	g.Expect(picture).To(ContainSubstring(`<text x="12" y="34">[ 10.0 s]`), "no step")
	g.Expect(picture).To(ContainSubstring(`class="bad">[ 20.0 s]`))
	g.Expect(picture).To(ContainSubstring(`class="step">Summary`))

	picture, err = recording("[  0.0 s] Start\n" + strings.Repeat("[ 10.0 s]   more\n", 40))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(picture).To(ContainSubstring("25.00%{transform:translateY(-187px)}"), "11 rows have left the screen")

	_, err = recording("make: nothing to be done\n")
	g.Expect(err).To(MatchError(ContainSubstring("pass the whole output of a demo")))
}

// The README shows a real run, and the page of the demo an excerpt of it.
func TestDocumentationShowsTheRecordedDemo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := filepath.Join("..", "..")
	output, err := os.ReadFile(filepath.Join("testdata", "transcript.txt"))
	g.Expect(err).NotTo(HaveOccurred())
	want, err := recording(string(output))
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(root, "docs", "images", "demo.svg")
	if *update {
		g.Expect(os.WriteFile(file, []byte(want), 0o644)).To(Succeed())
	}
	picture, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(picture)).To(Equal(want), "run again with -update")
	g.Expect(len(picture)).To(BeNumerically("<", 100_000))

	page, err := os.ReadFile(filepath.Join(root, "docs", "demo.md"))
	g.Expect(err).NotTo(HaveOccurred())
	shown := 0
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "[") && strings.Contains(line, " s] ") {
			shown++
			g.Expect(string(output)).To(ContainSubstring(line))
		}
	}
	g.Expect(shown).To(BeNumerically(">", 10))
}

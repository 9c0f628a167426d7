// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// noKeys returns the constants whose values look like those of labels and annotations and are none.
func noKeys() map[string]bool {
	return map[string]bool{"DataSecretType": true, "HostPausedByProvider": true, "TopologyKeyZone": true, "outputVersion": true, "module": true}
}

// The constants are found by their text, and not as the page finds them.
func TestLabelsPageShowsEveryKeyOfTheCode(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pages, err := labelsPage(sources)
	g.Expect(err).NotTo(HaveOccurred())
	shown := map[string]bool{}
	for _, row := range cells(pages["labels.md"]) {
		shown[strings.TrimSuffix(strings.Trim(row["Key"], "`"), "…")] = true
		g.Expect(row).NotTo(HaveKey("beyond the header"))
		for _, column := range []string{"Type", "On", "Description", "Used by"} {
			g.Expect(row[column]).NotTo(BeEmpty(), "%s of %s", column, row["Key"])
		}
	}
	found := 0
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+) += ("[a-z0-9-]+(?:\.[a-z0-9-]+)+/[A-Za-z0-9._-]+"|"[^"]*finalizer[^"]*")$`)
	for _, folder := range []string{"shared", "providers", "kubectl-fd"} {
		g.Expect(filepath.WalkDir(filepath.Join(sources, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "simulator") || strings.Contains(path, "/test") || strings.Contains(path, "/integration/") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range constant.FindAllStringSubmatch(string(content), -1) {
				if noKeys()[match[1]] {
					continue
				}
				found++
				g.Expect(shown).To(HaveKey(strings.Trim(match[2], `"`)), "%s: %s", path, match[1])
			}
			return err
		})).To(Succeed())
	}
	g.Expect(found).To(BeNumerically(">", 90))
	g.Expect(section(pages["labels.md"], "## Faultline")).To(ContainSubstring("`infrastructure.cluster.x-k8s.io/current-move`"), "the former name")
}

func TestKeysWithoutObjectOrTypeInTheirCommentAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := readKey(constant{Name: "NetworkAnnotation", Value: "example.com/network", Doc: "NetworkAnnotation is the network."}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("NetworkAnnotation on OBJECT is")))
	_, err = readKey(constant{Name: "network", Value: "example.com/network", Doc: "network on a Node is its network."}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("does not name the type")))
	read, err := readKey(constant{Name: "FastAnnotation", Value: "example.com/fast", Doc: "FastAnnotation on a Node, with any value, allows it."}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Objects + ": " + read.Does).To(Equal("Node: With any value: allows it."))
	read, err = readKey(constant{Name: "Finalizer", Value: "example.com/f", Doc: "Finalizer keeps an address claim until it is free."}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read.Objects).To(Equal("address claim"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// byClusterAPI stands for the test of a field that Cluster API reads.
const byClusterAPI = "by Cluster API"

// sources are those of the provider without its webhooks and conversions, which know all fields and act on none.
type sources struct {
	code  strings.Builder
	tests map[string]string // the file of each
}

func readSources(t *testing.T) *sources {
	t.Helper()
	s, declared := &sources{tests: map[string]string{}}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join("..", "webhook") || path == filepath.Join("..", "conversion")):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			s.code.Write(data)
			return nil
		}
		for _, match := range declared.FindAllSubmatch(data, -1) {
			s.tests[string(match[1])] = string(data)
		}
		return nil
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

// expect fails where nothing reads a field of that name, or the test that is to show it is gone or is about other things.
func (s *sources) expect(g *WithT, name, test string) {
	if test == byClusterAPI {
		return
	}
	g.Expect(regexp.MustCompile(`\.`+name+`\b`).MatchString(s.code.String())).To(BeTrue(), "nothing reads field %s", name)
	g.Expect(s.tests).To(HaveKey(test), "which is to show that field %s acts", name)
	g.Expect(regexp.MustCompile(`\b`+name+`\b`).MatchString(s.tests[test])).To(BeTrue(), "what is beside %s does not know field %s", test, name)
}

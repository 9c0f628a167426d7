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

// byClusterAPI replaces the test of a field that only Cluster API reads.
const byClusterAPI = "by Cluster API"

// sources holds the source code of the provider without webhooks and conversions, which reference all fields.
type sources struct {
	code  strings.Builder
	tests map[string]string // file of each test
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

// expect fails if no code reads a field with that name, or if the test for it does not exist or does not use the field.
func (s *sources) expect(g *WithT, name, test string) {
	if test == byClusterAPI {
		return
	}
	g.Expect(regexp.MustCompile(`\.`+name+`\b`).MatchString(s.code.String())).To(BeTrue(), "nothing reads field %s", name)
	g.Expect(s.tests).To(HaveKey(test), "which is to show that field %s acts", name)
	g.Expect(regexp.MustCompile(`\b`+name+`\b`).MatchString(s.tests[test])).To(BeTrue(), "%s does not use field %s", test, name)
}

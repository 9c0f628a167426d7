// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// capitalized matches a word with a capital letter in the middle of a sentence, which is a proper name or an identifier.
var capitalized = regexp.MustCompile(`[a-z,] \(?([A-Z][A-Za-z]*[a-z])\b`)

// properNames returns names that are not in the code.
func properNames() []string {
	return []string{
		"AddPortGroup", "Argo", "CamelCase", "Cloudbase", "DataVolume", "English", "Flux", "FromHub", "GitHub", "Grafana", "Hextra", "Markdown", "ORed", "Prometheus",
		"Runnable", "Tilt", "ToHub", "Trusted", "URNs", "VirtualMachineRestore",
	}
}

// Identifiers are renamed: a comment must not send a reader to one that no longer exists.
func TestCommentsNameWhatExists(t *testing.T) {
	t.Parallel()
	folders := []string{"shared", "providers", "kubectl-fd", "e2e"}
	known := wordsIn(t, []token.Token{token.IDENT, token.STRING}, folders...)
	exists := func(name string) bool {
		for _, plural := range []string{"", "s", "es"} {
			if known[strings.TrimSuffix(name, plural)] {
				return true
			}
		}
		return slices.Contains(properNames(), name)
	}
	for path, text := range goFiles(t, folders...) {
		for line := range strings.Lines(string(text)) {
			comment, found := strings.CutPrefix(strings.TrimSpace(line), "// ")
			if !found || strings.HasPrefix(comment, "+") || strings.HasPrefix(comment, "Copyright ") {
				continue
			}
			for _, name := range capitalized.FindAllStringSubmatch(comment, -1) {
				if !exists(name[1]) {
					t.Errorf("%s: a comment names %s, which is not in the code: name what exists, or add a proper name to properNames: %s", path, name[1], comment)
				}
			}
		}
	}
}

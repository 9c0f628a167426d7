// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ReasonsNamed lists the API reasons used in the Go files that match the pattern, or only in the given function if it is not "".
func ReasonsNamed(pattern, function string) ([]string, error) {
	within := `(?s).*`
	if function != "" {
		within = `(?ms)^func ` + function + `\(.*?^}`
	}
	return reasons(pattern, within, `v1\.(\w*Reason\w*)`)
}

// SiblingReasons lists the reasons that a Go file declares in the same const block as the given one.
func SiblingReasons(pattern, reason string) ([]string, error) {
	return reasons(pattern, `(?m)^const \(\n(\t.*\n|\n)*?\t`+reason+` = .*\n(\t.*\n|\n)*?\)$`, `(?m)^\t(\w*Reason\w*) =`)
}

// reasons returns the matches of what within the first part of each file that matches within.
func reasons(pattern, within, what string) (found []string, _ error) {
	files, err := filepath.Glob(pattern)
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		text, err := os.ReadFile(file) //nolint:gosec // a file of the repository
		if err != nil {
			return nil, err
		}
		for _, match := range regexp.MustCompile(what).FindAllSubmatch(regexp.MustCompile(within).Find(text), -1) {
			found = append(found, string(match[1]))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

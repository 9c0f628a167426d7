// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestBlocksAreRunReplacedOrShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	blocks, err := Blocks("# Page\n\n```sh\none\ntwo\n```\ntext\n```sh\n# real infrastructure: lost domain\nboom\n```\n\n" +
		"<!-- shown: no mirror -->\n```yaml\nimages: {}\n```\n\n<!-- shown: an alternative -->\n```sh\n# real infrastructure: none\n```\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(blocks).To(Equal([]Block{
		{Line: 4, Use: Run, Code: "one\ntwo\n"},
		{Line: 9, Use: Replace, Name: "lost domain", Code: "# real infrastructure: lost domain\nboom\n"},
		{Line: 15, Use: Show, Name: "no mirror", Code: "images: {}\n"},
		{Line: 20, Use: Show, Name: "an alternative", Code: "# real infrastructure: none\n"},
	}))
}

func TestUnclearBlocksAreRejected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ page, message string }{
		"unknown kind":              {"```yaml\nkind: Pod\n```\n", "line 2: the block begins with"},
		"no kind":                   {"```\nls\n```\n", "begin commands with"},
		"another name of the shell": {"```bash\nls\n```\n", "begin commands with"},
		"in a list":                 {"- x\n\n  ```sh\nls\n```\n", "begin commands with"},
		"without an end":            {"```sh\nls\n", "line 1: the block has no end"},
		"an indented end":           {"```sh\nls\n  ```\n", "line 1: the block has no end"},
		"no commands":               {"```sh\n\n```\n", "is empty"},
		"marked in the middle":      {"```sh\nls\n# real infrastructure: tags\ngovc\n```\n", "must be the first line"},
		"marked without a name":     {"```sh\n# real infrastructure: \ngovc\n```\n", "must name what replaces"},
		"marked without commands":   {"```sh\n# real infrastructure: tags\n```\n", "must name what replaces"},
		"shown without a reason":    {"<!-- shown: -->\n```yaml\na: b\n```\n", "the block begins with"},
		"shown, but a line between": {"<!-- shown: x -->\n\n```yaml\na: b\n```\n", "the block begins with"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Blocks(test.page)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(test.message)))
		})
	}
}

func TestAllUnclearBlocksAreReported(t *testing.T) {
	t.Parallel()
	_, err := Blocks("```yaml\na: b\n```\n```sh\nls\n```\n```text\nx\n```\n")
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("line 2"), ContainSubstring("line 8"))))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestHelpIsReadWithTypesDefaultsAndFurtherLines(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(parseHelp(`Usage of manager:
      --gates mapStringBool   Gates:
                              A=true|false (a)
      --on                    Be on. (default true)
      --off                   Be off.
  -v, --v pattern=N,...       Level of pattern=N (default "x")

Serving flags:

      --port int   Port. (default 443)
`)).To(Equal([]flagSection{
		{Flags: []flagHelp{
			{Name: "gates", Type: "mapStringBool", Usage: "Gates:\nA=true|false (a)"},
			{Name: "on", Type: "boolean", Default: "true", Usage: "Be on."},
			{Name: "off", Type: "boolean", Default: "false", Usage: "Be off."},
			{Short: "v", Name: "v", Type: "pattern=N,...", Default: `"x"`, Usage: "Level of pattern=N"},
		}},
		{Heading: "Serving flags", Flags: []flagHelp{{Name: "port", Type: "int", Default: "443", Usage: "Port."}}},
	}))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/shared/text"
)

// Annotations, keys and names can contain any text.
func FuzzYAML(f *testing.F) {
	for _, value := range []string{"a: b", "\x00\x1b\x7f", "\u0080\u0085\u009f", "\ufeff\ufffe\uffff", "\u2028", "\xff", "- x\n"} {
		f.Add(value, value)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		if len(key) > 100 { // YAML limits keys
			return
		}
		g := NewWithT(t)
		data, err := text.YAML(map[string]string{key: value})
		g.Expect(err).NotTo(HaveOccurred())
		read := map[string]string{}
		g.Expect(yaml.Unmarshal(data, &read)).To(Succeed(), "%q", data)
		if utf8.ValidString(key) && utf8.ValidString(value) {
			g.Expect(read).To(Equal(map[string]string{key: value}), "%q", data)
		}
	})
}

func TestYAML(t *testing.T) {
	g := NewWithT(t)
	value := map[string]any{"a": []string{"x", "y: z"}, "b": strings.Repeat("é ", 100), "c": 1, "d": true}
	library, err := yaml.Marshal(value)
	g.Expect(err).NotTo(HaveOccurred())
	ours, err := text.YAML(value)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(ours)).To(Equal(string(library)))
}

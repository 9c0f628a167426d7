// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestMissingCapabilities(t *testing.T) {
	t.Parallel()
	for status, want := range map[string][]string{
		"Name:\tx\nCapBnd:\t000001ffffffffff\n": nil,
		"CapBnd:\t000001fffeffffff\n":           {"CAP_SYS_RESOURCE"},
		"CapBnd:\t000001fffefffffe\nSeccomp:\t": {"CAP_CHOWN", "CAP_SYS_RESOURCE"},
	} {
		g := NewWithT(t)
		got, err := missingCapabilities(status)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want), status)
	}
	for status, message := range map[string]string{"": "no CapBnd", "CapBnd:\tnone\n": "reading the bounding set"} {
		_, err := missingCapabilities(status)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(message)), status)
	}
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(descriptions([]string{"--root", "/r", "create", "--bundle", "/b", "id"})).To(Equal([]string{"/b/config.json"}))
	g.Expect(descriptions([]string{"create", "-b=/b", "id"})).To(Equal([]string{"/b/config.json"}))
	g.Expect(descriptions([]string{"exec", "--process", "/p.json", "id"})).To(Equal([]string{"/p.json"}))
	g.Expect(descriptions([]string{"delete", "--force", "id"})).To(BeEmpty())
}

func TestWithout(t *testing.T) {
	t.Parallel()
	missing := []string{"CAP_SYS_RESOURCE"}
	for name, tc := range map[string]struct{ in, want string }{
		"a container": {
			`{"process":{"capabilities":{"bounding":["CAP_KILL","CAP_SYS_RESOURCE"]},"oomScoreAdj":-999},"x":12345678901234567890}`,
			`{"process":{"capabilities":{"bounding":["CAP_KILL"]},"oomScoreAdj":0},"x":12345678901234567890}`,
		},
		"a process": {
			`{"capabilities":{"effective":["CAP_SYS_RESOURCE"]},"oomScoreAdj":100}`,
			`{"capabilities":{"effective":[]},"oomScoreAdj":100}`,
		},
		"nothing to take": {`{"process":{"args":["a"]}}`, `{"process":{"args":["a"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := without([]byte(tc.in), missing)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(MatchJSON(tc.want))
		})
	}
}

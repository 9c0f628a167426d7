// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The API server would reject a Machine with any other value, and thereby everything else that is reported.
func TestHostLabel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 40)
	for host, want := range map[string]string{
		"esx-1":                          "esx-1",
		"esx-1.example.com":              "esx-1.example.com",
		"10.0.0.7":                       "10.0.0.7",
		"2001:db8::7":                    "2001-db8--7",
		"::1":                            "0--1",
		"fd00::":                         "fd00--0",
		"fe80::1%vmk0":                   "fe80--1",
		"esx-1." + long + ".example.com": "esx-1." + long + ".example.com",
		"esx-1." + long + "." + long:     "esx-1." + long,
		long + long + ".example.com":     long + long[:23],
		"rack 1/esx-1":                   "rack-1-esx-1",
		"_esx-1.":                        "esx-1",
		"":                               "",
	} {
		g := NewWithT(t)
		g.Expect(hostLabel(host)).To(Equal(want), host)
		g.Expect(validation.IsValidLabelValue(hostLabel(host))).To(BeEmpty(), host)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestValidateServer(t *testing.T) {
	for _, server := range []string{
		"", "vcenter", "vcenter.example.com", "VCenter.Example.Com", "vcenter.example.com:8443",
		"10.0.0.1", "10.0.0.1:8443", "2001:db8::1", "[2001:db8::1]:8443",
		"vcenter_1.example.com", "vcenter_1:8443", "https://vcenter_1.example.com/sdk",
		"https://vcenter.example.com", "https://vcenter.example.com/sdk", "https://10.0.0.1:8443", "https://[2001:db8::1]:8443/sdk",
	} {
		t.Run("accepts "+server, func(t *testing.T) {
			NewWithT(t).Expect(validateServer(server, field.NewPath("server"))).To(BeEmpty())
		})
	}
	for _, server := range []string{
		"http://vcenter.example.com", "vcenter.example.com/sdk", "https://vcenter.example.com/ui", "https://vcenter.example.com/", "https://", "v center", " ",
		"https://user:secret@vcenter.example.com", "https://vcenter.example.com/sdk?a=b",
		"vcenter:", "vcenter:port", "vcenter:0", "vcenter:65536", ":443", "user@vcenter", "_vcenter", "vcenter_.example.com",
		"https://http://vcenter", "https://https://vcenter", "[vcenter]", "[vcenter", "::1%@evil.example", "fe80::1%eth0", "\u212Aey",
	} {
		t.Run("refuses "+server, func(t *testing.T) {
			g := NewWithT(t)
			errs := validateServer(server, field.NewPath("server"))
			g.Expect(rulestest.Summary(errs)).To(ConsistOf("server: Invalid value"))
			g.Expect(errs[0].Detail).To(ContainSubstring("it may have the scheme"))
		})
	}
}

func TestValidateThumbprint(t *testing.T) {
	pairs := func(n int) string { return strings.TrimSuffix(strings.Repeat("aB:", n), ":") }
	for name, tc := range map[string]struct {
		thumbprint string
		valid      bool
	}{
		"none":             {"", true},
		"SHA-1":            {pairs(20), true},
		"SHA-256":          {pairs(32), true},
		"one pair short":   {pairs(19), false},
		"one pair more":    {pairs(33), false},
		"without colons":   {strings.Repeat("ab", 20), false},
		"not hexadecimal":  {strings.Replace(pairs(20), "aB", "gg", 1), false},
		"single digits":    {strings.Replace(pairs(20), "aB", "a", 1), false},
		"a sign in a pair": {strings.Replace(pairs(20), "aB", "+a", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			errs := validateThumbprint(tc.thumbprint, field.NewPath("thumbprint"))
			if tc.valid {
				g.Expect(errs).To(BeEmpty())
				return
			}
			g.Expect(rulestest.Summary(errs)).To(ConsistOf("thumbprint: Invalid value"))
			g.Expect(errs[0].Detail).To(ContainSubstring("openssl x509 -fingerprint"))
		})
	}
}

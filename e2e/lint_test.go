// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// Depguard matches the files of a rule by pattern, but not the imports that it forbids: a provider without its own rows could import
// anything unnoticed.
func TestDepguardRulesCoverAllProviders(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Deny []struct {
							Pkg string `json:"pkg"`
						} `json:"deny"`
					} `json:"rules"`
				} `json:"depguard"`
			} `json:"settings"`
		} `json:"linters"`
	}
	g.Expect(yaml.Unmarshal([]byte(content(t, ".golangci.yml")), &config)).To(Succeed())
	compared := 0
	for rule, of := range config.Linters.Settings.Depguard.Rules {
		named := map[string][]string{} // providers by the forbidden folder
		for _, row := range of.Deny {
			if _, rest, found := strings.Cut(row.Pkg, "/providers/"); found {
				name, folder, _ := strings.Cut(rest, "/")
				named[folder] = append(named[folder], name)
			}
		}
		for folder, names := range named {
			// A package that only one provider has, such as its client, has a row where an import must be forbidden.
			if len(names) > 1 {
				compared++
				g.Expect(names).To(ConsistOf(providers(t)), ".golangci.yml, depguard rule %s: rows that end with /%s", rule, folder)
			}
		}
	}
	g.Expect(compared).To(BeNumerically(">", 5))
}

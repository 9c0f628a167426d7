// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faultstest has what must hold of every simulator's table of faults.
package faultstest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/faults"
)

// Described wants each fault to have a name of its own, a way to make it, and a row in the README.md of the folder of the test, which says
// what happens and what rule that breaks.
func Described[S, O, T any](t *testing.T, all []faults.Fault[S, O, T]) {
	t.Helper()
	g := gomega.NewWithT(t)
	readme, err := os.ReadFile("README.md")
	g.Expect(err).NotTo(gomega.HaveOccurred())
	rows := strings.Split(string(readme), "\n")
	named := map[string]bool{}
	for _, fault := range all {
		g.Expect(named).NotTo(gomega.HaveKey(fault.Name))
		named[fault.Name] = true
		g.Expect(fault.Set != nil || fault.Options != nil).To(gomega.BeTrue(), "%s does something", fault.Name)
		g.Expect(fault.Is).NotTo(gomega.BeEmpty(), fault.Name)
		g.Expect(fault.Breaks).NotTo(gomega.BeEmpty(), fault.Name)
		g.Expect(rows).To(gomega.ContainElement(fmt.Sprintf("| `%s` | %s | %s |", fault.Usage(), fault.Is, fault.Breaks)))
	}
}

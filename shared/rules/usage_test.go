// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/rules"
)

func TestInUseBy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(rules.InUseBy("Machine", []string{"ns/a"})).To(Equal("Machine ns/a is"))
	g.Expect(rules.InUseBy("Machine", []string{"ns/a", "ns/b", "ns/c"})).To(Equal("3 Machines (ns/a, ns/b, ns/c) are"))
	g.Expect(rules.InUseBy("Machine", []string{"ns/a", "ns/b", "ns/c", "ns/d", "ns/e"})).To(Equal("5 Machines (ns/a, ns/b, ns/c and 2 more) are"))
	g.Expect(rules.Abbreviated(nil)).To(BeEmpty())
}

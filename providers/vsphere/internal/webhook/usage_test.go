// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestInUseBy(t *testing.T) {
	g := NewWithT(t)
	g.Expect(inUseBy([]string{"ns/a"})).To(Equal("Machine ns/a is"))
	g.Expect(inUseBy([]string{"ns/a", "ns/b", "ns/c"})).To(Equal("3 Machines (ns/a, ns/b, ns/c) are"))
	g.Expect(inUseBy([]string{"ns/a", "ns/b", "ns/c", "ns/d", "ns/e"})).To(Equal("5 Machines (ns/a, ns/b, ns/c and 2 more) are"))
}

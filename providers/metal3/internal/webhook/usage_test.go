// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestInUseBy(t *testing.T) {
	g := NewWithT(t)
	g.Expect(inUseBy([]string{"a"})).To(Equal("Metal3Machine a is"))
	g.Expect(inUseBy([]string{"a", "b", "c"})).To(Equal("3 Metal3Machines (a, b, c) are"))
	g.Expect(inUseBy([]string{"a", "b", "c", "d", "e"})).To(Equal("5 Metal3Machines (a, b, c and 2 more) are"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestCosts(t *testing.T) {
	g := NewWithT(t)
	calls := Difference(map[string]int{"Login": 1, "Clone": 2}, map[string]int{"Login": 1, "Clone": 7, "PowerOn": 5})
	g.Expect(calls).To(Equal(map[string]int{"Clone": 5, "PowerOn": 5}))
	g.Expect(Costs{Machines: 5, Calls: calls}.Words()).To(Equal("10 for 5 machines from nothing to ready, 2.0 each (Clone 5, PowerOn 5)"))
	g.Expect(Costs{}.Words()).To(Equal("none"))
}

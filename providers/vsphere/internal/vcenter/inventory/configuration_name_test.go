// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

func TestRuleName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(inventory.RuleName("rack-a-vms")).To(Equal("rack-a-vms-rule"))
	long := strings.Repeat("rack.", 50)
	g.Expect(len(inventory.RuleName(long + "a"))).To(BeNumerically("<=", 80))
	g.Expect(inventory.RuleName(long + "a")).NotTo(Equal(inventory.RuleName(long + "b")))
}

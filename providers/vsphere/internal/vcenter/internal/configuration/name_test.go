// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/configuration"
)

func TestRulesAreNamedAfterTheirVMGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(configuration.RuleName("rack-a-vms")).To(Equal("rack-a-vms-rule"))
	long := strings.Repeat("rack.", 50)
	g.Expect(len(configuration.RuleName(long + "a"))).To(BeNumerically("<=", 80))
	g.Expect(configuration.RuleName(long + "a")).NotTo(Equal(configuration.RuleName(long + "b")))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package managementcluster_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/managementcluster"
)

func TestNameLengthAndUniqueness(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(managementcluster.Name("rack-a", "0a1b2c3d", "vms")).To(Equal("rack-a-0a1b2c3d-vms"))
	long := strings.Repeat("rack.", 50)
	one, other := managementcluster.Name(long+"a", "0a1b2c3d", "hosts"), managementcluster.Name(long+"b", "0a1b2c3d", "hosts")
	g.Expect(len(one)).To(BeNumerically("<=", 80))
	g.Expect(one).NotTo(Equal(other), "names that are shortened stay unique")
	g.Expect(one).To(HaveSuffix("-0a1b2c3d-hosts"))
}

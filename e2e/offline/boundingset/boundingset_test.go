// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package boundingset_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/offline/boundingset"
)

func TestParseBoundingSet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	set, err := boundingset.Read("Name:\tx\nCapBnd:\t000001fffeffffff\nSeccomp:\t0\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(set.Has(23)).To(BeTrue())
	g.Expect(set.Has(24)).To(BeFalse())
	g.Expect(set.HasAllUpTo(23)).To(BeTrue())
	g.Expect(set.HasAllUpTo(40)).To(BeFalse())
	for status, message := range map[string]string{"Name:\tx\n": "no CapBnd", "CapBnd:\tnone\n": "reading the bounding set"} {
		_, err := boundingset.Read(status)
		g.Expect(err).To(MatchError(ContainSubstring(message)), status)
	}
}

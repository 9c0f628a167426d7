// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestServerThatIsAnotherVCenterIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var known vcenters
	g.Expect(known.check("vcenter.example.com", "one", "")).To(Succeed())
	g.Expect(known.check("https://VCENTER.example.com/sdk", "one", "")).To(Succeed())
	err := known.check("vcenter.example.com", "two", "")
	g.Expect(err).To(MatchError(errChanged))
	g.Expect(err).To(MatchError(And(ContainSubstring("vcenter.example.com has instance UUID two and not one"), ContainSubstring("load balancer"))))
	g.Expect(Waits(err)).To(BeTrue(), "a session of the former vCenter is reported")
	g.Expect(known.check("other.example.com", "two", "")).To(Succeed())

	g.Expect(known.check("vcenter.example.com", "two", "two")).To(Succeed(), "the status of a cluster shows that the first one was wrong")
	g.Expect(known.check("vcenter.example.com", "one", "")).To(MatchError(errChanged))
	g.Expect(known.check("vcenter.example.com", "two", "one")).To(MatchError(errChanged))
	g.Expect(known.check("vcenter.example.com", "two", "")).To(Succeed(), "the status of another cluster, which its user may write, does not count")

	known.forget("vcenter.example.com")
	g.Expect(known.check("vcenter.example.com", "one", "")).To(Succeed())
}

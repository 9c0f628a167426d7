// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestAccountUsers(t *testing.T) {
	g := NewWithT(t)
	one, two := client.ObjectKey{Namespace: "tenant", Name: "one"}, client.ObjectKey{Namespace: "tenant", Name: "two"}
	var u users
	g.Expect(u.of("good")).To(BeEmpty())
	for range 2 {
		u.record(one, "vc-1", "good")
		u.record(one, "vc-2", "good")
		u.record(two, "vc-1", "bad")
	}
	g.Expect(u.of("good")).To(ConsistOf(one), "once, though for two servers")
	g.Expect(u.of("bad")).To(ConsistOf(two))

	u.record(two, "vc-1", "rotated")
	g.Expect(u.of("bad")).To(BeEmpty(), "events of another account are ignored")
	g.Expect(u.of("rotated")).To(ConsistOf(two))
	u.record(one, "vc-2", "rotated")
	g.Expect(u.of("good")).To(ConsistOf(one), "the other server's is the same as before")

	u.forget(one)
	u.forget(two)
	g.Expect(u.byAccount).To(BeEmpty())
	g.Expect(u.account).To(BeEmpty())
}

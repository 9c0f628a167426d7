// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestEmptyNamespacesAndDomainsAreDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	inv := NewInventory(func(types.NamespacedName) {})
	for i := range 30 {
		namespace := fmt.Sprintf("tenant-%d", i)
		one := types.NamespacedName{Namespace: namespace, Name: "one"}
		host := Host{Namespace: namespace, Name: "h", Domain: "rack-1", Version: "1"}
		inv.Upsert(host)
		_, _, found := inv.Reserve(Requirements{Machine: one, Domain: "rack-1"})
		g.Expect(found).To(BeTrue())
		_, _, found = inv.Reserve(Requirements{Machine: types.NamespacedName{Namespace: namespace, Name: "other"}, Domain: "rack-2"})
		g.Expect(found).To(BeFalse())
		host.Version, host.Unavailability, host.Consumer = "2", InUse, one
		inv.Upsert(host)
		g.Expect(inv.HeldBy(one)).To(ConsistOf("h"))
		inv.Forget(types.NamespacedName{Namespace: namespace, Name: "other"})
		inv.Delete(types.NamespacedName{Namespace: namespace, Name: "h"})
		g.Expect(inv.HeldBy(one)).To(BeEmpty())
	}
	g.Expect(inv.namespaces).To(BeEmpty())

	for i := range 30 {
		inv.Upsert(Host{Namespace: "tenant", Name: "h", Domain: fmt.Sprintf("rack-%d", i), Version: fmt.Sprint(i)})
	}
	g.Expect(inv.namespaces["tenant"].free).To(HaveLen(1))
	g.Expect(inv.namespaces["tenant"].counts).To(HaveLen(1))
}

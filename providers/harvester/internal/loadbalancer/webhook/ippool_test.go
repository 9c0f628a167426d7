// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// newPool returns a pool with a subnet.
func newPool(name, subnet string) *lbv1.IPPool {
	return &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: subnet}}}}
}

// drop deletes a pool regardless of its holders.
func drop(t *testing.T, api *rulestest.APIServer, pool *lbv1.IPPool) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	pool.Status = lbv1.IPPoolStatus{}
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	g.Expect(api.Delete(ctx, pool)).To(Succeed())
}

// testPoolLabels expects the labels derived from the spec, and other labels to be kept.
func testPoolLabels(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	network(t, api, "labelled", map[string]string{networkv1.VLANLabel: "7"}, `{"vlan":8}`)
	network(t, api, "configured", nil, `{"vlan":8}`)
	network(t, api, "untagged", nil, `{}`)
	network(t, api, "empty", nil, "")
	network(t, api, "broken", nil, `{"vlan":"eight"}`)
	pool := newPool("labels", "10.1.0.0/24")
	pool.Labels = map[string]string{"mine": "stays", lbv1.GlobalPoolLabel: "true"}
	expect := func(vlan, global string) {
		t.Helper()
		g.Expect(pool.Labels).To(Equal(map[string]string{"mine": "stays", lbv1.VLANLabel: vlan, lbv1.GlobalPoolLabel: global}))
	}
	g.Expect(api.Create(ctx, pool)).To(Succeed())
	defer drop(t, api, pool)
	expect("0", "false")
	for name, vlan := range map[string]string{"labelled": "7", "configured": "8", "untagged": "0", "empty": "0"} {
		pool.Spec.Selector.Network = "default/" + name
		g.Expect(api.Update(ctx, pool)).To(Succeed(), name)
		expect(vlan, "false")
	}
	pool.Spec.Selector.Network = "default/configured"
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	pool.Labels[lbv1.VLANLabel] = "9"
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	expect("8", "false")
	pool.Spec.Selector = lbv1.Selector{Scope: []lbv1.Tuple{{Project: "*", Namespace: "*", GuestCluster: "*"}}}
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	expect("0", "true")
	pool.Labels[lbv1.VLANLabel] = "9"
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	expect("9", "true")

	broken := pool.DeepCopy()
	broken.Spec.Selector.Network = "default/broken"
	g.Expect(api.Update(ctx, broken)).To(MatchError(ContainSubstring("reading the VLAN of network default/broken from its spec.config")))
	for _, name := range []string{"default/missing", "configured", "a/b/c"} {
		unknown := pool.DeepCopy()
		unknown.Spec.Selector.Network = name
		rulestest.Rejected(g, api.Update(ctx, unknown), "spec.selector.network: Invalid value")
	}
}

func createAndDelete(t *testing.T, api *rulestest.APIServer, block *lbv1.IPPoolBlock, why string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(api.Create(t.Context(), block)).To(Succeed())
	g.Expect(api.Delete(t.Context(), block)).To(Succeed(), why)
}

// testHeldAddresses expects a pool to keep held addresses: those in its status, which is written with the object, and those in its
// blocks.
func testHeldAddresses(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	pool := newPool("held", "10.2.0.0/16")
	g.Expect(api.Create(ctx, pool)).To(Succeed())
	defer drop(t, api, pool)
	pool.Status = lbv1.IPPoolStatus{Total: 65533, Available: 65532, LastAllocated: "10.2.0.2", Allocated: map[string]string{"10.2.0.2": "default/lb"}}
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	g.Expect(pool.Status.Allocated).To(HaveKeyWithValue("10.2.0.2", "default/lb"), "a plain update writes the status")

	rulestest.Rejected(g, api.Delete(ctx, pool), "status.allocated: Forbidden")
	narrow := pool.DeepCopy()
	narrow.Spec.Ranges[0].RangeStart = "10.2.0.3"
	rulestest.Rejected(g, api.Update(ctx, narrow), "status.allocated[10.2.0.2]: Invalid value")
	foreign := pool.DeepCopy()
	foreign.Status.Allocated["10.3.0.1"] = "default/lb2"
	rulestest.Rejected(g, api.Update(ctx, foreign), "status.allocated[10.3.0.1]: Invalid value")

	block := &lbv1.IPPoolBlock{
		ObjectMeta: metav1.ObjectMeta{Name: "held-10.2.1.0", Labels: map[string]string{lbv1.PoolLabel: "held"}}, Pool: "held", First: "10.2.1.0",
		Allocated: map[string]string{"10.2.1.1": "default/other"},
	}
	g.Expect(api.Create(ctx, block)).To(Succeed())
	pool.Annotations, pool.Status.Allocated = map[string]string{lbv1.BlocksAnnotation: "true"}, nil
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	rulestest.Rejected(g, api.Delete(ctx, pool), "status.allocated: Forbidden")
	narrow = pool.DeepCopy()
	narrow.Spec.Ranges[0].RangeEnd = "10.2.0.9"
	rulestest.Rejected(g, api.Update(ctx, narrow), "status.allocated[10.2.1.1]: Invalid value")

	rulestest.Rejected(g, api.Delete(ctx, block), "allocated: Forbidden")
	former := block.DeepCopy()
	former.Name, former.ResourceVersion = "held-before", ""
	former.OwnerReferences = []metav1.OwnerReference{{APIVersion: lbv1.GroupVersion.String(), Kind: "IPPool", Name: "held", UID: "gone"}}
	createAndDelete(t, api, former, "its pool is gone, and another has the name")
	copied := block.DeepCopy()
	copied.Name, copied.ResourceVersion = "held-copy", ""
	createAndDelete(t, api, copied, "it is a copy")
	alone := block.DeepCopy()
	alone.Name, alone.ResourceVersion, alone.Pool = "alone-1", "", "alone"
	createAndDelete(t, api, alone, "its pool is gone")
	block.Allocated = nil
	g.Expect(api.Update(ctx, block)).To(Succeed())
	g.Expect(api.Delete(ctx, block)).To(Succeed())
}

// testOlderPools expects a pool that is older than a rule to be updatable and deletable, but not to get further errors.
func testOlderPools(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	pool, other := newPool("older", "10.4.0.0/24"), newPool("other", "10.4.0.0/16")
	pool.Spec.Selector.Network = "default/gone"
	pool.Status = lbv1.IPPoolStatus{Allocated: map[string]string{"nonsense": "default/lb", "10.4.0.2": "default/lb2"}}
	api.Without(t, func() {
		g.Expect(api.Create(ctx, pool)).To(Succeed())
		g.Expect(api.Create(ctx, other)).To(Succeed())
	}, func() bool { return api.Create(ctx, newPool("probe", "x"), client.DryRunAll) != nil }, func() bool {
		probe := newPool("probe", "10.5.0.0/24")
		return api.Create(ctx, probe, client.DryRunAll) == nil && probe.Labels != nil
	})
	pool.Spec.Description = "still overlaps"
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	pool.Status.Allocated["10.4.0.3"] = "default/lb3"
	g.Expect(api.Update(ctx, pool)).To(Succeed(), "addresses are given on")
	worse := pool.DeepCopy()
	worse.Spec.Ranges = append(worse.Spec.Ranges, lbv1.Range{Subnet: "10.4.1.0/24"})
	rulestest.Rejected(g, api.Update(ctx, worse), "spec.ranges[1]: Invalid value")
	drop(t, api, pool)
	drop(t, api, other)
}

// testPoolWarnings expects warnings for settings that may be unintended.
func testPoolWarnings(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	api.Warnings()
	pool := newPool("warned", "10.6.0.0/24")
	pool.Spec.Ranges[0].RangeStart, pool.Spec.Ranges[0].RangeEnd = "10.6.0.9", "10.6.0.5"
	g.Expect(api.Create(ctx, pool)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.ranges[0].rangeStart: is after rangeEnd"), HavePrefix("spec.selector.scope: is empty")))
	pool.Spec.Description = "again"
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	g.Expect(api.Warnings()).To(BeEmpty())
	pool.Spec.Selector.Scope = []lbv1.Tuple{{Project: "*", Namespace: "*", GuestCluster: "*"}}
	g.Expect(api.Update(ctx, pool)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix("spec.selector.network: is empty, so guest clusters of every network")))
	g.Expect(api.Delete(ctx, pool)).To(Succeed())
}

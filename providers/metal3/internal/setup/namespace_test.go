// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testworld"
)

// pooled creates a data template with an address from a pool, whose provider the test simulates.
func (w *world) pooled(template string) {
	w.t.Helper()
	w.create(&infrav1.Metal3DataTemplate{ObjectMeta: w.meta(template), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData: &infrav1.MetaData{IPAddressesFromPool: []infrav1.FromPool{{
			Key: "ip", IPPoolReference: infrav1.IPPoolReference{Name: "p", Kind: "InClusterIPPool", APIGroup: "ipam.cluster.x-k8s.io"},
		}}},
	}})
}

// gives fulfils a claim of a machine's data.
func (w *world) gives(claim *ipamclusterv1.IPAddressClaim, address string) {
	w.t.Helper()
	w.Eventually(func() error { return w.client.Get(w.t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	w.create(&ipamclusterv1.IPAddress{ObjectMeta: w.meta(claim.Name), Spec: ipamclusterv1.IPAddressSpec{
		ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef, Address: address, Prefix: ptr.To[int32](24), Gateway: "10.0.0.1",
	}})
	updateStatus(w, claim, func(claim *ipamclusterv1.IPAddressClaim) { claim.Status.AddressRef.Name = claim.Name })
}

func TestADeletedNamespaceEndsAndLeavesNoMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	cluster := w.cluster("one", "rack-1", "rack-2")
	w.pooled("addressed")
	machine, worker := w.machine("one", "cp", "rack-1", usesData("addressed")), w.machine("one", "worker", "rack-2")
	claim := &ipamclusterv1.IPAddressClaim{ObjectMeta: w.meta("addressed-0-p")}
	w.gives(claim, "10.0.0.5")
	host := w.provisioned(machine)
	w.provisioned(worker)
	w.sim.Fail(bmov1alpha1.StateDeprovisioning, client.ObjectKeyFromObject(host), "disk is stuck")

	deletion := w.user().DeleteNamespace(apiServer, w.name)
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(testworld.Describe(machine)).To(ContainSubstring("BareMetalHost " + host.Name + " is not deprovisioned: disk is stuck"))
	}).Should(Succeed())
	w.Expect(w.condition(cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)).
		To(ContainSubstring("Metal3Machine cp"))
	w.gone(worker)
	w.Consistently(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed(), "the host still has the address")

	w.sim.Heal(client.ObjectKeyFromObject(host))
	deletion.Ends()
}

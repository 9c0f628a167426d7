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
	"github.com/faultline-io/faultline/shared/integration"
)

// pooled creates a data template with an address from a pool, whose provider the test simulates.
func (f *fixture) pooled(template string) {
	f.t.Helper()
	f.create(&infrav1.Metal3DataTemplate{ObjectMeta: f.meta(template), Spec: infrav1.Metal3DataTemplateSpec{
		ClusterName: "one",
		MetaData: &infrav1.MetaData{IPAddressesFromPool: []infrav1.FromPool{{
			Key: "ip", IPPoolReference: infrav1.IPPoolReference{Name: "p", Kind: "InClusterIPPool", APIGroup: "ipam.cluster.x-k8s.io"},
		}}},
	}})
}

// allocateAddress fulfils a claim of a machine's data.
func (f *fixture) allocateAddress(claim *ipamclusterv1.IPAddressClaim, address string) {
	f.t.Helper()
	f.Eventually(func() error { return f.client.Get(f.t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed())
	f.create(&ipamclusterv1.IPAddress{ObjectMeta: f.meta(claim.Name), Spec: ipamclusterv1.IPAddressSpec{
		ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef, Address: address, Prefix: ptr.To[int32](24), Gateway: "10.0.0.1",
	}})
	updateStatus(f, claim, func(claim *ipamclusterv1.IPAddressClaim) { claim.Status.AddressRef.Name = claim.Name })
}

func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	cluster := f.cluster("one", "rack-1", "rack-2")
	f.pooled("addressed")
	machine, worker := f.machine("one", "cp", "rack-1", usesData("addressed")), f.machine("one", "worker", "rack-2")
	claim := &ipamclusterv1.IPAddressClaim{ObjectMeta: f.meta("addressed-0-p")}
	f.allocateAddress(claim, "10.0.0.5")
	host := f.waitForProvisioned(machine)
	f.waitForProvisioned(worker)
	f.sim.Fail(bmov1alpha1.StateDeprovisioning, client.ObjectKeyFromObject(host), "disk is stuck")

	deletion := f.user().DeleteNamespace(apiServer, f.name)
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(integration.Describe(machine)).To(ContainSubstring("BareMetalHost " + host.Name + " is not deprovisioned: disk is stuck"))
	}).Should(Succeed())
	f.Expect(f.waitForCondition(cluster, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)).
		To(ContainSubstring("Metal3Machine cp"))
	f.waitForDeletion(worker)
	f.Consistently(func() error { return f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim) }).Should(Succeed(), "the host still has the address")

	f.sim.Heal(client.ObjectKeyFromObject(host))
	deletion.Ends()
}

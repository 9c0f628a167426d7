// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/integration"
)

// newDataTemplate creates a template that needs an address from a metal3 pool and one from a Cluster API pool.
func newDataTemplate(t *testing.T, c client.Client) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(c.Create(t.Context(), &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: "four", Namespace: namespace}, Spec: ipamv1.IPPoolSpec{NamePrefix: "four"},
	})).To(Succeed())
	template := &infrav1.Metal3DataTemplate{ObjectMeta: metav1.ObjectMeta{Name: "nodes", Namespace: namespace}}
	template.Spec.MetaData = &infrav1.MetaData{
		IPAddressesFromPool: []infrav1.FromPool{{Key: "ip", IPPoolReference: infrav1.IPPoolReference{Name: "four"}}},
	}
	source := infrav1.NetworkDataAddressSource{FromPoolRef: &infrav1.IPPoolReference{
		Name: "six", Kind: "InClusterIPPool", APIGroup: ipamclusterv1.GroupVersion.Group,
	}}
	template.Spec.NetworkData = &infrav1.NetworkData{
		Links: infrav1.NetworkDataLink{Ethernets: []infrav1.NetworkDataLinkEthernet{{
			NetworkDataLinkCommon: infrav1.NetworkDataLinkCommon{ID: "lan"}, Type: "phy",
			MACAddress: &infrav1.NetworkLinkEthernetMac{String: ptr.To("52:54:00:12:34:56")},
		}}},
		Networks: infrav1.NetworkDataNetwork{IPv6: []infrav1.NetworkDataIPv6{{ID: "net", Link: "lan", NetworkDataAddressSource: source}}},
	}
	g.Expect(c.Create(t.Context(), template)).To(Succeed())
}

// allocateAddresses fulfils the claims of the first machine, as the two IP address managers do.
func allocateAddresses(t *testing.T, c client.Client) {
	t.Helper()
	u, ctx := integration.NewUser(t, c), t.Context()
	g := u.G
	four := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Name: "nodes-0-four", Namespace: namespace}}
	g.Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(four), four) }).Should(Succeed())
	g.Expect(c.Create(ctx, &ipamv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: "four", Namespace: namespace},
		Spec: ipamv1.IPAddressSpec{
			Claim: corev1.ObjectReference{Name: four.Name}, Pool: four.Spec.Pool, Address: "10.0.0.5", Prefix: 24,
		},
	})).To(Succeed())
	integration.Update(u, four, integration.Status, func(four *ipamv1.IPClaim) {
		four.Status.Address = &corev1.ObjectReference{Name: "four", Namespace: namespace}
	})

	six := &ipamclusterv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Name: "nodes-0-six", Namespace: namespace}}
	g.Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(six), six) }).Should(Succeed())
	g.Expect(c.Create(ctx, &ipamclusterv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: "six", Namespace: namespace},
		Spec: ipamclusterv1.IPAddressSpec{
			ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: six.Name}, PoolRef: six.Spec.PoolRef,
			Address: "fd00::5", Prefix: ptr.To[int32](64),
		},
	})).To(Succeed())
	integration.Update(u, six, integration.Status, func(six *ipamclusterv1.IPAddressClaim) { six.Status.AddressRef.Name = "six" })
}

// waitForAddressDeletion waits until all address claims are deleted.
func waitForAddressDeletion(t *testing.T, c client.Client) {
	t.Helper()
	g, ctx := integration.NewGomega(t), t.Context()
	g.Eventually(func(g Gomega) {
		fours, sixes := &ipamv1.IPClaimList{}, &ipamclusterv1.IPAddressClaimList{}
		g.Expect(c.List(ctx, fours)).To(Succeed())
		g.Expect(c.List(ctx, sixes)).To(Succeed())
		g.Expect(fours.Items).To(BeEmpty())
		g.Expect(sixes.Items).To(BeEmpty())
	}).Should(Succeed())
}

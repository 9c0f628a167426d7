// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package metal3

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

func TestHostIdentity(t *testing.T) {
	g := NewWithT(t)
	boot := simulator.Boot{
		Host:     &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rack-a-host-001"}},
		UserData: []byte("#cloud-config"),
		MetaData: map[string]any{"name": "demo-1", "providerid": "default/rack-a-host-001/demo-1"},
	}
	machine, as, err := identityOf(boot)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(machine).To(Equal(client.ObjectKey{Namespace: "default", Name: "demo-1"}))
	g.Expect(as).To(Equal(workload.Identity{NodeName: "demo-1", ProviderID: "metal3://default/rack-a-host-001/demo-1"}))

	boot.UserData, boot.MetaData["uuid"] = []byte("node-labels: metal3.io/uuid={{ ds.meta_data.uuid }}"), "1"
	_, as, err = identityOf(boot)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(as).To(Equal(workload.Identity{NodeName: "demo-1", Labels: map[string]string{"metal3.io/uuid": "1"}}), "as upstream's templates have it")

	delete(boot.MetaData, "providerid")
	_, _, err = identityOf(boot)
	g.Expect(err).To(MatchError(ContainSubstring("rack-a-host-001")))
}

// TestRacksAreDeterministic expects Repair to recreate the released host.
func TestRacksAreDeterministic(t *testing.T) {
	g := NewWithT(t)
	m := Racks(hostsPerRack).(*simulation)
	hosts := m.racks.Hosts(provider.DemoNamespace)
	g.Expect(hosts).To(HaveLen(3 * hostsPerRack))
	g.Expect(m.racks.Hosts(provider.DemoNamespace)).To(Equal(hosts))
	g.Expect(hosts[hostsPerRack].Labels).To(HaveKeyWithValue(simulator.DomainLabel, "rack-b"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// The use cases of the failure domain proposal, one test each.

func TestControlPlaneOverHostGroups(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.cluster("one")
	for _, letter := range []string{"a", "b", "c"} {
		zone := w.zone(letter, infrav1.Topology{
			Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore,
			Hosts: infrav1.FailureDomainHosts{VMGroupName: "rack-" + letter + "-vms", HostGroupName: "rack-" + letter + "-hosts"},
		}, nil)
		machine := w.machine("one", "cp-"+letter, zone.Name)
		w.waitForProvisioned(machine)
		vm := w.vms()["cp-"+letter]
		w.Expect(vm.Groups).To(ContainElement("rack-"+letter+"-vms"), "it is in the zone's VM group")
		w.Expect(vm.Host).To(HavePrefix("host-"+letter+"-"), "DRS runs it on the zone's hosts")
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)), "and that is what is observed")
	}
}

func TestControlPlaneOverComputeClusters(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	for i, zone := range w.threeZones() {
		letter := string(rune('a' + i))
		machine := w.machine("one", "cp-"+letter, zone.Name)
		w.waitForProvisioned(machine)
		vm := w.vms()["cp-"+letter]
		w.Expect(vm.Cluster).To(HaveSuffix("zone-" + letter))
		w.Expect(vm.Datastore).To(Equal("datastore-" + letter))
		w.Expect(vm.Networks).To(ConsistOf("network-" + letter))
		w.Expect(vm.Host).To(HavePrefix("zone-" + letter))
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
		w.Expect(machine.Spec.ProviderID).To(Equal("vsphere://" + vm.UUID))
	}
}

func TestControlPlaneOverDatacenters(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeDatacenters())
	w.cluster("one")
	for _, letter := range []string{"a", "b", "c"} {
		zone := w.zone(letter, infrav1.Topology{Datacenter: "dc-" + letter, Datastore: simulator.SharedDatastore}, nil)
		machine := w.machine("one", "cp-"+letter, zone.Name)
		w.waitForProvisioned(machine)
		w.Expect(w.vms()["cp-"+letter].Datacenter).To(HaveSuffix("dc-" + letter))
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
	}
}

func TestClustersWithDifferentPlacementConstraints(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	label := func(tenant string) func(*infrav1.VSphereCluster) {
		return func(c *infrav1.VSphereCluster) {
			c.Spec.FailureDomainSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": tenant}}
			if tenant == "two" {
				c.Spec.IdentityRef = infrav1.VSphereIdentityReference{Kind: infrav1.SecretKind, Name: "account-two"}
			}
		}
	}
	w.account("account-two")
	one, two := w.cluster("one", label("one")), w.cluster("two", label("two"))
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}}
	zoneOne := w.zone("a", topology, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
		z.Labels["tenant"] = "one"
		z.Spec.PlacementConstraint = infrav1.PlacementConstraint{Folder: "workload", ResourcePool: "/dc-1/host/zone-a/Resources/workload"}
	})
	zoneTwo := w.zone("two", topology, func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
		z.Labels["tenant"], d.Spec.Zone.Name = "two", "zone-a"
		z.Spec.PlacementConstraint = infrav1.PlacementConstraint{Folder: "templates"}
	})
	w.waitForPublished(one, zoneOne.Name)
	w.waitForPublished(two, zoneTwo.Name)
	first, second := w.machine("one", "cp-one", zoneOne.Name), w.machine("two", "cp-two", zoneTwo.Name)
	w.waitForProvisioned(first)
	w.waitForProvisioned(second)
	w.Expect(w.vms()["cp-one"].Folder).To(HaveSuffix("workload"))
	w.Expect(w.vms()["cp-one"].Pool).To(HaveSuffix("workload"))
	w.Expect(w.vms()["cp-two"].Folder).To(HaveSuffix("templates"))
	w.Expect(first.Status.FailureDomain).To(HaveValue(Equal(zoneOne.Name)), "zones that share a failure domain are distinguished")
	w.Expect(second.Status.FailureDomain).To(HaveValue(Equal(zoneTwo.Name)))
}

// account creates another Secret with the vCenter's account.
func (w *fixture) account(name string) {
	w.t.Helper()
	secret := w.secret(name, w.vc.Username(), w.vc.Password())
	w.create(secret)
}

// waitForPublished waits until the cluster has exactly the failure domains, all Active for control planes.
func (w *fixture) waitForPublished(cluster *infrav1.VSphereCluster, domains ...string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.get(cluster)
		var published []string
		for _, domain := range cluster.Status.FailureDomains {
			if ptr.Deref(domain.ControlPlane, false) {
				published = append(published, domain.Name)
			}
		}
		g.Expect(published).To(Equal(domains), "%s", integration.Describe(cluster))
		g.Expect(ptr.Deref(cluster.Status.Initialization.Provisioned, false)).To(BeTrue())
	}).Should(Succeed())
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func intent(state faultlinev1.DomainState, zones ...*infrav1.VSphereDeploymentZone) func(*infrav1.VSphereCluster) {
	return func(c *infrav1.VSphereCluster) {
		c.Spec.Distribution.FailureDomains = nil
		for _, zone := range zones {
			c.Spec.Distribution.FailureDomains = append(c.Spec.Distribution.FailureDomains, faultlinev1.FailureDomainIntent{Name: zone.Name, State: state})
		}
	}
}

// domain returns what the cluster publishes about a failure domain, and its status.
func domain(cluster *infrav1.VSphereCluster, name string) (published clusterv1.FailureDomain, known faultlinev1.DomainStatus) {
	for _, d := range cluster.Status.FailureDomains {
		if d.Name == name {
			published = d
		}
	}
	for _, d := range cluster.Status.Distribution.FailureDomains {
		if d.Name == name {
			known = d
		}
	}
	return published, known
}

// Another program reconciles the VSphereCluster. Its machines are Faultline's, as with upstream.
func TestExternallyManagedClusterIsIgnoredButForItsMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	theirs := w.cluster("theirs", func(infra *infrav1.VSphereCluster) {
		infra.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another"}
	})
	w.waitForProvisioned(w.machine("theirs", "node", w.threeZones()[0].Name))
	w.get(theirs)
	w.Expect(theirs.Status).To(BeZero())
	w.Expect(theirs.Finalizers).To(BeEmpty())
}

func TestCordonedDomainReceivesNothing(t *testing.T) {
	t.Parallel()
	for _, state := range []faultlinev1.DomainState{faultlinev1.DomainCordoned, faultlinev1.DomainEvicting} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, simulator.ThreeZones())
			cluster := w.cluster("one")
			zones := w.threeZones()
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
			stays := w.machine("one", "stays", zones[0].Name)
			w.waitForProvisioned(stays)

			update(w, cluster, intent(state, zones[0]))
			w.waitForPublished(cluster, zones[1].Name, zones[2].Name)
			published, known := domain(cluster, zones[0].Name)
			w.Expect(known.State).To(Equal(state))
			w.Expect(published.Attributes).To(HaveKeyWithValue("state", string(state)))
			w.Expect(conditions.IsTrue(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition)).To(BeTrue(), "the user wants it so")

			machine := w.machine("one", "waits", zones[0].Name)
			message := w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
			w.Expect(message).To(And(ContainSubstring(zones[0].Name), ContainSubstring(string(state))))
			w.Consistently(w.vms, quietPeriod).Should(HaveLen(1), "and the machine that is there stays")

			update(w, cluster, intent(faultlinev1.DomainActive, zones[0]))
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
			w.waitForProvisioned(machine)
			w.Expect(w.vms()["waits"].Cluster).To(Equal("zone-a"))
		})
	}
}

// A machine that is created at the moment at which its domain is cordoned must not be placed in it.
func TestCordonTakesEffectImmediately(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.stop()
	update(w, cluster, intent(faultlinev1.DomainCordoned, zones[0]))
	machine := w.machine("one", "waits", zones[0].Name)
	w.start()
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestLastControlPlaneDomainIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	update(w, cluster, intent(faultlinev1.DomainCordoned, zones...))
	w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonLastControlPlaneDomain)
	// The domain that is kept depends on how long each has been healthy, in seconds, which a test cannot predict.
	var kept []string
	for _, known := range cluster.Status.Distribution.FailureDomains {
		w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned), known.Name)
		if ptr.Deref(known.ControlPlane, false) {
			kept = append(kept, known.Name)
		}
	}
	w.Expect(kept).To(HaveLen(1), "one is published, or machines would be made with no domain at all")
	w.waitForPublished(cluster, kept[0])
	machine := w.machine("one", "waits", kept[0])
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(w.vms()).To(BeEmpty())
}

// If most domains break at once, the cause is more likely the manager's view of vCenter.
func TestTooManyDomainsUnhealthyChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) {
		c.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](3600), HoldPeriodSeconds: ptr.To[int32](0)}
	})
	zones := w.threeZones()
	all := []string{zones[0].Name, zones[1].Name, zones[2].Name}
	w.waitForPublished(cluster, all...)
	for _, letter := range []string{"a", "b"} {
		w.Expect(w.vc.RemoveDatastore("dc-1", "datastore-"+letter)).To(Succeed())
	}
	message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonTooManyDomainsUnhealthy)
	w.Expect(message).To(And(ContainSubstring(zones[0].Name), ContainSubstring(zones[1].Name), Not(ContainSubstring(zones[2].Name))))
	w.waitForPublished(cluster, all...)
	w.Expect(w.vc.RestoreDatastore("dc-1", "datastore-b")).To(Succeed())
	w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.Distribution.GracePeriodSeconds = ptr.To[int32](0) })
	w.waitForPublished(cluster, all[1:]...)
}

// A zone that was broken is not used immediately after it has recovered.
func TestRepairedDomainReceivesNothingDuringHoldPeriod(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) {
		c.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](0), HoldPeriodSeconds: ptr.To[int32](3600)}
	})
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.Expect(w.vc.RemoveDatastore("dc-1", "datastore-a")).To(Succeed())
	w.waitForPublished(cluster, zones[1].Name, zones[2].Name)
	w.Expect(w.vc.RestoreDatastore("dc-1", "datastore-a")).To(Succeed())
	w.waitForCondition(zones[0], clusterv1.ReadyCondition, clusterv1.ReadyReason)
	machine := w.machine("one", "waits", zones[0].Name)
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(w.vms()).To(BeEmpty())
	update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.Distribution.HoldPeriodSeconds = ptr.To[int32](0) })
	w.waitForProvisioned(machine)
}

func TestZoneForWorkersOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	update(w, zones[2], func(z *infrav1.VSphereDeploymentZone) { z.Spec.ControlPlane = ptr.To(false) })
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name)
	published, known := domain(cluster, zones[2].Name)
	w.Expect(published.ControlPlane).To(HaveValue(BeFalse()))
	w.Expect(known.State).To(Equal(faultlinev1.DomainActive))
	w.Expect(published.Attributes).To(And(HaveKeyWithValue("region", simulator.RegionTag), HaveKeyWithValue("zone", "zone-c")))
	w.waitForProvisioned(w.machine("one", "worker", zones[2].Name))
	w.Expect(w.vms()["worker"].Cluster).To(Equal("zone-c"), "workers are welcome")
}

func TestThumbprintOfTheZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.Thumbprint = "" })
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a"}
	zone := w.zone("a", topology, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
		z.Spec.Thumbprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33"
	})
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.ThumbprintMismatchReason)
	w.Expect(zone.Status.Ready).To(BeNil(), "nothing can be said of the zone")
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) { z.Spec.Thumbprint = w.vc.Thumbprint() })
	w.waitForProvisioned(machine)
	w.Expect(w.vsphereVM("cp-a").Spec.Thumbprint).To(Equal(w.vc.Thumbprint()))
}

func TestTemplateOfTheZone(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	layout.Datacenters[0].Templates = append(layout.Datacenters[0].Templates, simulator.Template{
		Name: diskTemplate, Cluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}, DiskGiB: 30,
	})
	w := newFixture(t, layout)
	w.cluster("one")
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}}
	zone := w.zone("a", topology, func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
		d.Spec.Topology.Template = diskTemplate
	})
	w.waitForProvisioned(w.machine("one", "cp-a", zone.Name))
	w.Expect(w.vms()["cp-a"].DiskGiB).To(Equal(30))
	w.Expect(w.vsphereVM("cp-a").Spec.Template).To(Equal(diskTemplate))
}

// A machine that was moved by hand is reported where it is. The placement of a machine never changes after it was decided.
func TestChangedZoneMovesNoMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	machine := w.machine("one", "cp-a", zones[0].Name)
	w.waitForProvisioned(machine)
	update(w, cluster, intent(faultlinev1.DomainEvicting, zones[0]))
	w.waitForPublished(cluster, zones[1].Name, zones[2].Name)
	w.Expect(w.vms()["cp-a"].Cluster).To(Equal("zone-a"))
	w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zones[0].Name)))
	w.Eventually(func() int32 {
		w.get(cluster)
		_, known := domain(cluster, zones[0].Name)
		return known.Machines.Workers
	}).Should(BeEquivalentTo(1), "it is still counted there")
}

// Cluster API does not propagate labels to all Machines, so a watch filter must not prevent a zone from noticing their
// deletion.
func TestZoneDeletionWaitsForLastMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zone := w.threeZones()[0]
	machine := &clusterv1.Machine{ObjectMeta: w.meta("unlabelled"), Spec: clusterv1.MachineSpec{
		ClusterName: "one", FailureDomain: zone.Name, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "VSphereMachine", Name: "none"},
	}}
	machine.Labels = nil
	w.create(machine)
	w.Eventually(func() []string { return w.get(zone).GetFinalizers() }).ShouldNot(BeEmpty())
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Expect(w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason)).To(ContainSubstring("unlabelled"))
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForDeletion(zone)
}

// A pool has limits and shares, and may be the only one that the account can use.
func TestTemplateResourcePoolInZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	in := func(name string, zone int, pool string) {
		w.t.Helper()
		w.waitForProvisioned(w.machine("one", name, zones[zone].Name, func(m *infrav1.VSphereMachine) { m.Spec.ResourcePool = pool }))
	}
	in("by-name", 0, "workload")
	in("by-path", 1, "/dc-1/host/zone-b/Resources/workload")
	in("of-another", 2, "/dc-1/host/zone-b/Resources/workload")
	w.Expect(w.vms()["by-name"].Pool).To(Equal("/dc-1/host/zone-a/Resources/workload"))
	w.Expect(w.vms()["by-path"].Pool).To(Equal("/dc-1/host/zone-b/Resources/workload"))
	w.Expect(w.vms()["of-another"].Pool).To(Equal("/dc-1/host/zone-c/Resources"))
	w.waitForEvent(w.vsphereVM("of-another"), "ResourcePoolNotUsed")
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// zoneFault breaks a zone in one way.
type zoneFault struct {
	change    func(*infrav1.VSphereDeploymentZone, *infrav1.VSphereFailureDomain)
	condition string
	reason    string
}

func zoneFaults() map[string]zoneFault {
	return map[string]zoneFault{
		"datacenter": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.Datacenter = "dc-9"
		},
			infrav1.VSphereDeploymentZoneDatacenterReadyCondition, "DatacenterNotFound"},
		"cluster": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.ComputeCluster = "cluster-9"
		},
			infrav1.VSphereDeploymentZoneComputeClusterReadyCondition, "ComputeClusterNotFound"},
		"pool": {func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.PlacementConstraint.ResourcePool = "none"
		},
			infrav1.VSphereDeploymentZoneResourcePoolReadyCondition, "ResourcePoolNotFound"},
		"folder": {func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.PlacementConstraint.Folder = "none"
		},
			infrav1.VSphereDeploymentZoneFolderReadyCondition, "FolderNotFound"},
		"datastore": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.Datastore = "none"
		},
			infrav1.VSphereDeploymentZoneDatastoreReadyCondition, "DatastoreNotFound"},
		"network": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.Networks = []string{"none"}
		},
			infrav1.VSphereDeploymentZoneNetworksReadyCondition, "NetworkNotFound"},
		"region": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) { d.Spec.Region.Name = "none" },
			infrav1.VSphereDeploymentZoneRegionReadyCondition, "RegionMisconfigured"},
		"zone": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) { d.Spec.Zone.Name = "zone-b" },
			infrav1.VSphereDeploymentZoneZoneReadyCondition, "ZoneMisconfigured"},
		"hosts": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.Hosts.VMGroupName = "rack-b-vms"
		},
			infrav1.VSphereDeploymentZoneHostsReadyCondition, "HostsMisconfigured"},
		"template": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Topology.Template = "none"
		},
			infrav1.VSphereDeploymentZoneTemplateReadyCondition, "TemplateNotFound"},
		"maintenance": {func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Zone.Name = "zone-b"
			d.Spec.Topology.Hosts.VMGroupName, d.Spec.Topology.Hosts.HostGroupName = "rack-b-vms", "rack-b-hosts"
		},
			infrav1.VSphereDeploymentZoneHostsReadyCondition, "NoUsableHost"},
	}
}

func TestZoneCheckReasons(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	conditionOf := map[string]string{}
	for _, fault := range zoneFaults() {
		conditionOf[fault.reason] = fault.condition
	}
	checks := map[string]string{}
	for _, check := range inventory.ZoneChecks() {
		checks[string(check.Reason)] = check.Condition
	}
	w.Expect(conditionOf).To(Equal(checks), "zoneFaults has a row for each check")
	w.Expect(w.vc.SetMaintenance("cluster-1", true, "host-b-1", "host-b-2")).To(Succeed())
	good := infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore, Networks: []string{simulator.NetworkName},
		Hosts: infrav1.FailureDomainHosts{VMGroupName: "rack-a-vms", HostGroupName: "rack-a-hosts"},
	}
	for name, tc := range zoneFaults() {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			zone := w.zone(name, good, func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
				d.Spec.Zone.Name = "zone-a"
				tc.change(z, d)
			})
			message := w.waitForCondition(zone, tc.condition, tc.reason)
			w.Expect(message).NotTo(BeEmpty())
			w.Expect(zone.Status.Ready).To(HaveValue(BeFalse()))
		})
	}
	t.Run("failure domain", func(t *testing.T) {
		w := w.in(t)
		zone := w.zone("lost", good, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.FailureDomain = "nothing"
		})
		w.waitForCondition(zone, infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, infrav1.FailureDomainNotFoundReason)
	})
	t.Run("all at once", func(t *testing.T) {
		w := w.in(t)
		zone := w.zone("all", good, func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Zone.Name = "zone-a"
			z.Spec.PlacementConstraint.Folder, d.Spec.Topology.Datastore, d.Spec.Topology.Networks = "none", "none", []string{"none"}
		})
		w.waitForCondition(zone, infrav1.VSphereDeploymentZoneFolderReadyCondition, "FolderNotFound")
		w.Expect(conditions.GetReason(zone, infrav1.VSphereDeploymentZoneDatastoreReadyCondition)).To(Equal("DatastoreNotFound"))
		w.Expect(conditions.GetReason(zone, infrav1.VSphereDeploymentZoneNetworksReadyCondition)).To(Equal("NetworkNotFound"))
	})
}

func TestUnreachableVCenterKeepsZoneReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.vc.SetDown(true)
	message := w.waitForCondition(zones[0], infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	since := zones[0].Status.StaleSince
	w.Expect(since.IsZero()).To(BeFalse())
	w.Expect(message).To(HaveSuffix("; the status is from " + since.UTC().Format(time.RFC3339)))
	w.Expect(zones[0].Status.Ready).To(HaveValue(BeTrue()), "the last good answer is kept")
	w.Eventually(func(g Gomega) {
		w.get(cluster)
		g.Expect(cluster.Status.Distribution.FailureDomains[0].StaleSince.IsZero()).To(BeFalse(), "and staleSince is set")
	}).Should(Succeed())
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.vc.SetDown(false)
	w.waitForCondition(zones[0], infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VSphereDeploymentZoneVCenterAvailableReason)
	w.Expect(zones[0].Status.StaleSince.IsZero()).To(BeTrue())
}

func TestBrokenZoneIsCordonedAndRecovers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) {
		c.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](1), HoldPeriodSeconds: ptr.To[int32](1)}
	})
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.Expect(w.vc.RemoveDatastore("dc-1", "datastore-b")).To(Succeed())
	w.waitForCondition(zones[1], infrav1.VSphereDeploymentZoneDatastoreReadyCondition, infrav1.DatastoreNotFoundReason)
	w.waitForPublished(cluster, zones[0].Name, zones[2].Name)
	machine := w.machine("one", "cp-b", zones[1].Name)
	message := w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(message).To(ContainSubstring("datastore-b"))
	w.Consistently(w.vms, "500ms").Should(BeEmpty())
	w.Expect(w.vc.RestoreDatastore("dc-1", "datastore-b")).To(Succeed())
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["cp-b"].Cluster).To(HaveSuffix("zone-b"))
}

func TestMachineWaitsForItsFailureDomainToExist(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	machine := w.machine("one", "cp-a", w.name+"-a")
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.FailureDomainNotFoundReason)
	w.Expect(w.vms()).To(BeEmpty())
	w.threeZones()
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["cp-a"].Cluster).To(HaveSuffix("zone-a"))
}

func TestAssignedMachineWaitsForItsDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	machine := w.machine("one", "worker", "", func(m *infrav1.VSphereMachine) {
		m.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: w.name + "-b"}
	})
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, infrav1.FailureDomainNotFoundReason)
	w.threeZones()
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["worker"].Cluster).To(HaveSuffix("zone-b"))
	w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(w.name + "-b")))
}

func TestZoneInUseRejectsEditsAndDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForProvisioned(machine)

	w.Eventually(func() error {
		w.get(zone)
		zone.Spec.PlacementConstraint.Folder = "templates"
		return w.client.Update(t.Context(), zone)
	}).Should(MatchError(ContainSubstring("cp-a")), "the refusal names the machine")
	w.Eventually(func() error {
		w.get(domain)
		domain.Spec.Topology.Datastore = "datastore-b"
		return w.client.Update(t.Context(), domain)
	}).Should(MatchError(ContainSubstring("cp-a")))
	refused := func() error { return w.client.Delete(t.Context(), domain) } // A busy webhook may not respond in time.
	w.Eventually(refused).Should(MatchError(ContainSubstring(zone.Name)))

	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Expect(w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason)).To(ContainSubstring("cp-a"))
	w.Eventually(refused).Should(MatchError(ContainSubstring(zone.Name)), "the zone still waits for its machine")
	w.remove(machine)
	w.waitForDeletion(zone)
	w.waitForDeletion(domain)
}

func TestDeletionNeedsNeitherZoneNorFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForProvisioned(machine)
	// Deleted without the manager, as by a move that left them out.
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) {})
	w.stop()
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) { z.Finalizers = nil })
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}})).To(Succeed())
	w.start()
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestEveryDecisionEmitsEvent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	w.waitForProvisioned(w.machine("one", "cp-a", zone.Name))
	w.Eventually(func(g Gomega) {
		events := &corev1.EventList{}
		g.Expect(w.client.List(t.Context(), events, client.InNamespace(w.name))).To(Succeed())
		var reasons []string
		for i := range events.Items {
			reasons = append(reasons, events.Items[i].Reason)
		}
		g.Expect(reasons).To(ContainElements("FailureDomainActive", "Placed", "Cloning", "Provisioned"))
	}).Should(Succeed())
}

// TestGroupThatAnotherClientOverwritesIsRepaired simulates a second management cluster that has read the group before a machine
// joined it.
func TestGroupThatAnotherClientOverwritesIsRepaired(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.cluster("one")
	zone := w.zone("a", infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore,
		Hosts: infrav1.FailureDomainHosts{VMGroupName: "rack-a-vms", HostGroupName: "rack-a-hosts"},
	}, nil)
	w.vc.HoldTasks("PowerOnVM_Task")
	machine := w.machine("one", "cp", zone.Name)
	w.waitForCondition(&infrav1.VSphereVM{ObjectMeta: w.meta("cp")}, infrav1.VSphereVMVirtualMachineProvisionedCondition,
		infrav1.VSphereVMVirtualMachinePoweringOnReason)
	inGroup := func() []string { return w.vms()["cp"].Groups }

	w.Expect(w.vc.OverwriteGroup("cluster-1", "rack-a-vms")).To(Succeed())
	w.Expect(inGroup()).To(BeEmpty())
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.waitForProvisioned(machine)
	w.Eventually(inGroup).Should(ConsistOf("rack-a-vms"))

	w.waitForCondition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	before := conditions.Get(machine, clusterv1.ReadyCondition).LastTransitionTime
	for range 3 {
		w.Expect(w.vc.OverwriteGroup("cluster-1", "rack-a-vms")).To(Succeed())
		w.Eventually(inGroup).Should(ConsistOf("rack-a-vms"))
	}
	w.get(machine)
	w.Expect(conditions.Get(machine, clusterv1.ReadyCondition).LastTransitionTime).To(Equal(before), "it runs all the while")
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/managementcluster"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// bareHosts returns simulator.HostGroups without groups, rules and tags.
func bareHosts() simulator.Layout {
	layout := simulator.HostGroups()
	layout.Tags = nil
	for i := range layout.Datacenters[0].Clusters {
		cluster := &layout.Datacenters[0].Clusters[i]
		cluster.HostGroups, cluster.VMGroups, cluster.Rules = nil, nil, nil
	}
	return layout
}

// autoRack creates a zone of the hosts of a rack, for which everything must be created.
func (w *fixture) autoRack(letter string, changes ...func(*infrav1.VSphereFailureDomain)) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	return w.zone(letter, infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore},
		func(_ *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
			d.Spec.Region.Type, d.Spec.Region.AutoConfigure = infrav1.ComputeClusterFailureDomain, ptr.To(true)
			d.Spec.Zone.Type, d.Spec.Zone.AutoConfigure = infrav1.HostGroupFailureDomain, ptr.To(true)
			d.Spec.Topology.Hosts = infrav1.FailureDomainHosts{
				AutoConfigure: ptr.To(true), HostNames: []string{"host-" + letter + "-1", "host-" + letter + "-2"},
			}
			for _, change := range changes {
				change(d)
			}
		})
}

// named sets the names of a rack's groups.
func named(letter string) func(*infrav1.VSphereFailureDomain) {
	return func(d *infrav1.VSphereFailureDomain) {
		d.Spec.Topology.Hosts.VMGroupName, d.Spec.Topology.Hosts.HostGroupName = "rack-"+letter+"-vms", "rack-"+letter+"-hosts"
	}
}

func repairing(d *infrav1.VSphereFailureDomain) { d.Spec.Drift = infrav1.RepairDrift }

// autoConfigured waits until condition AutoConfigured has the reason, and returns its message.
func (w *fixture) autoConfigured(zone *infrav1.VSphereDeploymentZone, reason string) string {
	w.t.Helper()
	return w.waitForCondition(zone, infrav1.VSphereDeploymentZoneAutoConfiguredCondition, reason)
}

// waitForConfigured waits until everything that the zone requests is created, and the zone is ready.
func (w *fixture) waitForConfigured(zone *infrav1.VSphereDeploymentZone) {
	w.t.Helper()
	w.autoConfigured(zone, infrav1.VSphereDeploymentZoneAutoConfiguredReason)
	w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

// configuration returns the groups, rules, categories and tags of the vCenter, one line each.
func (w *fixture) configuration() []string {
	w.t.Helper()
	lines := []string{}
	hostGroups, err := w.vc.HostGroups("cluster-1")
	w.Expect(err).NotTo(HaveOccurred())
	for name, hosts := range hostGroups {
		lines = append(lines, fmt.Sprintf("host group %s: %s", name, strings.Join(hosts, " ")))
	}
	vmGroups, err := w.vc.GroupMembers("cluster-1")
	w.Expect(err).NotTo(HaveOccurred())
	for name := range vmGroups {
		lines = append(lines, "VM group "+name)
	}
	rules, err := w.vc.Rules("cluster-1")
	w.Expect(err).NotTo(HaveOccurred())
	for _, rule := range rules {
		lines = append(lines, fmt.Sprintf("rule %s: %s on %s, enabled %t, mandatory %t", rule.Name, rule.VMGroup, rule.HostGroup, *rule.Enabled, *rule.Mandatory))
	}
	categories, err := w.vc.Categories()
	w.Expect(err).NotTo(HaveOccurred())
	for _, category := range categories {
		lines = append(lines, fmt.Sprintf("category %s: %s %s", category.Name, category.Cardinality, strings.Join(category.Types, " ")))
	}
	tags, err := w.vc.Tags()
	w.Expect(err).NotTo(HaveOccurred())
	for _, tag := range tags {
		lines = append(lines, fmt.Sprintf("tag %s:%s on %s", tag.Category, tag.Name, strings.Join(tag.On, " ")))
	}
	return lines
}

const onCluster = "/dc-1/host/cluster-1"

// racked returns the configuration of racks with named groups.
func racked(letters ...string) []string {
	lines := []string{
		"category k8s-region: SINGLE ClusterComputeResource", "category k8s-zone: SINGLE HostSystem", "tag k8s-region:region-1 on " + onCluster,
	}
	for _, l := range letters {
		lines = append(lines,
			fmt.Sprintf("host group rack-%s-hosts: host-%s-1 host-%s-2", l, l, l), fmt.Sprintf("VM group rack-%s-vms", l),
			fmt.Sprintf("rule rack-%s-vms-rule: rack-%s-vms on rack-%s-hosts, enabled true, mandatory true", l, l, l),
			fmt.Sprintf("tag k8s-zone:zone-%s on %s/host-%s-1 %s/host-%s-2", l, onCluster, l, onCluster, l))
	}
	return lines
}

func TestAutoConfigureEmptyComputeCluster(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]simulator.Option{
		"ours":        nil,
		"plain vcsim": {simulator.WithStockCollector()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, bareHosts(), options...)
			cluster := w.cluster("one")
			here, err := managementcluster.Of(t.Context(), w.client)
			w.Expect(err).NotTo(HaveOccurred())
			var zones []*infrav1.VSphereDeploymentZone
			for _, letter := range []string{"a", "b", "c"} {
				zones = append(zones, w.autoRack(letter))
			}
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
			for i, zone := range zones {
				letter := string(rune('a' + i))
				w.waitForConfigured(zone)
				machine := w.machine("one", "cp-"+letter, zone.Name)
				w.waitForProvisioned(machine)
				vm := w.vms()["cp-"+letter]
				w.Expect(vm.Host).To(HavePrefix("host-"+letter+"-"), "DRS runs it on the zone's hosts")
				w.Expect(vm.Groups).To(ConsistOf(zone.Name+"-"+here+"-vms"), "the name contains the management cluster")
				w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
			}
			w.Expect(w.configuration()).To(HaveLen(2 + 1 + 3*4))
		})
	}
}

func TestConfiguredObjectsAreRemovedWithLastZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	w.cluster("one")
	a, b := w.autoRack("a", named("a")), w.autoRack("b", named("b"))
	w.waitForConfigured(a)
	w.waitForConfigured(b)
	w.Expect(w.configuration()).To(ConsistOf(racked("a", "b")))
	for _, zone := range []*infrav1.VSphereDeploymentZone{a, b} {
		w.Eventually(func(g Gomega) {
			w.get(zone)
			g.Expect(zone.Status.Configured).To(HaveLen(3+3+4), "what they share is on record for both")
		}).Should(Succeed())
	}
	machine := w.machine("one", "cp-a", a.Name)
	w.waitForProvisioned(machine)
	w.Expect(w.client.Delete(t.Context(), a)).To(Succeed())
	w.Expect(w.waitForCondition(a, clusterv1.ReadyCondition, clusterv1.DeletingReason)).To(ContainSubstring("cp-a"))
	w.Expect(w.configuration()).To(ConsistOf(racked("a", "b")), "machines go first")
	w.remove(machine)
	w.waitForDeletion(a)
	w.Expect(w.configuration()).To(ConsistOf(racked("b")))
	w.waitForConfigured(b)
	w.Expect(w.client.Delete(t.Context(), b)).To(Succeed())
	w.waitForDeletion(b)
	w.Expect(w.configuration()).To(BeEmpty())
}

func TestConcurrentZoneDeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	var zones []*infrav1.VSphereDeploymentZone
	for _, letter := range []string{"a", "b", "c"} {
		zones = append(zones, w.autoRack(letter))
	}
	for _, zone := range zones {
		w.waitForConfigured(zone)
	}
	for _, zone := range zones {
		w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	}
	for _, zone := range zones {
		w.waitForDeletion(zone)
	}
	w.Expect(w.configuration()).To(BeEmpty())
}

// Objects created by an administrator are used and verified, and never changed or removed.
func TestForeignObjectsAreNotChanged(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	zone := w.autoRack("a", named("a"), repairing)
	w.waitForConfigured(zone)
	w.Expect(zone.Status.Configured).To(BeEmpty())
	w.Expect(w.vc.DisableRule("cluster-1", "rack-a", true)).To(Succeed())
	message := w.waitForCondition(zone, infrav1.VSphereDeploymentZoneHostsReadyCondition, "HostsMisconfigured")
	w.Expect(message).To(ContainSubstring("disabled"))
	w.Expect(w.vc.SetHostGroup("cluster-1", "rack-a-hosts", "host-a-1")).To(Succeed())
	w.Expect(w.vc.DisableRule("cluster-1", "rack-a", false)).To(Succeed())
	w.waitForConfigured(zone)
	before := w.configuration()
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.waitForDeletion(zone)
	w.Expect(w.configuration()).To(ConsistOf(before))
	w.Expect(w.vc.Calls()["ReconfigureComputeResource_Task"]).To(BeZero())
}

func TestOnlyMissingObjectsAreCreated(t *testing.T) {
	t.Parallel()
	layout := bareHosts()
	layout.Datacenters[0].Clusters[0].HostGroups = map[string][]string{"rack-a-hosts": {"host-a-1"}}
	layout.Tags = []simulator.Tag{{Category: simulator.ZoneCategory, Name: "zone-b", On: []string{onCluster + "/host-b-1"}}}
	w := newFixture(t, layout)
	zone := w.autoRack("a", named("a"), func(d *infrav1.VSphereFailureDomain) { d.Spec.Topology.Hosts.HostNames = nil })
	w.waitForConfigured(zone)
	made := []string{
		"category k8s-region: SINGLE ClusterComputeResource", "tag k8s-region:region-1 on " + onCluster, "VM group rack-a-vms",
		"rule rack-a-vms-rule: rack-a-vms on rack-a-hosts, enabled true, mandatory true", "tag k8s-zone:zone-a on " + onCluster + "/host-a-1",
	}
	there := []string{
		"category k8s-zone: SINGLE ", "host group rack-a-hosts: host-a-1", "tag k8s-zone:zone-b on " + onCluster + "/host-b-1",
	}
	w.Expect(w.configuration()).To(ConsistOf(append(made, there...)), "the hosts of the group that there is carry the tag")
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.waitForDeletion(zone)
	w.Expect(w.configuration()).To(ConsistOf(there))
}

func TestHostTagSelectsHostGroup(t *testing.T) {
	t.Parallel()
	layout := bareHosts()
	layout.Tags = []simulator.Tag{{Category: "racks", Name: "a", On: []string{onCluster + "/host-a-1"}}}
	w := newFixture(t, layout)
	tagged := func(d *infrav1.VSphereFailureDomain) {
		d.Spec.Topology.Hosts.HostNames, d.Spec.Topology.Hosts.HostTag = nil, infrav1.HostTag{Category: "racks", Name: "a"}
	}
	zone := w.autoRack("a", named("a"), tagged)
	w.waitForConfigured(zone)
	w.Expect(w.configuration()).To(ContainElement("host group rack-a-hosts: host-a-1"))
	w.Expect(w.vc.AttachTag("racks/a", onCluster+"/host-a-2")).To(Succeed())
	w.stop()
	w.start()
	w.Eventually(w.configuration).Should(ContainElements("host group rack-a-hosts: host-a-1 host-a-2",
		"tag k8s-zone:zone-a on "+onCluster+"/host-a-1 "+onCluster+"/host-a-2"), "it follows the tag, which is not drift")
	w.waitForConfigured(zone)

	none := w.autoRack("b", named("b"), tagged, func(d *infrav1.VSphereFailureDomain) { d.Spec.Topology.Hosts.HostTag.Name = "b" })
	w.Expect(w.autoConfigured(none, infrav1.VSphereDeploymentZoneConfigurationRefusedReason)).To(ContainSubstring(
		`topology.hosts.hostTag: no host of compute cluster cluster-1 carries tag "b" of category "racks"; attach it`))
	unknown := w.autoRack("c", named("c"), func(d *infrav1.VSphereFailureDomain) { d.Spec.Topology.Hosts.HostNames[0] = "host-9" })
	w.Expect(w.autoConfigured(unknown, infrav1.VSphereDeploymentZoneConfigurationRefusedReason)).To(ContainSubstring(
		"topology.hosts.hostNames: compute cluster cluster-1 has no host host-9; it has host-a-1"))
}

func TestMissingPrivilegesAreReportedOneByOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	w.vc.AllowTagging(false, "CreateCategory", "CreateTag", "AttachTag")
	zone := w.autoRack("a", named("a"))
	message := func() string {
		w.get(zone)
		return w.autoConfigured(zone, infrav1.PrivilegeMissingReason)
	}
	for _, privilege := range []string{"CreateCategory", "CreateTag", "AttachTag"} {
		w.Eventually(message).Should(ContainSubstring("privilege InventoryService.Tagging." + privilege + " "))
		w.vc.AllowTagging(true, privilege)
	}
	w.waitForConfigured(zone)
	w.Expect(w.configuration()).To(ConsistOf(racked("a")))
}

func TestMissingPrivilegeOnComputeClusterIsReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	w.vc.RefuseCalls("ReconfigureComputeResource_Task", -1, missing("Host.Inventory.EditCluster"))
	zone := w.autoRack("a", named("a"))
	w.Expect(w.autoConfigured(zone, infrav1.PrivilegeMissingReason)).To(And(
		ContainSubstring("privilege Host.Inventory.EditCluster"), ContainSubstring(`creating host group "rack-a-hosts"`)))
	w.vc.RefuseCalls("ReconfigureComputeResource_Task", 0, nil)
	w.waitForConfigured(zone)

	w.vc.RefuseCalls("ReconfigureComputeResource_Task", -1, missing("Host.Inventory.EditCluster"))
	w.vc.AllowTagging(false, "DeleteTag")
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Eventually(func() string {
		return w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason)
	}).Should(And(ContainSubstring("privilege Host.Inventory.EditCluster"), ContainSubstring("privilege InventoryService.Tagging.DeleteTag on the tag"),
		ContainSubstring(infrav1.AbandonConfiguredAnnotation)))
	w.vc.RefuseCalls("ReconfigureComputeResource_Task", 0, nil)
	w.vc.AllowTagging(true, "DeleteTag")
	w.waitForDeletion(zone)
	w.Expect(w.configuration()).To(BeEmpty())
}

func TestObjectWithOtherTagOfCategoryIsReported(t *testing.T) {
	t.Parallel()
	layout := bareHosts()
	layout.Tags = []simulator.Tag{{Category: simulator.ZoneCategory, Name: "zone-b", On: []string{onCluster + "/host-a-1"}}}
	w := newFixture(t, layout)
	zone := w.autoRack("a", named("a"))
	w.Expect(w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfigurationRefusedReason)).To(ContainSubstring(
		`host-a-1 already has tag "zone-b" of category "k8s-zone": detach it`))
	w.Expect(w.configuration()).To(ContainElement("tag k8s-zone:zone-a on " + onCluster + "/host-a-2"))
	w.Expect(w.vc.DetachTag("k8s-zone/zone-b", onCluster+"/host-a-1")).To(Succeed())
	w.stop() // attachments are cached for a minute
	w.start()
	w.waitForConfigured(zone)
}

// An object with two tags of a category would be in two zones. Such a category is reported before that happens, regardless of
// its owner.
func TestCategoryOfMultipleCardinalityIsReported(t *testing.T) {
	t.Parallel()
	layout := bareHosts()
	layout.Tags = []simulator.Tag{{Category: simulator.ZoneCategory, Name: "zone-a", On: []string{onCluster + "/host-a-1", onCluster + "/host-a-2"}}}
	w := newFixture(t, layout)
	w.Expect(w.vc.AllowSeveralTags(simulator.ZoneCategory)).To(Succeed())
	zone := w.autoRack("a", named("a"), repairing)
	message := `tag category "%s" allows an object to have several of its tags`
	w.Expect(w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfigurationRefusedReason)).To(And(
		ContainSubstring(message, simulator.ZoneCategory), Not(ContainSubstring(message, simulator.RegionCategory))))

	w.Expect(w.vc.AllowSeveralTags(simulator.RegionCategory)).To(Succeed())
	w.stop() // categories are cached for some minutes
	w.start()
	w.Eventually(func() string {
		return w.autoConfigured(zone, infrav1.VSphereDeploymentZoneConfigurationRefusedReason)
	}).Should(ContainSubstring(message, simulator.RegionCategory), "a category of our own is reported after a change, too")
}

func TestVMGroupWithForeignMachinesIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	w.cluster("one")
	zone, other := w.autoRack("a", named("a")), w.autoRack("b", named("b"))
	w.waitForConfigured(zone)
	w.waitForConfigured(other)
	w.waitForProvisioned(w.machine("one", "guest", other.Name))
	w.Expect(w.vc.OverwriteGroup("cluster-1", "rack-a-vms", "guest")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Eventually(func() string { return w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason) }).Should(And(
		ContainSubstring(`VM group "rack-a-vms" of compute cluster cluster-1 still has 1 virtual machines: guest`),
		ContainSubstring(infrav1.AbandonConfiguredAnnotation)))
	w.Expect(w.configuration()).To(ContainElements("VM group rack-a-vms", "host group rack-a-hosts: host-a-1 host-a-2",
		"rule rack-a-vms-rule: rack-a-vms on rack-a-hosts, enabled true, mandatory true"))
	w.Expect(w.vc.OverwriteGroup("cluster-1", "rack-a-vms")).To(Succeed())
	w.waitForDeletion(zone)
	w.Expect(w.configuration()).To(ConsistOf(racked("b")))
}

func TestTagOnOtherObjectIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a", named("a"))
	w.waitForConfigured(zone)
	w.Expect(w.vc.AttachTag("k8s-zone/zone-a", onCluster+"/host-c-1")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.waitForDeletion(zone)
	w.Expect(w.configuration()).To(ConsistOf("category k8s-zone: SINGLE HostSystem", "tag k8s-zone:zone-a on "+onCluster+"/host-c-1"))
}

func TestZoneOfDeletedVCenterCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a", named("a"))
	w.waitForConfigured(zone)
	w.vc.SetDown(true)
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.Eventually(func() string { return w.waitForCondition(zone, clusterv1.ReadyCondition, clusterv1.DeletingReason) }).Should(And(
		ContainSubstring("Objects created in vCenter cannot be removed"), ContainSubstring(infrav1.AbandonConfiguredAnnotation)))
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) {
		metav1.SetMetaDataAnnotation(&z.ObjectMeta, faultlinev1.FormerName(infrav1.AbandonConfiguredAnnotation), "")
	})
	w.waitForDeletion(zone)
	w.waitForZoneEvent(zone, "Abandoned")
}

func TestRenamedGroupsReplaceCreatedOnes(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a", named("x"))
	w.waitForConfigured(zone)
	update(w, &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}, named("a"))
	w.Eventually(w.configuration).Should(ConsistOf(racked("a")))
	w.waitForConfigured(zone)
}

func TestGroupNamesAreDefaultedOnCreate(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	zone := w.autoRack("a")
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Name}}
	w.get(domain)
	here, err := managementcluster.Of(context.WithoutCancel(t.Context()), w.client)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(domain.Spec.Topology.Hosts.VMGroupName).To(Equal(zone.Name + "-" + here + "-vms"))
	w.Expect(domain.Spec.Topology.Hosts.HostGroupName).To(Equal(zone.Name + "-" + here + "-hosts"))
}

// waitForZoneEvent waits for an event about a zone. Events about cluster-scoped objects are in the default namespace.
func (w *fixture) waitForZoneEvent(zone *infrav1.VSphereDeploymentZone, reason string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		events := &corev1.EventList{}
		g.Expect(w.client.List(w.t.Context(), events, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
		g.Expect(slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == reason && e.InvolvedObject.Name == zone.Name
		})).To(BeTrue())
	}).Should(Succeed())
}

// missing returns vCenter's fault for a privilege that the account lacks.
func missing(privilege string) *types.NoPermission {
	return &types.NoPermission{Object: &types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c1"}, PrivilegeId: privilege}
}

//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Zones of hosts for which the shared vCenter has no group, rule, tag or category.
var _ = Describe("Zones that are made in the vCenter", Label("auto-configure", "vsphere", onlyBoot), func() {
	const (
		spec           = "auto-configure"
		computeCluster = "zone-a"
		region         = "auto-configure"
	)
	racks := map[string]string{"rack-a": "zone-a-host-1", "rack-b": "zone-a-host-2"}

	It("keep the machines of a cluster on their hosts, are not changed, and leave nothing", func(ctx SpecContext) {
		variables := environment.Variables()
		for name, value := range map[string]string{"VSPHERE_REGION": region, "VSPHERE_ZONE_A": "rack-a", "VSPHERE_ZONE_B": "rack-b"} {
			GinkgoT().Setenv(name, value)
		}
		other := connectTo(ctx, variables)
		before := other.configuration(ctx)
		DeferCleanup(func(ctx SpecContext) {
			if !*keep {
				Expect(other.configuration(ctx)).To(Equal(before), "what was made has gone with the last zone, and nothing else")
			}
		})
		for rack, host := range racks {
			makeZone(ctx, variables, nil, rack, infrav1.VSphereFailureDomainSpec{
				Region: infrav1.FailureDomain{Name: region, Type: infrav1.ComputeClusterFailureDomain, TagCategory: "rooms", AutoConfigure: ptr.To(true)},
				Zone:   infrav1.FailureDomain{Name: rack, Type: infrav1.HostGroupFailureDomain, TagCategory: "racks", AutoConfigure: ptr.To(true)},
				Topology: infrav1.Topology{
					Datacenter: variables["VSPHERE_DATACENTER"], ComputeCluster: computeCluster, Datastore: "datastore-a",
					Networks: []string{variables["VSPHERE_NETWORK"]},
					Hosts:    infrav1.FailureDomainHosts{AutoConfigure: ptr.To(true), HostNames: []string{host}},
				},
			})
		}
		c := newCluster(ctx, spec, 1, 1)

		By("Asking the vCenter what has been made, and where the machines are")
		Eventually(func(g Gomega) { g.Expect(c.guest(ctx).ready(ctx, g)).To(Equal(3)) }, config.GetIntervals(spec, "wait-nodes-ready")...).Should(Succeed())
		made := other.configuration(ctx)
		Expect(made).To(ContainElements(before), "what was there is as it was")
		Expect(added(before, made)).To(ConsistOf(configured(ctx, racks, computeCluster, region)))
		c.onItsHosts(ctx, other, racks)

		By("Deleting the rule of rack-a, as a person does")
		rule := vmGroup(ctx, "rack-a")
		other.changeRule(ctx, rule, types.ArrayUpdateOperationRemove, nil)
		awaitAutoConfigured(ctx, "rack-a", drifted("it was removed"))
		awaitDriftEvent(ctx, "rack-a")
		Expect(other.groups(ctx)[rule].Enforced).To(BeFalse(), "what is reported is not touched")

		By("Asking for what was made to be put back")
		setDrift(ctx, "rack-a", infrav1.RepairDrift)
		Eventually(other.configuration, "2m", "500ms").WithArguments(ctx).Should(Equal(made))
		awaitAutoConfigured(ctx, "rack-a", HaveField("Status", metav1.ConditionTrue))

		By("Making the rule of rack-b one that gives way, first reported and then put back")
		rule = vmGroup(ctx, "rack-b")
		other.changeRule(ctx, rule, types.ArrayUpdateOperationEdit, func(r *types.ClusterVmHostRuleInfo) { r.Mandatory = ptr.To(false) })
		awaitAutoConfigured(ctx, "rack-b", drifted("it is not mandatory"))
		setDrift(ctx, "rack-b", infrav1.RepairDrift)
		Eventually(other.configuration, "2m", "500ms").WithArguments(ctx).Should(Equal(made))
		c.onItsHosts(ctx, other, racks)
	})
})

// configured returns the configuration that must be created for the racks, in the format of vcenter.configuration.
func configured(ctx context.Context, racks map[string]string, computeCluster, region string) []string {
	lines := []string{
		"category rooms: SINGLE ClusterComputeResource", fmt.Sprintf("tag rooms:%s on %s", region, computeCluster), "category racks: SINGLE HostSystem",
	}
	for rack, host := range racks {
		vms, hosts := vmGroup(ctx, rack), failureDomain(ctx, rack).Spec.Topology.Hosts.HostGroupName
		lines = append(lines, "VM group "+vms, fmt.Sprintf("host group %s: %s", hosts, host), fmt.Sprintf("tag racks:%s on %s", rack, host),
			fmt.Sprintf("rule %s-rule: %s on %s, enabled true, mandatory true", vms, vms, hosts))
	}
	return lines
}

// onItsHosts expects each machine of the cluster in the VM group of its rack and on the rack's host in vCenter.
func (c *cluster) onItsHosts(ctx context.Context, other vcenter, racks map[string]string) {
	expected := c.workerZones(ctx)
	for machine, rack := range c.controlPlaneDomains(ctx, Default) {
		expected[machine] = rack
	}
	Expect(expected).To(HaveLen(3))
	groups, in := other.groups(ctx), map[string]int{}
	for machine, rack := range expected {
		Expect(racks).To(HaveKey(rack), "failure domain of %s", machine)
		group := groups[vmGroup(ctx, rack)]
		Expect(group.Members).To(ContainElement(machine))
		Expect(group.Enforced).To(BeTrue(), "the rule of %s is enabled and mandatory", rack)
		Expect(other.hostOf(ctx, machine)).To(Equal(racks[rack]))
		in[rack]++
	}
	Expect(in).To(HaveLen(len(racks)), "each rack has machines")
}

func failureDomain(ctx context.Context, name string) *infrav1.VSphereFailureDomain {
	domain := &infrav1.VSphereFailureDomain{}
	Expect(management.GetClient().Get(ctx, client.ObjectKey{Name: name}, domain)).To(Succeed())
	return domain
}

// vmGroup returns the name of a failure domain's VM group.
func vmGroup(ctx context.Context, name string) string {
	group := failureDomain(ctx, name).Spec.Topology.Hosts.VMGroupName
	Expect(group).NotTo(BeEmpty())
	return group
}

func setDrift(ctx context.Context, name string, policy infrav1.DriftPolicy) {
	domain := failureDomain(ctx, name)
	before := domain.DeepCopy()
	domain.Spec.Drift = policy
	Expect(management.GetClient().Patch(ctx, domain, client.MergeFrom(before))).To(Succeed())
}

// awaitAutoConfigured waits until the condition of a zone that reports its automatic configuration matches.
func awaitAutoConfigured(ctx context.Context, zone string, as gomegatypes.GomegaMatcher) {
	Eventually(func(g Gomega) metav1.Condition {
		found := &infrav1.VSphereDeploymentZone{}
		g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Name: zone}, found)).To(Succeed())
		return ptr.Deref(conditions.Get(found, infrav1.VSphereDeploymentZoneAutoConfiguredCondition), metav1.Condition{})
	}, "1m", "200ms").Should(as)
}

func drifted(message string) gomegatypes.GomegaMatcher {
	return And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", infrav1.VSphereDeploymentZoneConfigurationDriftedReason),
		HaveField("Message", ContainSubstring(message)))
}

// awaitDriftEvent waits for the event that reports drift of a zone's configuration. Events of cluster-scoped objects are in namespace
// default.
func awaitDriftEvent(ctx context.Context, zone string) {
	Eventually(func(g Gomega) bool {
		events := &corev1.EventList{}
		g.Expect(management.GetClient().List(ctx, events, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return event.InvolvedObject.Name == zone && event.Reason == infrav1.VSphereDeploymentZoneConfigurationDriftedReason
		})
	}, "1m", "200ms").Should(BeTrue(), "an event about %s", zone)
}

// added returns the lines that are only in the second slice.
func added(before, after []string) []string {
	return slices.DeleteFunc(slices.Clone(after), func(line string) bool { return slices.Contains(before, line) })
}

// configuration returns all groups, rules, tag categories and tags of the vCenter, one line each, sorted.
func (v vcenter) configuration(ctx context.Context) []string {
	lines := slices.Concat(v.groupsAndRules(ctx), v.tags(ctx))
	slices.Sort(lines)
	return lines
}

func (v vcenter) groupsAndRules(ctx context.Context) []string {
	var lines []string
	names := v.names(ctx)
	var clusters []mo.ClusterComputeResource
	v.all(ctx, "ClusterComputeResource", []string{"configurationEx"}, &clusters)
	for i := range clusters {
		config := clusters[i].ConfigurationEx.(*types.ClusterConfigInfoEx)
		for _, group := range config.Group {
			switch g := group.(type) {
			case *types.ClusterVmGroup:
				lines = append(lines, "VM group "+g.Name)
			case *types.ClusterHostGroup:
				lines = append(lines, fmt.Sprintf("host group %s: %s", g.Name, strings.Join(names.of(g.Host), " ")))
			}
		}
		for _, rule := range config.Rule {
			if r, ok := rule.(*types.ClusterVmHostRuleInfo); ok {
				lines = append(lines, fmt.Sprintf("rule %s: %s on %s, enabled %t, mandatory %t", r.Name, r.VmGroupName, r.AffineHostGroupName,
					ptr.Deref(r.Enabled, false), ptr.Deref(r.Mandatory, false)))
			}
		}
	}
	return lines
}

func (v vcenter) tags(ctx context.Context) []string {
	var lines []string
	tagging, err := v.Tagging(ctx)
	Expect(err).NotTo(HaveOccurred())
	categories, err := tagging.GetCategories(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, category := range categories {
		lines = append(lines, fmt.Sprintf("category %s: %s %s", category.Name, category.Cardinality, strings.Join(category.AssociableTypes, " ")))
		tags, err := tagging.GetTagsForCategory(ctx, category.ID)
		Expect(err).NotTo(HaveOccurred())
		for i := range tags {
			on, err := tagging.ListAttachedObjects(ctx, tags[i].ID)
			Expect(err).NotTo(HaveOccurred())
			refs := make([]types.ManagedObjectReference, 0, len(on))
			for _, ref := range on {
				refs = append(refs, ref.Reference())
			}
			lines = append(lines, fmt.Sprintf("tag %s:%s on %s", category.Name, tags[i].Name, strings.Join(v.names(ctx).of(refs), " ")))
		}
	}
	return lines
}

// changeRule edits or removes the rule of a VM group.
func (v vcenter) changeRule(ctx context.Context, vmGroup string, operation types.ArrayUpdateOperation, edit func(*types.ClusterVmHostRuleInfo)) {
	var clusters []mo.ClusterComputeResource
	v.all(ctx, "ClusterComputeResource", []string{"configurationEx"}, &clusters)
	for i := range clusters {
		for _, rule := range clusters[i].ConfigurationEx.(*types.ClusterConfigInfoEx).Rule {
			r, ok := rule.(*types.ClusterVmHostRuleInfo)
			if !ok || r.VmGroupName != vmGroup {
				continue
			}
			change := types.ClusterRuleSpec{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: operation}}
			if edit == nil {
				change.RemoveKey = r.Key
			} else {
				edit(r)
				change.Info = r
			}
			task, err := object.NewClusterComputeResource(v.Client.Client, clusters[i].Self).
				Reconfigure(ctx, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{change}}, true)
			Expect(err).NotTo(HaveOccurred())
			Expect(task.Wait(ctx)).To(Succeed())
			return
		}
	}
	Fail("vCenter has no rule for VM group " + vmGroup)
}

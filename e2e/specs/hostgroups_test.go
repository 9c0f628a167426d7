//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

var _ = Describe("Zones that are host groups", Label("host-groups", "vsphere", onlyFast), func() {
	const spec = "host-groups"

	It("keep machines on the hosts of their rack by the rules of the vCenter", func(ctx SpecContext) {
		variables, remove, err := addVCenter(ctx, environment.Kind(GinkgoWriter), "host-groups")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(remove(ctx)).To(Succeed()) })
		racks := []string{"rack-a", "rack-b", "rack-c"}
		variables["VSPHERE_ZONE_A"], variables["VSPHERE_ZONE_B"], variables["VSPHERE_ZONE_C"] = racks[0], racks[1], racks[2]
		for name, value := range variables {
			GinkgoT().Setenv(name, value)
		}
		makeRacks(ctx, variables, racks)
		other := connectTo(ctx, variables)
		DeferCleanup(func(ctx SpecContext) { Expect(other.groups(ctx)).To(HaveEach(HaveField("Members", BeEmpty()))) })
		c := newCluster(ctx, spec, 3, 1)

		By("Asking the vCenter")
		var expected map[string]string
		Eventually(func(g Gomega) { // A machine that joined late may be in replacement.
			expected = c.workerZones(ctx)
			maps.Copy(expected, c.controlPlaneDomains(ctx, g))
			g.Expect(expected).To(HaveLen(5))
			g.Expect(expected).NotTo(ContainElement(""))
		}, config.GetIntervals(spec, "wait-control-plane")...).Should(Succeed())
		groups := other.groups(ctx)
		Expect(expected).To(And(ContainElement(racks[0]), ContainElement(racks[1]), ContainElement(racks[2])))
		for machine, rack := range expected {
			Expect(groups).To(HaveKey(rack + "-vms"))
			group := groups[rack+"-vms"]
			Expect(group.Members).To(ContainElement(machine))
			Expect(group.Enforced).To(BeTrue(), "the rule of %s is enabled and mandatory", rack)
			Expect(group.Hosts).To(ContainElement(other.hostOf(ctx, machine)))
		}

		By("Looking for the cloud provider and the CSI driver in the cluster")
		c.hasAddons(ctx, 2)
	})
})

// hasAddons waits until Cluster API has created the objects of the cluster's ClusterResourceSets.
func (c *cluster) hasAddons(ctx context.Context, count int) {
	Eventually(func(g Gomega) {
		sets := &addonsv1.ClusterResourceSetList{}
		g.Expect(management.GetClient().List(ctx, sets, c.in())).To(Succeed())
		g.Expect(sets.Items).To(HaveLen(count))
		for i := range sets.Items {
			applied := conditions.Get(&sets.Items[i], addonsv1.ClusterResourceSetResourcesAppliedCondition)
			g.Expect(applied).To(HaveField("Status", metav1.ConditionTrue), sets.Items[i].Name)
		}
	}, "1m", "500ms").Should(Succeed())
}

// vcenter is an inventory that fails the spec on an error.
type vcenter struct{ *inventory }

func connectTo(ctx context.Context, variables map[string]string) vcenter {
	found, err := connectInventory(ctx, variables)
	Expect(err).NotTo(HaveOccurred())
	return vcenter{found}
}

func (v vcenter) all(ctx context.Context, kind string, properties []string, into any) {
	Expect(v.All(ctx, kind, properties, into)).To(Succeed())
}

// makeRacks creates zones for the simulated vCenter's host groups, until the end of the spec.
func makeRacks(ctx context.Context, variables map[string]string, racks []string) {
	for i, rack := range racks {
		makeZone(ctx, variables, nil, rack, infrav1.VSphereFailureDomainSpec{
			Region: infrav1.FailureDomain{Name: variables["VSPHERE_REGION"], Type: infrav1.ComputeClusterFailureDomain, TagCategory: "k8s-region"},
			Zone:   infrav1.FailureDomain{Name: infra.Domains[i], Type: infrav1.HostGroupFailureDomain, TagCategory: "k8s-zone"},
			Topology: infrav1.Topology{
				Datacenter: variables["VSPHERE_DATACENTER"], ComputeCluster: "cluster-1", Datastore: "shared",
				Networks: []string{variables["VSPHERE_NETWORK"]},
				Hosts:    infrav1.FailureDomainHosts{VMGroupName: rack + "-vms", HostGroupName: rack + "-hosts"},
			},
		})
	}
}

// makeZone creates a zone that clusters of its region select, with its failure domain, until the end of the spec. Without an identity, the
// zone uses the manager's account or its cluster's.
func makeZone(ctx context.Context, variables map[string]string, identity *infrav1.VSphereIdentityReference, name string, spec infrav1.VSphereFailureDomainSpec) {
	domain := &infrav1.VSphereFailureDomain{}
	domain.Name, domain.Spec = name, spec
	zone := &infrav1.VSphereDeploymentZone{}
	zone.Name, zone.Labels = name, map[string]string{"topology.kubernetes.io/region": spec.Region.Name}
	zone.Spec = infrav1.VSphereDeploymentZoneSpec{
		Server: variables["VSPHERE_SERVER"], Thumbprint: variables["VSPHERE_TLS_THUMBPRINT"], FailureDomain: name, ControlPlane: ptr.To(true),
		PlacementConstraint: infrav1.PlacementConstraint{Folder: variables["VSPHERE_FOLDER"]}, IdentityRef: identity,
	}
	for _, object := range []client.Object{domain, zone} {
		Expect(management.GetClient().Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if *keep {
				return
			}
			// A failure domain is deleted with its last zone.
			Expect(client.IgnoreNotFound(management.GetClient().Delete(ctx, object))).To(Succeed())
			Eventually(func() error { return management.GetClient().Get(ctx, client.ObjectKeyFromObject(object), object) }, "2m", "200ms").
				ShouldNot(Succeed())
		})
	}
}

// hostRule is a VM group and the rule that keeps it on hosts.
type hostRule struct {
	Members, Hosts []string
	Enforced       bool
}

// groups returns the VM groups of all compute clusters by name, with the rule of each.
func (v vcenter) groups(ctx context.Context) map[string]hostRule {
	names := v.names(ctx)
	var clusters []mo.ClusterComputeResource
	v.all(ctx, "ClusterComputeResource", []string{"configurationEx"}, &clusters)
	found := map[string]hostRule{}
	for i := range clusters {
		config := clusters[i].ConfigurationEx.(*types.ClusterConfigInfoEx)
		hosts := map[string][]string{}
		for _, group := range config.Group {
			switch g := group.(type) {
			case *types.ClusterVmGroup:
				found[g.Name] = hostRule{Members: names.of(g.Vm)}
			case *types.ClusterHostGroup:
				hosts[g.Name] = names.of(g.Host)
			}
		}
		for _, rule := range config.Rule {
			if r, ok := rule.(*types.ClusterVmHostRuleInfo); ok {
				group := found[r.VmGroupName]
				group.Hosts = hosts[r.AffineHostGroupName]
				group.Enforced = ptr.Deref(r.Enabled, false) && ptr.Deref(r.Mandatory, false)
				found[r.VmGroupName] = group
			}
		}
	}
	return found
}

type names map[types.ManagedObjectReference]string

// names returns the names of virtual machines and their parents.
func (v vcenter) names(ctx context.Context) names {
	found := names{}
	for _, kind := range []string{"Datacenter", "ClusterComputeResource", "HostSystem", "VirtualMachine"} {
		var entities []mo.ManagedEntity
		v.all(ctx, kind, []string{"name"}, &entities)
		for i := range entities {
			found[entities[i].Self] = entities[i].Name
		}
	}
	return found
}

func (n names) of(refs []types.ManagedObjectReference) []string {
	found := make([]string, 0, len(refs))
	for _, ref := range refs {
		found = append(found, n[ref])
	}
	return found
}

// hostOf returns the host of a virtual machine.
func (v vcenter) hostOf(ctx context.Context, machine string) string {
	var machines []mo.VirtualMachine
	v.all(ctx, "VirtualMachine", []string{"name", "runtime.host"}, &machines)
	for i := range machines {
		if machines[i].Name == machine {
			return v.names(ctx)[*machines[i].Runtime.Host]
		}
	}
	Fail("vCenter has no virtual machine " + machine)
	return ""
}

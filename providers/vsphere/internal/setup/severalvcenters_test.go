// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// adding makes a cluster use more vCenters, with no grace and hold periods.
func adding(others ...*simulator.Server) func(*infrav1.VSphereCluster) {
	return func(c *infrav1.VSphereCluster) {
		for _, other := range others {
			c.Spec.AdditionalServers = append(c.Spec.AdditionalServers, other.Host())
		}
		c.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](0), HoldPeriodSeconds: ptr.To[int32](0)}
	}
}

// zoneAt creates the zone of a compute cluster of simulator.ThreeZones on a vCenter. Its account is that of the manager, which all
// simulated vCenters accept.
func (w *fixture) zoneAt(vc *simulator.Server, letter string, changes ...func(*infrav1.VSphereDeploymentZone)) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter}}
	return w.zone(letter, topology, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
		z.Spec.Server, z.Spec.Thumbprint = vc.Host(), vc.Thumbprint()
		for _, change := range changes {
			change(z)
		}
	})
}

// checkedAs sets the identity of a zone.
func checkedAs(identity *infrav1.VSphereClusterIdentity) func(*infrav1.VSphereDeploymentZone) {
	return func(z *infrav1.VSphereDeploymentZone) {
		z.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name}
	}
}

// waitForServer waits until the cluster reports a reason for one of its servers, and returns the message.
func (w *fixture) waitForServer(cluster *infrav1.VSphereCluster, server, reason string) (message string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.get(cluster)
		var available *metav1.Condition
		for _, known := range cluster.Status.Servers {
			if known.Server == server {
				available = meta.FindStatusCondition(known.Conditions, infrav1.VSphereClusterVCenterAvailableCondition)
			}
		}
		g.Expect(available).NotTo(BeNil(), "%v", cluster.Status.Servers)
		g.Expect(available.Reason).To(Equal(reason), available.Message)
		message = available.Message
	}).Should(Succeed())
	return message
}

// threeVCenters returns a cluster with a zone on each of three vCenters, which are published.
func threeVCenters(t *testing.T) (w *fixture, cluster *infrav1.VSphereCluster, second, third *simulator.Server, zones []*infrav1.VSphereDeploymentZone) {
	t.Helper()
	w = newFixture(t, simulator.ThreeZones())
	second, third = simulator.Start(t, simulator.ThreeZones()), simulator.Start(t, simulator.ThreeZones())
	zones = []*infrav1.VSphereDeploymentZone{w.zoneAt(w.vc, "a"), w.zoneAt(second, "b"), w.zoneAt(third, "c")}
	cluster = w.cluster("one", adding(second, third))
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	return w, cluster, second, third, zones
}

func vmsOn(vc *simulator.Server) []string {
	var names []string
	for _, vm := range vc.VMs() {
		if vm.Name != simulator.TemplateName {
			names = append(names, vm.Name)
		}
	}
	return names
}

func TestZoneOnAnotherVCenterIsAFailureDomainOfTheCluster(t *testing.T) {
	t.Parallel()
	w, cluster, second, third, zones := threeVCenters(t)
	machines := []*infrav1.VSphereMachine{
		w.machine("one", "cp-a", zones[0].Name, controlPlane), w.machine("one", "cp-b", zones[1].Name, controlPlane),
		w.machine("one", "cp-c", zones[2].Name, controlPlane),
	}
	for i, machine := range machines {
		w.waitForProvisioned(machine)
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zones[i].Name)))
	}
	for vc, name := range map[*simulator.Server]string{w.vc: "cp-a", second: "cp-b", third: "cp-c"} {
		w.Expect(vmsOn(vc)).To(ConsistOf(name))
		w.Expect(w.vsphereVM(name).Spec.Server).To(Equal(vc.Host()))
		w.waitForServer(cluster, vc.Host(), infrav1.VSphereClusterVCenterAvailableReason)
	}
	w.Expect(cluster.Status.Servers).To(HaveLen(3))
	w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	w.Eventually(func(g Gomega) {
		w.get(cluster)
		for _, zone := range zones {
			_, known := domain(cluster, zone.Name)
			g.Expect(known.Machines.ControlPlane).To(BeEquivalentTo(1), zone.Name)
		}
	}).Should(Succeed())
	w.Expect(second.Sessions()).To(Equal(1), "checks and machines share it")
}

func TestOneVCenterDownTakesOnlyItsZones(t *testing.T) {
	t.Parallel()
	w, cluster, second, _, zones := threeVCenters(t)
	machines := []*infrav1.VSphereMachine{w.machine("one", "m-a", zones[0].Name), w.machine("one", "m-b", zones[1].Name), w.machine("one", "m-c", zones[2].Name)}
	for _, machine := range machines {
		w.waitForCondition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	}
	second.SetDown(true)
	w.waitForPublished(cluster, zones[0].Name, zones[2].Name)
	w.waitForServer(cluster, second.Host(), infrav1.VCenterUnreachableReason)
	_, known := domain(cluster, zones[1].Name)
	w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
	w.Expect(known.Reason).To(Equal(infrav1.VCenterUnreachableReason))
	w.Expect(conditions.IsTrue(cluster, infrav1.VSphereClusterVCenterAvailableCondition)).To(BeTrue(), "it is about spec.server")
	waits := w.machine("one", "waits", zones[1].Name)
	w.waitForCondition(waits, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.waitForProvisioned(w.machine("one", "elsewhere", zones[2].Name))
	for _, machine := range machines {
		w.get(machine)
		w.Expect(conditions.IsTrue(machine, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(machine))
	}
	second.SetDown(false)
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.waitForProvisioned(waits)

	w.vc.SetDown(true) // the cluster's own
	w.waitForPublished(cluster, zones[1].Name, zones[2].Name)
	w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	w.waitForProvisioned(w.machine("one", "again", zones[1].Name))
	w.vc.SetDown(false)
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
}

// A machine stays on its vCenter, and is deleted there, whatever the cluster uses now.
func TestMachineInAZoneOfAnotherVCenterIsDeletedThere(t *testing.T) {
	t.Parallel()
	w, cluster, second, third, zones := threeVCenters(t)
	machine, other := w.machine("one", "m-b", zones[1].Name), w.machine("one", "m-c", zones[2].Name)
	w.waitForProvisioned(machine)
	w.waitForProvisioned(other)
	update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.AdditionalServers = nil })
	w.waitForPublished(cluster, zones[0].Name)
	w.Expect(cluster.Status.Servers).To(BeEmpty())
	w.remove(machine)
	w.Expect(vmsOn(second)).To(BeEmpty())

	third.SetDown(true)
	w.waitForCondition(zones[2], infrav1.VSphereDeploymentZoneVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	w.Expect(w.client.Delete(t.Context(), other)).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsDeletingReason)
	w.Expect(message).To(ContainSubstring("m-c"))
	third.SetDown(false)
	w.waitForDeletion(other)
	w.waitForDeletion(cluster)
	w.Expect(vmsOn(third)).To(BeEmpty())
}

// Compute clusters and virtual machines of two vCenters have the same references.
func TestModulesAreKeptPerVCenter(t *testing.T) {
	t.Parallel()
	w, infra, second, near, far := twoVCentersWithModules(t)
	one, two := w.machine("one", "node-a", near.Name, memberOf("workers")), w.machine("one", "node-b", far.Name, memberOf("workers"))
	w.waitForProvisioned(one)
	w.waitForProvisioned(two)
	w.Expect(w.vc.Modules()).To(ConsistOf(And(HaveField("Cluster", "zone-a"), HaveField("VMs", ConsistOf("node-a")))))
	w.Expect(second.Modules()).To(ConsistOf(And(HaveField("Cluster", "zone-b"), HaveField("VMs", ConsistOf("node-b")))))
	w.get(infra)
	w.Expect(infra.Spec.ClusterModules).To(ConsistOf(HaveField("Server", ""), HaveField("Server", second.Host())))

	second.SetDown(true)
	w.waitForServer(infra, second.Host(), infrav1.VCenterUnreachableReason)
	w.Expect(w.client.Delete(t.Context(), &clusterv1.MachineDeployment{ObjectMeta: w.meta("workers")})).To(Succeed())
	w.Eventually(w.vc.Modules).Should(BeEmpty(), "the other vCenter does not matter")
	w.Eventually(func() []infrav1.ClusterModule { return w.get(infra).(*infrav1.VSphereCluster).Spec.ClusterModules }).
		Should(ConsistOf(HaveField("Server", second.Host())), "it may exist")
	second.SetDown(false)
	w.Eventually(second.Modules).Should(BeEmpty())
	w.remove(one)
	w.remove(two)
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.waitForDeletion(infra)
}

func TestZoneWhoseServerNoAccountMayOpenReportsThat(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	second := simulator.Start(t, simulator.ThreeZones(), simulator.WithCredentials("second", "word"))
	w.writeAccount(w.vc.Password())
	bound := w.identity("bound", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.Servers = []string{w.vc.Host()} })
	near, far := w.zoneAt(w.vc, "a"), w.zoneAt(second, "b")
	selector := w.clusterSpec().FailureDomainSelector
	cluster := w.cluster("one", using(bound), adding(second), func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = selector })
	w.waitForPublished(cluster, near.Name)
	message := w.waitForServer(cluster, second.Host(), infrav1.CredentialsInvalidReason)
	w.Expect(message).To(And(ContainSubstring(far.Name), ContainSubstring(second.Host()), ContainSubstring("set spec.identityRef of the zone"), ContainSubstring(w.name)))
	_, known := domain(cluster, far.Name)
	w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
	w.Expect(known.Reason).To(Equal(infrav1.CredentialsInvalidReason))
	waits := w.machine("one", "waits", far.Name)
	w.waitForCondition(waits, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(second.Calls()).To(BeEmpty(), "no account was sent there")

	w.create(w.secret("of-second", "second", "word"))
	identity := w.identity("second", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "of-second" })
	update(w, far, checkedAs(identity))
	w.waitForPublished(cluster, near.Name, far.Name)
	w.waitForProvisioned(waits)
	w.Expect(vmsOn(second)).To(ConsistOf("waits"))

	// The zone can still be checked, but machines of this namespace may not use its account.
	update(w, identity, func(i *infrav1.VSphereClusterIdentity) { i.Spec.AllowedNamespaces = tenant("another") })
	w.waitForServer(cluster, second.Host(), infrav1.CredentialsInvalidReason)
	w.waitForPublished(cluster, near.Name)
}

func TestAccountWithAnotherPasswordOnTheSecondVCenter(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	second := simulator.Start(t, simulator.ThreeZones(), simulator.WithCredentials(w.vc.Username(), "another"))
	near, far := w.zoneAt(w.vc, "a"), w.zoneAt(second, "b")
	cluster := w.cluster("one", adding(second))
	w.waitForPublished(cluster, near.Name)
	w.Expect(w.waitForServer(cluster, second.Host(), infrav1.CredentialsInvalidReason)).To(ContainSubstring(far.Name))
	w.waitForProvisioned(w.machine("one", "near", near.Name))

	w.create(w.secret("of-second", w.vc.Username(), "another"))
	identity := w.identity("second", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "of-second" })
	update(w, far, checkedAs(identity))
	w.waitForPublished(cluster, near.Name, far.Name)
	w.waitForProvisioned(w.machine("one", "far", far.Name))
	update(w, &corev1.Secret{ObjectMeta: w.meta("of-second")}, func(s *corev1.Secret) { s.Data["password"] = []byte("next") })
	second.SetPassword("next")
	second.ExpireSessions()
	w.waitForProvisioned(w.machine("one", "after", far.Name))
}

func TestTwoVCentersWithTheSameDatacenterName(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	second := simulator.Start(t, simulator.ThreeZones())
	near := w.zoneAt(w.vc, "a")
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}}
	far := w.zone("far", topology, func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
		z.Spec.Server, z.Spec.Thumbprint, d.Spec.Zone.Name = second.Host(), second.Thumbprint(), "zone-a"
	})
	cluster := w.cluster("one", adding(second))
	w.waitForPublished(cluster, near.Name, far.Name)
	for name, zone := range map[string]*infrav1.VSphereDeploymentZone{"m-near": near, "m-far": far} {
		machine := w.machine("one", name, zone.Name)
		w.waitForProvisioned(machine)
		w.Expect(machine.Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
	}
	w.Expect(vmsOn(w.vc)).To(ConsistOf("m-near"))
	w.Expect(vmsOn(second)).To(ConsistOf("m-far"))
}

// The zones of both names would fail together.
func TestTwoNamesOfOneVCenter(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(*simulator.Server, *balancer) func(*infrav1.VSphereDeploymentZone){
		"another name": func(vc *simulator.Server, _ *balancer) func(*infrav1.VSphereDeploymentZone) {
			return func(z *infrav1.VSphereDeploymentZone) {
				z.Spec.Server = strings.Replace(vc.Host(), "127.0.0.1", "localhost", 1)
			}
		},
		"a load balancer": func(vc *simulator.Server, b *balancer) func(*infrav1.VSphereDeploymentZone) {
			b.use(vc)
			return b.behind
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBalancer(t)
			w := newFixture(t, simulator.ThreeZones())
			near, far := w.zoneAt(w.vc, "a"), w.zoneAt(w.vc, "b", second(w.vc, b))
			alias := far.Spec.Server
			cluster := w.cluster("one", adding(), func(c *infrav1.VSphereCluster) { c.Spec.AdditionalServers = []string{alias} })
			message := w.waitForServer(cluster, alias, infrav1.VSphereClusterSameVCenterReason)
			w.Expect(message).To(And(ContainSubstring(alias), ContainSubstring(w.vc.Host()), ContainSubstring("use one name")))
			w.waitForPublished(cluster, near.Name)
			_, known := domain(cluster, far.Name)
			w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
			w.Expect(known.Reason).To(Equal(infrav1.VSphereClusterSameVCenterReason))
			waits := w.machine("one", "waits", far.Name)
			w.waitForCondition(waits, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
			w.remove(waits)
			w.Expect(vmsOn(w.vc)).To(BeEmpty())
			w.Expect(w.vc.Calls()).NotTo(HaveKey("CloneVM_Task"))
			w.Eventually(func() error {
				w.get(far)
				far.Spec.Server, far.Spec.Thumbprint = w.vc.Host(), w.vc.Thumbprint()
				return w.client.Update(t.Context(), far)
			}).Should(Succeed())
			w.waitForPublished(cluster, near.Name, far.Name)
			w.waitForServer(cluster, alias, infrav1.VSphereClusterSameVCenterReason)
			update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.AdditionalServers = nil })
			w.Eventually(func() any { return w.get(cluster).(*infrav1.VSphereCluster).Status.Servers }).Should(BeEmpty())
		})
	}
}

func TestZoneThatChangesItsServer(t *testing.T) {
	t.Parallel()
	w, cluster, second, third, zones := threeVCenters(t)
	zone := zones[1]
	machine := w.machine("one", "m-b", zone.Name)
	w.waitForProvisioned(machine)
	move := func(vc *simulator.Server) error {
		w.get(zone)
		zone.Spec.Server, zone.Spec.Thumbprint = vc.Host(), vc.Thumbprint()
		return w.client.Update(t.Context(), zone)
	}
	w.Expect(move(third)).To(MatchError(ContainSubstring("in the zone")))
	w.remove(machine)
	w.Eventually(func() error { return move(third) }).Should(Succeed())
	next := w.machine("one", "next", zone.Name)
	w.waitForProvisioned(next)
	w.Expect(vmsOn(second)).To(BeEmpty())
	w.Expect(vmsOn(third)).To(ConsistOf("next"))
	w.waitForServer(cluster, second.Host(), infrav1.VSphereClusterNoZoneSelectedReason)
	w.remove(next)
	unused := simulator.Start(t, simulator.ThreeZones())
	w.Eventually(func() error { return move(unused) }).Should(Succeed())
	w.waitForPublished(cluster, zones[0].Name, zones[2].Name)
}

// Groups, rules and tags of the same names exist on each vCenter, and are removed there.
func TestAutoConfigureOnTwoVCenters(t *testing.T) {
	t.Parallel()
	w := newFixture(t, bareHosts())
	second := simulator.Start(t, bareHosts())
	far := *w
	far.vc = second
	racks := []*infrav1.VSphereDeploymentZone{w.autoRack("a", named("a")), far.autoRack("b", named("b"))}
	cluster := w.cluster("one", adding(second))
	w.waitForPublished(cluster, racks[0].Name, racks[1].Name)
	for _, rack := range racks {
		w.waitForConfigured(rack)
	}
	w.Expect(w.configuration()).To(ConsistOf(racked("a")))
	w.Expect(far.configuration()).To(ConsistOf(racked("b")))
	machine := w.machine("one", "node-b", racks[1].Name)
	w.waitForProvisioned(machine)
	w.Expect(second.GroupMembers("cluster-1")).To(HaveKeyWithValue("rack-b-vms", HaveLen(1)))
	w.Expect(w.vc.GroupMembers("cluster-1")).To(HaveKeyWithValue("rack-a-vms", BeEmpty()))
	w.remove(machine)

	second.SetDown(true)
	w.waitForServer(cluster, second.Host(), infrav1.VCenterUnreachableReason)
	for _, rack := range racks {
		w.Expect(w.client.Delete(t.Context(), rack)).To(Succeed())
	}
	w.waitForDeletion(racks[0])
	w.Expect(w.configuration()).To(BeEmpty(), "it does not wait for the other vCenter")
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(racks[1]), racks[1])).To(Succeed())
	second.SetDown(false)
	w.waitForDeletion(racks[1])
	w.Expect(far.configuration()).To(BeEmpty())
}

// twoVCentersWithModules returns a cluster with modules and a zone on each of two vCenters.
func twoVCentersWithModules(t *testing.T) (w *fixture, infra *infrav1.VSphereCluster, second *simulator.Server, near, far *infrav1.VSphereDeploymentZone) {
	t.Helper()
	second = simulator.Start(t, simulator.ThreeZones(), simulator.WithVersion("8.0.3"))
	w, infra = newFixtureWithModules(t, adding(second))
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = w.clusterSpec().FailureDomainSelector })
	near, far = w.zoneAt(w.vc, "a"), w.zoneAt(second, "b")
	w.waitForPublished(infra, near.Name, far.Name)
	return w, infra, second, near, far
}

func TestModulesOfALostVCenterAreRemovedFromTheSpecByHand(t *testing.T) {
	t.Parallel()
	w, infra, second, near, far := twoVCentersWithModules(t)
	one, two := w.machine("one", "node-a", near.Name, memberOf("workers")), w.machine("one", "node-b", far.Name, memberOf("workers"))
	w.waitForProvisioned(one)
	w.waitForProvisioned(two)
	w.remove(one)
	w.remove(two)
	second.SetDown(true)
	w.waitForServer(infra, second.Host(), infrav1.VCenterUnreachableReason)
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.Eventually(w.vc.Modules).Should(BeEmpty())
	message := w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason)
	w.Expect(message).To(And(ContainSubstring(second.Host()), ContainSubstring("spec.clusterModules")))
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.ClusterModules = nil })
	w.waitForDeletion(infra)
}

// Whether a module was created on one vCenter may be unknown; machines on the other do not wait for that.
func TestLostModuleOfOneVCenterDelaysNoMachineOnAnother(t *testing.T) {
	t.Parallel()
	w, infra, second, near, far := twoVCentersWithModules(t)
	const creates = "REST POST /rest/vcenter/cluster/modules"
	second.HoldCalls(creates, true)
	two := w.machine("one", "node-b", far.Name, memberOf("workers"))
	w.Eventually(func() any { return w.get(infra).GetAnnotations() }).Should(HaveKey(ContainSubstring("creating")))
	second.SetDown(true) // there is no response to the call
	second.HoldCalls(creates, false)
	w.waitForServer(infra, second.Host(), infrav1.VCenterUnreachableReason)
	w.waitForProvisioned(w.machine("one", "node-a", near.Name, memberOf("workers")))
	second.SetDown(false)
	w.waitForProvisioned(two)
	w.triggerReconcile(infra)
	w.Eventually(w.members).Should(HaveKeyWithValue("zone-a", ConsistOf("node-a")))
	w.Eventually(second.Modules).Should(ConsistOf(HaveField("VMs", ConsistOf("node-b"))))
}

func TestVCenterThatIsTooOldForModulesTakesThemFromNoOther(t *testing.T) {
	t.Parallel()
	old := simulator.Start(t, simulator.ThreeZones(), simulator.WithVersion("6.7.3"))
	w, infra := newFixtureWithModules(t, adding(old))
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = w.clusterSpec().FailureDomainSelector })
	near, far := w.zoneAt(w.vc, "a"), w.zoneAt(old, "b")
	w.waitForPublished(infra, near.Name, far.Name)
	w.waitForProvisioned(w.machine("one", "node-b", far.Name, memberOf("workers")))
	w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterModulesInvalidVCenterVersionReason)
	w.waitForProvisioned(w.machine("one", "node-a", near.Name, memberOf("workers")))
	w.Expect(w.vsphereVM("node-a").Status.ModuleUUID).NotTo(BeNil(), "it joined before power-on")
	w.Expect(w.members()).To(HaveKeyWithValue("zone-a", ConsistOf("node-a")))
	w.get(infra)
	reason := func(server string) string {
		known := clustermodule.StatusOf(infra, clustermodule.ServerOf(infra, server))
		return meta.FindStatusCondition(known.Conditions, infrav1.VSphereClusterClusterModulesReadyCondition).Reason
	}
	w.Expect(reason(old.Host())).To(Equal(infrav1.VSphereClusterModulesInvalidVCenterVersionReason))
	w.Expect(reason(w.vc.Host())).To(Equal(infrav1.VSphereClusterClusterModulesReadyReason))
}

// The account of a zone is lost with the zone. Another zone brings it back.
func TestModulesWhoseZoneWithItsOwnAccountWasDeleted(t *testing.T) {
	t.Parallel()
	second := simulator.Start(t, simulator.ThreeZones(), simulator.WithVersion("8.0.3"), simulator.WithCredentials("second", "word"))
	w, infra := newFixtureWithModules(t, adding(second))
	w.create(w.secret("of-second", "second", "word"))
	identity := w.identity("second", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "of-second" })
	far := w.zoneAt(second, "b", checkedAs(identity))
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = w.clusterSpec().FailureDomainSelector })
	w.waitForPublished(infra, far.Name)
	machine := w.machine("one", "node-b", far.Name, memberOf("workers"))
	w.waitForProvisioned(machine)
	w.Expect(second.Modules()).To(HaveLen(1))
	w.remove(machine)
	w.Expect(w.client.Delete(t.Context(), far)).To(Succeed())
	w.waitForDeletion(far)
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.AdditionalServers = nil })
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	message := w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesDeletingReason)
	w.Expect(message).To(And(ContainSubstring("create a VSphereDeploymentZone"), ContainSubstring(second.Host()), ContainSubstring("spec.clusterModules")))
	w.Expect(second.Modules()).To(HaveLen(1))
	w.zoneAt(second, "c", checkedAs(identity))
	w.waitForDeletion(infra)
	w.Expect(second.Modules()).To(BeEmpty())
}

// A vCenter that is restored lacks the virtual machines since the backup, and gives their references to the next ones.
func TestRestoredVCenterLosesItsOwnMachinesOnly(t *testing.T) {
	t.Parallel()
	w, cluster, second, _, zones := threeVCenters(t)
	near, far := w.machine("one", "m-a", zones[0].Name), w.machine("one", "m-b", zones[1].Name)
	for _, machine := range []*infrav1.VSphereMachine{near, far} {
		w.waitForCondition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	}
	lost, _ := second.VM("m-b")
	second.Close()
	restored := simulator.Start(t, simulator.ThreeZones(), simulator.WithListen(second.Host()))
	update(w, zones[1], func(z *infrav1.VSphereDeploymentZone) { z.Spec.Thumbprint = restored.Thumbprint() }) // the simulator has another certificate
	w.Expect(w.waitForCondition(far, provisionedCondition, infrav1.VSphereVMVirtualMachineNotFoundByBIOSUUIDReason)).To(ContainSubstring(second.Host()))
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)

	w.waitForProvisioned(w.machine("one", "next", zones[1].Name))
	next, _ := restored.VM("next")
	w.Expect(next.Ref).To(Equal(lost.Ref))
	vm := w.vsphereVM("m-b")
	w.triggerVMReconcile(vm)
	message := w.waitForCondition(far, provisionedCondition, infrav1.VSphereVMVirtualMachineNotIdentifiedReason)
	w.Expect(message).To(And(MatchRegexp(`/next \([^ ]*:%s\)`, next.Ref), ContainSubstring("remove status.vmRef")))
	w.Expect(w.client.Delete(t.Context(), far)).To(Succeed())
	w.waitForDeletionMessage(vm, "remove status.vmRef")
	updateStatus(w, vm, func(vm *infrav1.VSphereVM) { vm.Status.VMRef = "" })
	w.waitForDeletion(far)

	w.Expect(restored.Calls()).NotTo(Or(HaveKey("Destroy_Task"), HaveKey("PowerOffVM_Task"), HaveKey("UnregisterVM")))
	w.Expect(vmsOn(restored)).To(ConsistOf("next"))
	w.Expect(w.vms()).To(And(HaveLen(1), HaveKeyWithValue("m-a", HaveField("Power", "poweredOn"))))
	w.get(near)
	w.Expect(conditions.IsTrue(near, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(near))
}

func TestMovedClusterFindsItsMachinesOnEachVCenter(t *testing.T) {
	t.Parallel()
	w, infra, second, near, far := twoVCentersWithModules(t)
	distant := *w
	distant.vc = second
	machines := []*infrav1.VSphereMachine{
		w.machine("one", "node-a", near.Name, memberOf("workers")), w.machine("one", "node-b", far.Name, memberOf("workers")),
	}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
	}
	w.Eventually(second.Modules).Should(ConsistOf(HaveField("VMs", ConsistOf("node-b"))))
	vms := []*infrav1.VSphereVM{w.vsphereVM("node-a"), w.vsphereVM("node-b")}
	modules := w.get(infra).(*infrav1.VSphereCluster).Spec.ClusterModules
	w.Expect(modules).To(HaveLen(2))

	moved, movedMachines := w.moveCluster(infra, machines)
	w.vc.ResetCalls()
	second.ResetCalls()
	w.start()
	w.waitForPublished(moved, near.Name, far.Name)
	for i, zone := range []*infrav1.VSphereDeploymentZone{near, far} {
		w.waitForCondition(movedMachines[i], clusterv1.ReadyCondition, clusterv1.ReadyReason)
		w.Expect(movedMachines[i].Spec.ProviderID).To(Equal(machines[i].Spec.ProviderID))
		w.Expect(movedMachines[i].Status.FailureDomain).To(HaveValue(Equal(zone.Name)))
		vm := w.vsphereVM(machines[i].Name)
		w.Expect(vm.UID).NotTo(Equal(vms[i].UID))
		w.Expect(vm.Spec.Server).To(Equal(zone.Spec.Server))
		w.Expect(vm.Status.VMRef).To(Equal(vms[i].Status.VMRef))
		w.Eventually(func() *string { return w.vsphereVM(machines[i].Name).Status.ModuleUUID }).Should(Equal(vms[i].Status.ModuleUUID))
		w.waitForServer(moved, zone.Spec.Server, infrav1.VSphereClusterVCenterAvailableReason)
	}
	w.waitForCondition(moved, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesReadyReason)
	w.Expect(moved.Spec.ClusterModules).To(Equal(modules))
	w.Expect(w.vc.Modules()).To(ConsistOf(HaveField("VMs", ConsistOf("node-a"))))
	w.Expect(second.Modules()).To(ConsistOf(HaveField("VMs", ConsistOf("node-b"))))
	w.Expect(w.countOperations()).To(BeEmpty())
	w.Expect(distant.countOperations()).To(BeEmpty())
	for _, machine := range movedMachines {
		w.remove(machine)
	}
	w.Expect(vmsOn(w.vc)).To(BeEmpty())
	w.Expect(vmsOn(second)).To(BeEmpty())
	w.Expect(w.client.Delete(t.Context(), moved)).To(Succeed())
	w.waitForDeletion(moved)
	w.Expect(w.vc.Modules()).To(BeEmpty())
	w.Expect(second.Modules()).To(BeEmpty())
}

// moveCluster replaces a cluster and its machines by the objects that clusterctl move would create. The manager is stopped.
func (w *fixture) moveCluster(cluster *infrav1.VSphereCluster, machines []*infrav1.VSphereMachine) (*infrav1.VSphereCluster, []*infrav1.VSphereMachine) {
	w.t.Helper()
	var moved []*infrav1.VSphereMachine
	for _, machine := range machines {
		vm := w.moveAway(machine.Name)
		again := &infrav1.VSphereMachine{ObjectMeta: w.takeAway(machine), Spec: machine.Spec}
		w.create(again)
		for i := range vm.OwnerReferences {
			vm.OwnerReferences[i].UID = again.UID
		}
		w.create(vm)
		moved = append(moved, again)
	}
	again := &infrav1.VSphereCluster{ObjectMeta: w.takeAway(cluster), Spec: cluster.Spec}
	w.create(again)
	return again, moved
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

const namespace = metav1.NamespaceDefault

func TestMain(m *testing.M) { testenv.MainOf(m, main) }

func TestVersion(t *testing.T) {
	t.Parallel()
	testenv.ShowsVersion(t, "faultline-vsphere-manager")
}

// TestManager runs the manager as installed: with its flags, its webhooks and only the RBAC of config/rbac. Provisioning and
// deleting a machine with its account needs all of those permissions.
func TestManager(t *testing.T) {
	audit := runsAsInstalled(t, testenv.RunManager)
	NewWithT(t).Expect(usedElsewhere()).To(ContainElements(audit.Unused(t)), "a right that nothing needs")
}

func runsAsInstalled(t *testing.T, run func(*testing.T, *envtest.Environment, *testenv.Components, ...string) func()) *testenv.Audit {
	t.Helper()
	g := integration.NewGomega(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	audit := testenv.NewAudit(t, components)
	env, c := startAPIServer(t, audit.Configure)
	u, vc := integration.NewUser(t, c), simulator.Start(t, simulator.ThreeZones())
	components.InstallRights(t, c)
	run(t, env, components)

	identity := newIdentity(t, c, vc, components.Manager.Namespace)
	zone := newZone(t, c, vc)
	cluster := newCluster(t, c, vc, identity)
	machine := newMachine(t, c, zone.Name)
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%v", machine.Status.Conditions)
	}).Should(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.FailureDomains).To(HaveLen(1))
	}).Should(Succeed())
	newMachineTemplate(t, c, machine.Spec)

	g.Expect(c.Delete(t.Context(), zone)).To(Succeed())
	g.Expect(c.Delete(t.Context(), machine)).To(Succeed())
	u.WaitForDeletion(machine)
	g.Expect(c.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace}})).To(Succeed())
	g.Expect(c.Delete(t.Context(), cluster)).To(Succeed())
	u.WaitForDeletion(cluster)
	u.WaitForDeletion(zone)
	g.Expect(c.Delete(t.Context(), identity)).To(Succeed())
	u.WaitForDeletion(identity)
	return audit
}

// newMachineTemplate creates a template of machines like this one, and waits until the manager describes their Nodes.
func newMachineTemplate(t *testing.T, c client.Client, spec infrav1.VSphereMachineSpec) {
	t.Helper()
	g := integration.NewGomega(t)
	template := &infrav1.VSphereMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "machines", Namespace: namespace}}
	spec.ProviderID = ""
	template.Spec.Template.Spec = spec
	g.Expect(c.Create(t.Context(), template)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Capacity).To(HaveKey(corev1.ResourceMemory))
	}).Should(Succeed())
}

// usedElsewhere returns the permissions that the manager needs only for features outside of TestManager, or on a slow machine.
func usedElsewhere() []string {
	return []string{
		"create ipam.cluster.x-k8s.io/ipaddressclaims",                  // a network has a pool
		"delete cluster.x-k8s.io/machines",                              // workers move to another domain
		"delete ipam.cluster.x-k8s.io/ipaddressclaims",                  // a network has a pool
		"patch apiextensions.k8s.io/customresourcedefinitions/status",   // objects of an earlier version are migrated
		"patch cluster.x-k8s.io/clusters",                               // a move of control-plane machines
		"patch controlplane.cluster.x-k8s.io/kubeadmcontrolplanes",      // a move of control-plane machines
		"patch events.k8s.io/events",                                    // a repeated event
		"patch infrastructure.cluster.x-k8s.io/vsphereclustertemplates", // objects of an earlier version are migrated
		"patch infrastructure.cluster.x-k8s.io/vspheremachinetemplates", // as above
		"patch ipam.cluster.x-k8s.io/ipaddressclaims",                   // a network has a pool
	}
}

// startAPIServer starts an API server with all CRDs and our webhook configurations. The client has all permissions.
func startAPIServer(t *testing.T, configure func(*envtest.ControlPlane)) (*envtest.Environment, client.Client) {
	t.Helper()
	g, scheme := NewWithT(t), runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, Webhooks: true, Conversion: true, Configure: configure})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return env, c
}

// newIdentity creates an account that clusters of all namespaces may use.
func newIdentity(t *testing.T, c client.Client, vc *simulator.Server, own string) *infrav1.VSphereClusterIdentity {
	t.Helper()
	u := integration.NewUser(t, c)
	u.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "account", Namespace: own},
		StringData: map[string]string{"username": vc.Username(), "password": vc.Password()},
	})
	identity := &infrav1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "account"}, Spec: infrav1.VSphereClusterIdentitySpec{
		SecretName: "account", AllowedNamespaces: &infrav1.AllowedNamespaces{},
	}}
	u.Create(identity)
	return identity
}

// newZone creates a deployment zone and its failure domain.
func newZone(t *testing.T, c client.Client, vc *simulator.Server) *infrav1.VSphereDeploymentZone {
	t.Helper()
	g := NewWithT(t)
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain{Name: simulator.RegionTag, Type: infrav1.DatacenterFailureDomain, TagCategory: simulator.RegionCategory},
		Zone:   infrav1.FailureDomain{Name: "zone-a", Type: infrav1.ComputeClusterFailureDomain, TagCategory: simulator.ZoneCategory},
		Topology: infrav1.Topology{
			Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"},
		},
	}}
	g.Expect(c.Create(t.Context(), domain)).To(Succeed())
	zone := &infrav1.VSphereDeploymentZone{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"region": "one"}}, Spec: infrav1.VSphereDeploymentZoneSpec{
		Server: vc.Host(), FailureDomain: domain.Name, ControlPlane: ptr.To(true),
	}}
	g.Expect(c.Create(t.Context(), zone)).To(Succeed())
	return zone
}

// newCluster creates a Cluster and its VSphereCluster.
func newCluster(t *testing.T, c client.Client, vc *simulator.Server, identity *infrav1.VSphereClusterIdentity) *infrav1.VSphereCluster {
	t.Helper()
	u := integration.NewUser(t, c)
	infra := &infrav1.VSphereCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: namespace},
		Spec: infrav1.VSphereClusterSpec{
			Server: vc.Host(), Thumbprint: vc.Thumbprint(),
			IdentityRef:           infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name},
			ControlPlaneEndpoint:  infrav1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			FailureDomainSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "one"}},
		},
	}
	u.Cluster(infra)
	return infra
}

// newMachine creates a Machine with bootstrap data and its VSphereMachine.
func newMachine(t *testing.T, c client.Client, domain string) *infrav1.VSphereMachine {
	t.Helper()
	u := integration.NewUser(t, c)
	infra := &infrav1.VSphereMachine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace}, Spec: infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec: infrav1.VirtualMachineCloneSpec{
			Template: simulator.TemplateName, Folder: "workload",
			Network: infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{NetworkName: simulator.NetworkName, DHCP4: ptr.To(true)}}},
		},
	}}
	u.Machine("demo", domain, infra)
	return infra
}

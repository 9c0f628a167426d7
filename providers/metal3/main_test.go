// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

const namespace = metav1.NamespaceDefault

func TestMain(m *testing.M) { testenv.MainOf(m, main) }

func TestVersion(t *testing.T) {
	t.Parallel()
	testenv.ShowsVersion(t, "faultline-metal3-manager")
}

// TestManager runs the manager as installed: with its flags, its webhooks and only the permissions in config/rbac. Creating and
// deleting a machine requires all of them.
func TestManager(t *testing.T) {
	audit := runManager(t, testenv.RunManager)
	NewWithT(t).Expect(usedElsewhere()).To(ContainElements(audit.Unused(t)), "a right that nothing needs")
}

func runManager(t *testing.T, run func(*testing.T, *envtest.Environment, *testenv.Components, ...string) func()) *testenv.Audit {
	t.Helper()
	g := integration.NewGomega(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	audit := testenv.NewAudit(t, components)
	env, c := startAPIServer(t, audit.Configure)
	components.InstallRights(t, c)
	run(t, env, components)

	boot := func(ctx context.Context, boot simulator.Boot) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: boot.Host.Spec.ConsumerRef.Name, Labels: map[string]string{infrav1.NodeUUIDLabel: string(boot.Host.UID)},
		}}
		return client.IgnoreAlreadyExists(c.Create(ctx, node))
	}
	simulator.Start(t, env.Config, simulator.WithNamespace(namespace), simulator.WithHooks(simulator.Hooks{PowerOn: boot}))
	layout := simulator.Layout{Domains: []simulator.Domain{{Name: "rack-1", Hosts: 1}}, Ready: true}
	g.Expect(simulator.Create(t.Context(), c, namespace, layout)).To(Succeed())

	cluster := newCluster(t, env, c)
	newDataTemplate(t, c)
	machine := newMachine(t, c, "rack-1")
	allocateAddresses(t, c)
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%v", machine.Status.Conditions)
		g.Expect(machine.Status.FailureDomain).To(Equal("rack-1"))
	}).Should(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.FailureDomains).To(HaveLen(1))
	}).Should(Succeed())
	newMachineTemplate(t, c, machine.Spec)

	rebootUntilGivenUp(t, c, machine)
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		cluster.Spec.FailureDomains = nil
		g.Expect(c.Update(t.Context(), cluster)).To(MatchError(ContainSubstring("Metal3Machine m is in it")))
	}).Should(Succeed())
	g.Expect(c.Delete(t.Context(), machine)).To(Succeed())
	integration.NewUser(t, c).WaitForDeletion(machine)
	waitForAddressDeletion(t, c)
	g.Eventually(func(g Gomega) {
		rendered := &infrav1.Metal3DataList{}
		g.Expect(c.List(t.Context(), rendered)).To(Succeed())
		g.Expect(rendered.Items).To(BeEmpty())
	}).Should(Succeed())
	hosts := &bmov1alpha1.BareMetalHostList{}
	g.Expect(c.List(t.Context(), hosts)).To(Succeed())
	g.Expect(hosts.Items).To(HaveLen(1))
	g.Expect(hosts.Items[0].Spec.ConsumerRef).To(BeNil())
	return audit
}

// newMachineTemplate creates a template of machines like this one, and waits until the manager describes their Nodes.
func newMachineTemplate(t *testing.T, c client.Client, spec infrav1.Metal3MachineSpec) {
	t.Helper()
	g := integration.NewGomega(t)
	template := &infrav1.Metal3MachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "machines", Namespace: namespace}}
	spec.ProviderID = ""
	template.Spec.Template.Spec = spec
	g.Expect(c.Create(t.Context(), template)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Capacity).To(HaveKey(corev1.ResourceMemory))
	}).Should(Succeed())
}

// TestUpstreamVariables substitutes the variables that clusterctl substitutes.
func TestUpstreamVariables(t *testing.T) {
	for name, tc := range map[string]struct {
		variables map[string]string
		want      []string
	}{
		"defaults": {nil, []string{
			"--enable-bmh-name-based-preallocation=false", "--fast-track=false", "--diagnostics-address=:8443", "--insecure-diagnostics=false",
		}},
		"set": {map[string]string{
			"ENABLE_BMH_NAME_BASED_PREALLOCATION": "true", "CAPM3_FAST_TRACK": "true",
			"CAPM3_DIAGNOSTICS_ADDRESS": "localhost:8080", "CAPM3_INSECURE_DIAGNOSTICS": "true",
		}, []string{
			"--enable-bmh-name-based-preallocation=true", "--fast-track=true", "--diagnostics-address=localhost:8080", "--insecure-diagnostics=true",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			components, err := testenv.Render(t.Context(), "config", tc.variables)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(components.Args()).To(ContainElements(tc.want))
			g.Expect(components.Manager.Annotations).To(And(HaveKeyWithValue("prometheus.io/scrape", "true"), HaveKeyWithValue("prometheus.io/path", "/metrics"),
				HaveKeyWithValue("prometheus.io/port", cmp.Or(tc.variables["CAPM3_DIAGNOSTICS_ADDRESS"], ":8443"))), "as upstream's Deployment")
			g.Expect(components.Manager.Spec.Template.Annotations).NotTo(HaveKey("prometheus.io/scrape"), "its metrics want an account")
			controllers := parsed(t, components.Args())
			g.Expect(controllers.NameClaimsByHost).To(Equal(tc.variables != nil))
			g.Expect(controllers.FastTrack).To(Equal(tc.variables != nil))
		})
	}
}

// usedElsewhere returns the permissions that the manager needs for what TestManager does not cover, or only on a slow
// machine.
func usedElsewhere() []string {
	return []string{
		"delete cluster.x-k8s.io/machines",                                        // workers move to another domain
		"patch apiextensions.k8s.io/customresourcedefinitions/status",             // migration of objects of an earlier version
		"patch cluster.x-k8s.io/clusters",                                         // a move of control-plane machines
		"patch cluster.x-k8s.io/machines",                                         // a move
		"patch controlplane.cluster.x-k8s.io/kubeadmcontrolplanes",                // a move of control-plane machines
		"patch events.k8s.io/events",                                              // a repeated event
		"patch infrastructure.cluster.x-k8s.io/metal3clustertemplates",            // migration of objects of an earlier version
		"patch infrastructure.cluster.x-k8s.io/metal3machinetemplates",            // as above
		"patch infrastructure.cluster.x-k8s.io/metal3remediationtemplates",        // as above
		"patch infrastructure.cluster.x-k8s.io/metal3remediationtemplates/status", // as above
		"patch secrets", // host credentials are labelled for clusterctl move
	}
}

// startAPIServer starts an API server with all CRDs and webhook configurations. The client has all permissions.
func startAPIServer(t *testing.T, configure func(*envtest.ControlPlane)) (*envtest.Environment, client.Client) {
	t.Helper()
	g := NewWithT(t)
	crds, err := simulator.CRDs()
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, CRDs: crds, Webhooks: true, Conversion: true, Configure: configure})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return env, c
}

// newCluster creates a Cluster and its Metal3Cluster. Its Nodes are in the same API server.
func newCluster(t *testing.T, env *envtest.Environment, c client.Client) *infrav1.Metal3Cluster {
	t.Helper()
	u := integration.NewUser(t, c)
	u.Kubeconfig(namespace, "demo", env.KubeConfig)
	infra := &infrav1.Metal3Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: namespace},
		Spec: infrav1.Metal3ClusterSpec{
			ControlPlaneEndpoint: infrav1.APIEndpoint{Host: "10.0.0.1"},
			FailureDomains:       []clusterv1.FailureDomain{{Name: "rack-1", ControlPlane: ptr.To(true)}},
		},
	}
	u.Cluster(infra)
	return infra
}

// newMachine creates a Machine with bootstrap data and its Metal3Machine.
func newMachine(t *testing.T, c client.Client, domain string) *infrav1.Metal3Machine {
	t.Helper()
	u := integration.NewUser(t, c)
	metal3 := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace}, Spec: infrav1.Metal3MachineSpec{
		Image:        infrav1.Image{URL: "https://images.example.com/node.qcow2", Checksum: "0123456789abcdef"},
		DataTemplate: &infrav1.Metal3ObjectRef{Name: "nodes"},
	}}
	u.Machine("demo", domain, metal3)
	return metal3
}

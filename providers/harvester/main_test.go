// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

const namespace = metav1.NamespaceDefault

func TestMain(m *testing.M) { testenv.MainOf(m, main) }

func TestVersion(t *testing.T) {
	t.Parallel()
	testenv.ShowsVersion(t, "faultline-harvester-manager")
}

// TestManager runs the manager as installed: with its flags, webhooks and no more permissions than config/rbac grants here and the
// documentation requests on Harvester. Creating and deleting a cluster and a machine must use all of them.
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
	components.InstallRights(t, c)
	boot := func(ctx context.Context, boot simulator.Boot) error {
		return client.IgnoreAlreadyExists(c.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: boot.VMI.Name}}))
	}
	pool := lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "machines"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.20.0.0/24", Gateway: "10.20.0.1"}}}}
	sim := simulator.Start(t, simulator.WithLayout(simulator.Zones(2, 2)), simulator.WithPools(pool), simulator.WithHooks(simulator.Hooks{PowerOn: boot}))
	run(t, env, components)

	cluster := newCluster(t, env, c, sim.KubeconfigFor("faultline", documentedRights(t), ""))
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		g.Expect(cluster.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%v", cluster.Status.Conditions)
		g.Expect(cluster.Spec.ControlPlaneEndpoint.IsSet()).To(BeTrue())
		g.Expect(cluster.Status.FailureDomains).To(HaveLen(2))
	}).Should(Succeed())
	older := &v1alpha1.HarvesterCluster{}
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), older)).To(Succeed())
	g.Expect(older.Spec.ControlPlaneEndpoint).To(Equal(cluster.Spec.ControlPlaneEndpoint))

	machine := newMachine(t, c, "zone-2")
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%v", machine.Status.Conditions)
		g.Expect(machine.Status.FailureDomain).To(Equal("zone-2"))
		g.Expect(machine.Status.AllocatedPoolRef).To(Equal("machines"))
	}).Should(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		cluster.Spec.TargetNamespace = "other"
		g.Expect(c.Update(t.Context(), cluster)).To(MatchError(ContainSubstring("must not be changed, because the machines are in default")))
	}).Should(Succeed())
	newMachineTemplate(t, c, machine.Spec)

	for _, o := range []client.Object{machine, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: machine.Name, Namespace: namespace}}, cluster} {
		g.Expect(client.IgnoreNotFound(c.Delete(t.Context(), o))).To(Succeed())
		integration.NewUser(t, c).WaitForDeletion(o)
	}
	leavesNothing(t, sim)
	return audit
}

// newMachineTemplate creates a template of machines like this one, and waits until the manager describes their Nodes.
func newMachineTemplate(t *testing.T, c client.Client, spec infrav1.HarvesterMachineSpec) {
	t.Helper()
	g := integration.NewGomega(t)
	template := &infrav1.HarvesterMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "machines", Namespace: namespace}}
	spec.ProviderID = ""
	template.Spec.Template.Spec = spec
	g.Expect(c.Create(t.Context(), template)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Capacity).To(HaveKey(corev1.ResourceMemory))
	}).Should(Succeed())
}

// leavesNothing expects no object of the cluster or machine on Harvester.
func leavesNothing(t *testing.T, sim *simulator.Simulator) {
	t.Helper()
	g := integration.NewGomega(t)
	for _, list := range []client.ObjectList{
		&kubevirtv1.VirtualMachineList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ServiceList{}, &lbv1.LoadBalancerList{},
	} {
		g.Eventually(func(g Gomega) {
			g.Expect(sim.Client().List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{clusterv1.ClusterNameLabel})).To(Succeed())
			g.Expect(list).To(HaveField("Items", BeEmpty()))
		}).Should(Succeed())
	}
	pool := &lbv1.IPPool{}
	g.Expect(sim.Client().Get(t.Context(), client.ObjectKey{Name: "machines"}, pool)).To(Succeed())
	g.Expect(pool.Status.Allocated).To(BeEmpty())
}

// documentedRights returns the rules of the ClusterRole in the documentation.
func documentedRights(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "harvester.md"))
	g.Expect(err).NotTo(HaveOccurred())
	blocks := regexp.MustCompile("(?ms)^```yaml\n(apiVersion: rbac.*?)^```").FindSubmatch(page)
	g.Expect(blocks).To(HaveLen(2))
	role := &rbacv1.ClusterRole{}
	g.Expect(yaml.UnmarshalStrict(blocks[1], role)).To(Succeed())
	return role.Rules
}

func TestComponentVariables(t *testing.T) {
	for name, tc := range map[string]struct {
		variables map[string]string
		want      []string
	}{
		"defaults": {nil, []string{"--diagnostics-address=:8443", "--insecure-diagnostics=false"}},
		"set": {map[string]string{"CAPHV_DIAGNOSTICS_ADDRESS": "localhost:8080", "CAPHV_INSECURE_DIAGNOSTICS": "true"},
			[]string{"--diagnostics-address=localhost:8080", "--insecure-diagnostics=true"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			components, err := testenv.Render(t.Context(), "config", tc.variables)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(components.Args()).To(ContainElements(tc.want))
			opts, controllers, flags := &manager.Options{}, setup.Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
			opts.AddFlags(flags)
			addFlags(flags, &controllers)
			g.Expect(flags.Parse(components.Args())).To(Succeed())
		})
	}
}

// usedElsewhere lists the permissions that the manager needs for what TestManager does not cover, or only on a slow machine.
func usedElsewhere() []string {
	return []string{
		"delete cluster.x-k8s.io/machines",                                // workers move to another domain
		"patch apiextensions.k8s.io/customresourcedefinitions/status",     // objects of an earlier version are migrated
		"patch cluster.x-k8s.io/clusters",                                 // a move of control-plane machines
		"patch cluster.x-k8s.io/machines",                                 // a move
		"patch configmaps",                                                // manifests of the cloud provider
		"patch controlplane.cluster.x-k8s.io/kubeadmcontrolplanes",        // a move of control-plane machines
		"patch events.k8s.io/events",                                      // a repeated event
		"patch infrastructure.cluster.x-k8s.io/harvesterclustertemplates", // objects of an earlier version are migrated
		"patch infrastructure.cluster.x-k8s.io/harvestermachinetemplates", // as above
	}
}

// startAPIServer starts an API server with all CRDs, the webhook configurations and the conversion of the provider's kinds. The client
// has all permissions.
func startAPIServer(t *testing.T, configure func(*envtest.ControlPlane)) (*envtest.Environment, client.Client) {
	t.Helper()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, ControlPlane: true, Webhooks: true, Conversion: true, Configure: configure})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return env, c
}

// newCluster creates a Cluster and its HarvesterCluster, with a load balancer and an IPPool. Its Nodes are in the same API server.
func newCluster(t *testing.T, env *envtest.Environment, c client.Client, kubeconfig []byte) *infrav1.HarvesterCluster {
	t.Helper()
	u := integration.NewUser(t, c)
	u.Kubeconfig(namespace, "demo", env.KubeConfig)
	u.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "harvester", Namespace: namespace}, Data: map[string][]byte{infrav1.KubeconfigKey: kubeconfig}})
	infra := &infrav1.HarvesterCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: namespace},
		Spec: infrav1.HarvesterClusterSpec{
			IdentitySecret: infrav1.SecretKey{Namespace: namespace, Name: "harvester"}, TargetNamespace: "default",
			LoadBalancerConfig: infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP},
			VMNetworkConfig:    &infrav1.VMNetworkConfig{IPPoolRef: "machines", Gateway: "10.20.0.1", SubnetMask: "255.255.255.0"},
		},
	}
	u.Cluster(infra)
	return infra
}

// newMachine creates a Machine with bootstrap data and its HarvesterMachine.
func newMachine(t *testing.T, c client.Client, domain string) *infrav1.HarvesterMachine {
	t.Helper()
	u := integration.NewUser(t, c)
	infra := &infrav1.HarvesterMachine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: namespace}, Spec: infrav1.HarvesterMachineSpec{
		CPU: 1, Memory: "1Gi", SSHUser: "ubuntu", SSHKeyPair: "default/admin", Networks: []string{"default/vlan-1"},
		Volumes: []infrav1.Volume{{VolumeType: infrav1.VolumeTypeImage, ImageName: "default/ubuntu", VolumeSize: ptr.To(resource.MustParse("10Gi"))}},
	}}
	u.Machine("demo", domain, infra)
	return infra
}

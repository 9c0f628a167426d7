// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1alpha1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	networkv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// config is the folder of the manager's manifests.
var config = filepath.Join("..", "..", "config", "loadbalancer")

func TestMain(m *testing.M) { testenv.MainOf(m, main) }

func TestVersion(t *testing.T) {
	t.Parallel()
	testenv.ShowsVersion(t, "faultline-harvester-load-balancer-manager")
}

// TestManager runs the manager as installed: with its flags, webhooks, conversion and no more permissions than its manifests grant. Then
// it runs another manager with a watch filter.
func TestManager(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), config, nil)
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(controllers.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	crds, err := simulator.CRDs()
	g.Expect(err).NotTo(HaveOccurred())
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == lbv1.GroupVersion.Group
	})
	audit := testenv.NewAudit(t, components)
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: config, CRDs: crds, Webhooks: true, Conversion: true, Configure: audit.Configure})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	// The namespace belongs to Harvester and exists already.
	g.Expect(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: components.Manager.Namespace}})).To(Succeed())
	components.InstallRights(t, c)
	for _, network := range []string{"1", "100"} {
		g.Expect(c.Create(t.Context(), &networkv1.NetworkAttachmentDefinition{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vlan" + network, Labels: map[string]string{networkv1.VLANLabel: network}},
		})).To(Succeed())
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Name: "loadbalancers." + lbv1.GroupVersion.Group}, definition)).To(Succeed())
	definition.Status.StoredVersions = []string{"v1alpha1", "v1beta1"} // as an earlier release leaves it
	g.Expect(c.Status().Update(t.Context(), definition)).To(Succeed())
	// The samples of the proposal predate the quarantine of addresses.
	t.Run("with no rest for addresses", func(t *testing.T) {
		testenv.RunManager(t, env, components, "--address-rest=0s")
		testSamples(t, c)
	})
	t.Run("as it is installed", func(t *testing.T) {
		testenv.RunManager(t, env, components)
		testInstalled(t, c)
		g.Eventually(func(g Gomega) {
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition)).To(Succeed())
			g.Expect(definition.Status.StoredVersions).To(Equal([]string{"v1beta1"}), "a later release may drop v1alpha1")
		}, integration.Timeout).Should(Succeed())
		testGuestCluster(t, c)
	})
	t.Run("with a watch filter", func(t *testing.T) {
		testenv.RunManager(t, env, components, "--watch-filter=ours")
		testWatchFilter(t, c)
	})
	g.Expect(usedElsewhere()).To(ContainElements(audit.Unused(t)), "a right that nothing needs")
}

// usedElsewhere lists the permissions that the manager needs for what TestManager does not cover, or only on a slow machine.
func usedElsewhere() []string {
	return []string{
		"create loadbalancer.harvesterhci.io/ippoolblocks",  // a full pool
		"create loadbalancer.harvesterhci.io/ippools",       // pools of kube-vip are taken over
		"delete loadbalancer.harvesterhci.io/ippoolblocks",  // as above
		"delete loadbalancer.harvesterhci.io/loadbalancers", // a guest cluster was removed
		"patch configmaps",                                // kube-vip's is marked as taken over
		"patch discovery.k8s.io/endpointslices",           // an instance gets another address
		"patch events.k8s.io/events",                      // a repeated event
		"patch kubevirt.io/virtualmachineinstances",       // the last machine of a guest cluster is deleted
		"patch kubevirt.io/virtualmachines",               // as above
		"patch loadbalancer.harvesterhci.io/ippoolblocks", // a full pool
		"patch services",                                  // listeners change
	}
}

func testInstalled(t *testing.T, c client.Client) {
	t.Helper()
	g := integration.NewGomega(t)
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.0.0.0/24"}}}}
	integration.NewUser(t, c).Create(pool)
	g.Expect(pool.Labels).To(HaveKeyWithValue(lbv1.GlobalPoolLabel, "false"))

	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMPool, IPPool: pool.Name, BackendServerSelector: map[string][]string{"app": {"web"}},
		Listeners: []lbv1.Listener{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, BackendPort: 8080}},
	}}
	g.Expect(c.Create(t.Context(), lb)).To(Succeed())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	g.Eventually(func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(service), service) }).Should(Succeed())
	g.Expect(service.Spec.LoadBalancerIP).To(Equal("10.0.0.2"))
	g.Expect(c.Delete(t.Context(), lb)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(lb), lb))
	}).Should(BeTrue(), "its address is given back")
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	g.Expect(pool.Status.Allocated).To(BeEmpty())
}

// testGuestCluster creates load balancers of guest clusters, for which the webhook reads networks, machines and namespaces.
func testGuestCluster(t *testing.T, c client.Client) {
	t.Helper()
	g, ctx := integration.NewGomega(t), t.Context()
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "vlan100"}, Spec: lbv1.IPPoolSpec{
		Ranges:   []lbv1.Range{{Subnet: "10.0.1.0/24"}},
		Selector: lbv1.Selector{Network: "default/vlan100", Scope: []lbv1.Tuple{{Project: lbv1.All, Namespace: "default", GuestCluster: lbv1.All}}},
	}}
	g.Expect(c.Create(ctx, pool)).To(Succeed())
	g.Expect(pool.Labels).To(HaveKeyWithValue(lbv1.VLANLabel, "100"))
	machine := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "red-1", Labels: map[string]string{"guestcluster.harvesterhci.io/name": "red"},
	}}
	machine.Spec.Networks = []kubevirtv1.Network{{Name: "nic-1", NetworkSource: kubevirtv1.NetworkSource{
		Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/vlan100"},
	}}}
	g.Expect(c.Create(ctx, machine)).To(Succeed())
	older := &v1alpha1.LoadBalancer{}
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "red-web", Labels: map[string]string{lbv1.GuestClusterLabel: "red"}, Annotations: map[string]string{lbv1.ClusterAnnotation: "red"},
	}, Spec: lbv1.LoadBalancerSpec{WorkloadType: lbv1.WorkloadCluster}}
	g.Expect(c.Create(ctx, lb)).To(Succeed())
	g.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.NetworkAnnotation, "default/vlan100"))
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(lb), lb)).To(Succeed())
		g.Expect(lb.Status.AllocatedAddress.IP).To(Equal("10.0.1.2"))
		g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal("vlan100"))
	}).Should(Succeed())
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(lb), older)).To(Succeed())
	g.Expect(older.Spec.IPAM).To(Equal(lbv1.IPAMPool))
	g.Expect(c.Delete(ctx, pool)).To(MatchError(ContainSubstring("10.0.1.2 by default/red-web")))
	machines := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "red-1", Annotations: map[string]string{"harvesterhci.io/removeAllPersistentVolumeClaims": "true"},
		Labels: map[string]string{"guestcluster.harvesterhci.io/name": "red", "harvesterhci.io/creator": "docker-machine-driver-harvester"},
	}}
	machines.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	g.Expect(c.Create(ctx, machines)).To(Succeed())
	again := lb.DeepCopy()
	again.Name, again.ResourceVersion = "red-again", ""
	g.Expect(c.Create(ctx, again)).To(MatchError(ContainSubstring("guest cluster red is being removed")))
}

// testWatchFilter expects the manager to allocate addresses only to its own load balancers.
func testWatchFilter(t *testing.T, c client.Client) {
	t.Helper()
	g, ctx := integration.NewGomega(t), t.Context()
	pools, balancers := map[string]*lbv1.IPPool{}, map[string]*lbv1.LoadBalancer{}
	for i, of := range []string{"others", "ours"} { // its own last: once that is ready, the manager has skipped the other
		labels := map[string]string{clusterv1.WatchLabel: of}
		pools[of] = &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: of, Labels: labels}, Spec: lbv1.IPPoolSpec{
			Ranges: []lbv1.Range{{Subnet: fmt.Sprintf("10.0.%d.0/24", 20+i)}},
		}}
		g.Eventually(func() error { return c.Create(ctx, pools[of]) }).Should(Succeed())
		balancers[of] = &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: of, Labels: labels}, Spec: lbv1.LoadBalancerSpec{
			WorkloadType: lbv1.WorkloadCluster, IPPool: of,
		}}
		g.Expect(c.Create(ctx, balancers[of])).To(Succeed())
	}
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(balancers["ours"]), balancers["ours"])).To(Succeed())
		g.Expect(balancers["ours"].Status.AllocatedAddress.IP).To(Equal("10.0.21.2"))
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pools["ours"]), pools["ours"])).To(Succeed())
		g.Expect(pools["ours"].Status.Conditions).NotTo(BeEmpty())
	}).Should(Succeed())
	g.Consistently(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(balancers["others"]), balancers["others"])).To(Succeed())
		g.Expect(balancers["others"].Status).To(BeZero())
		g.Expect(balancers["others"].Finalizers).To(BeEmpty())
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(pools["others"]), pools["others"])).To(Succeed())
		g.Expect(pools["others"].Status).To(BeZero())
	}, time.Second).Should(Succeed())
}

func TestFlags(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), config, nil)
	g.Expect(err).NotTo(HaveOccurred())
	opts, options, flags := &manager.Options{}, controllers.Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	opts.AddFlags(flags)
	addFlags(flags, &options)
	g.Expect(flags.Parse(append(components.Args(), "--loadbalancer-concurrency=3"))).To(Succeed())
	g.Expect(options.LoadBalancers).To(Equal(3))
	g.Expect(components.Manager.Namespace).To(Equal("harvester-system"))
	for _, object := range components.Objects {
		g.Expect(object.GetKind()).NotTo(Equal("Namespace"), "the namespace is Harvester's, not the manager's to delete")
	}
}

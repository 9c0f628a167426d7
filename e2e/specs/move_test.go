//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"

	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
)

var _ = Describe("A second management cluster", Serial, Ordered, Label("second", onlyFast, long), func() {
	const spec = "move"
	var second *managementCluster

	BeforeAll(func(ctx SpecContext) { second = newManagementCluster(ctx, *name+"-second") })

	It("takes over a cluster with its failure domains and machines, and gives it back", Label("move"), func(ctx SpecContext) {
		c := newCluster(ctx, spec, 3, 1)
		before, running := c.possessions(ctx, Default), c.readySince(ctx)
		machines := infra.machines(ctx, c.name)
		Expect(machines).To(HaveLen(5))

		By("Moving there")
		c.move(ctx, environment, second.Environment)
		Eventually(func(g Gomega) { g.Expect(unshared(c.possessions(ctx, g))).To(BeEmpty()) }, "30s", "1s").Should(Succeed())
		at(second.proxy, func() {
			c.hasMoved(ctx, before, machines, running)

			By("Scaling there")
			c.scale(ctx, 2)
			Eventually(func(g Gomega) { c.settled(ctx, g, 2) }, config.GetIntervals(spec, "wait-worker-nodes")...).Should(Succeed())
			before, running = c.possessions(ctx, Default), c.readySince(ctx)
			scaled := infra.machines(ctx, c.name)
			Expect(scaled).To(HaveLen(6))
			for name, machine := range machines {
				Expect(scaled).To(HaveKeyWithValue(name, machine))
			}
			machines = scaled
		})

		By("Moving back")
		c.move(ctx, second.Environment, environment)
		c.hasMoved(ctx, before, machines, running)

		By("Scaling here")
		c.scale(ctx, 1)
		Eventually(func(g Gomega) { c.settled(ctx, g, 1) }, config.GetIntervals(spec, "wait-worker-nodes")...).Should(Succeed())
		Expect(c.places(ctx)).To(HaveLen(5))
	})

	It("loses the provider completely", Label("delete"), func(ctx SpecContext) {
		at(second.proxy, func() {
			By("Deleting shared objects, as documented")
			for _, kind := range sharedKinds() {
				objects := &unstructured.Unstructured{}
				objects.SetGroupVersionKind(kind)
				Expect(management.GetClient().DeleteAllOf(ctx, objects)).To(Succeed())
			}
			Eventually(func(g Gomega) {
				for _, kind := range sharedKinds() {
					g.Expect(list(ctx, g, kind)).To(BeEmpty())
				}
			}, "30s", "500ms").Should(Succeed())
			Expect(traces(ctx)).NotTo(BeEmpty())

			By("clusterctl delete")
			runIn(ctx, second.Environment, "delete", "--infrastructure", *providerName, "--include-crd", "--include-namespace")
			Eventually(func() []string { return traces(ctx) }, "3m", "1s").Should(BeEmpty())
		})
	})
})

// managementCluster is another kind cluster. It uses the same vCenter; bare metal is simulated from its own objects.
type managementCluster struct {
	*kind.Environment

	proxy framework.ClusterProxy
}

// newManagementCluster creates a management cluster with the same providers as the first, until the end of the container.
func newManagementCluster(ctx context.Context, name string) *managementCluster {
	By("Bringing up a second management cluster")
	other, err := kind.New(kind.Options{
		Name: name, Providers: []provider.KindProvider{infra.KindProvider}, Source: "auto", Boot: !*fast, SimulatorOf: environment.Name, Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	second := bringUp(ctx, "second", other)
	second.catchUp(ctx)
	_, stop := simulate(ctx, other.Kubeconfig(), workload.Options{With: controlPlanes})
	DeferCleanup(stop)
	return second
}

// bringUp creates a management cluster until the end of the container.
func bringUp(ctx context.Context, name string, other *kind.Environment) *managementCluster {
	DeferCleanup(func(ctx SpecContext) {
		if !*keep {
			Expect(other.Down(ctx)).To(Succeed())
		}
	})
	Expect(other.Up(ctx)).To(Succeed())
	cluster := &managementCluster{Environment: other, proxy: framework.NewClusterProxy(name, other.Kubeconfig(), scheme())}
	others = append(others, cluster.proxy)
	DeferCleanup(func(ctx SpecContext) {
		others = nil
		cluster.proxy.Dispose(ctx)
	})
	return cluster
}

// catchUp upgrades the provider to the version in the first management cluster, because clusterctl refuses to move to an older one.
func (m *managementCluster) catchUp(ctx context.Context) {
	version := installed(ctx).Version
	at(m.proxy, func() {
		if installed(ctx).Version == version {
			return
		}
		folder := filepath.Join(filepath.Dir(m.ClusterctlConfig()), "infrastructure-"+*providerName, version)
		Expect(os.CopyFS(folder, os.DirFS(filepath.Join(repositoryFolder(), version)))).To(Succeed())
		clusterctl.UpgradeManagementClusterAndWait(ctx, clusterctl.UpgradeManagementClusterAndWaitInput{
			ClusterProxy: m.proxy, ClusterctlConfigPath: m.ClusterctlConfig(),
			InfrastructureProviders: []string{fmt.Sprintf("%s/%s:%s", infra.Namespace, *providerName, version)},
			LogFolder:               filepath.Join(*artifacts, "move", "upgrade"),
		}, config.GetIntervals("move", "wait-controllers")...)
	})
}

// at runs a function with another management cluster instead of the first. The spec must be the only one in this process.
func at(proxy framework.ClusterProxy, do func()) {
	first := management
	defer func() { management = first }()
	management = proxy
	do()
}

func (c *cluster) move(ctx context.Context, from, to *kind.Environment) {
	infra.handOver(ctx, from, func() {
		clusterctl.Move(ctx, clusterctl.MoveInput{
			LogFolder: filepath.Join(*artifacts, "move"), ClusterctlConfigPath: environment.ClusterctlConfig(),
			FromKubeconfigPath: from.Kubeconfig(), ToKubeconfigPath: to.Kubeconfig(), Namespace: c.namespace,
		})
	})
}

// hasMoved expects the cluster to exist here unchanged, on the same machines, whose nodes never stopped.
func (c *cluster) hasMoved(ctx context.Context, before map[string]possession, machines map[string]any, running map[string]string) {
	Eventually(func(g Gomega) {
		c.expectUnchanged(ctx, g, before)
		g.Expect(infra.machines(ctx, c.name)).To(Equal(machines))
	}, config.GetIntervals("move", "wait-machine-upgrade")...).Should(Succeed())
	Expect(c.readySince(ctx)).To(Equal(running))
}

// readySince returns since when each node of the cluster has been ready.
func (c *cluster) readySince(ctx context.Context) map[string]string {
	nodes := &corev1.NodeList{}
	Expect(management.GetWorkloadCluster(ctx, c.namespace, c.name).GetClient().List(ctx, nodes)).To(Succeed())
	since := map[string]string{}
	for i := range nodes.Items {
		since[nodes.Items[i].Name] = nodeReadySince(&nodes.Items[i])
	}
	return since
}

func nodeReadySince(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return fmt.Sprintf("%s since %s", condition.Status, condition.LastTransitionTime.UTC())
		}
	}
	return ""
}

// traces returns the objects that only the provider can have left.
func traces(ctx context.Context) []string {
	var found []string
	prefix := strings.TrimSuffix(infra.Namespace, "system")
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "Provider"},
		{Version: "v1", Kind: "Namespace"},
	} {
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(kind)
		Expect(management.GetClient().List(ctx, objects)).To(Succeed())
		for i := range objects.Items {
			o := &objects.Items[i]
			ours := strings.HasSuffix(o.Name, ".infrastructure.cluster.x-k8s.io") || strings.HasPrefix(o.Name, prefix) ||
				o.Labels[clusterv1.ProviderNameLabel] == "infrastructure-"+*providerName
			if ours {
				found = append(found, kind.Kind+" "+o.Name)
			}
		}
	}
	return found
}

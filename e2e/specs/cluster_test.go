//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// cluster is a workload cluster of one of our own specs.
type cluster struct {
	clusterctl.ApplyClusterTemplateAndWaitResult

	name, namespace string
}

// newCluster creates a cluster from the default template and waits until all its machines run. It is dumped and deleted at the end of the
// spec.
func newCluster(ctx context.Context, name string, controlPlanes, workers int64) *cluster {
	return newClusterOf(ctx, name, template{flavor: clusterctl.DefaultFlavor}, controlPlanes, workers)
}

// template selects a template of the provider, with variables in addition to those of the environment.
type template struct {
	flavor    string
	variables map[string]string
}

// newClusterOf is newCluster for another template.
func newClusterOf(ctx context.Context, name string, from template, controlPlanes, workers int64) *cluster {
	folder := filepath.Join(*artifacts, name)
	namespace, cancel := framework.SetupSpecNamespace(background(), name, management, folder, namespaceCreated)
	c := &cluster{name: namespace.Name, namespace: namespace.Name}
	DeferCleanup(func(ctx SpecContext) { c.cleanUp(ctx, name, folder, namespace, cancel) })
	clusterctl.ApplyClusterTemplateAndWait(ctx, clusterctl.ApplyClusterTemplateAndWaitInput{
		ClusterProxy: management,
		ConfigCluster: clusterctl.ConfigClusterInput{
			LogFolder: filepath.Join(folder, "clusters"), ClusterctlConfigPath: environment.ClusterctlConfig(),
			KubeconfigPath: management.GetKubeconfigPath(), InfrastructureProvider: *providerName,
			Flavor: from.flavor, Namespace: c.namespace, ClusterName: c.name, KubernetesVersion: config.MustGetVariable("KUBERNETES_VERSION"),
			ControlPlaneMachineCount: ptr.To(controlPlanes), WorkerMachineCount: ptr.To(workers), ClusterctlVariables: from.variables,
		},
		WaitForClusterIntervals:      config.GetIntervals(name, "wait-cluster"),
		WaitForControlPlaneIntervals: config.GetIntervals(name, "wait-control-plane"),
		WaitForMachineDeployments:    config.GetIntervals(name, "wait-worker-nodes"),
	}, &c.ApplyClusterTemplateAndWaitResult)
	return c
}

func (c *cluster) cleanUp(ctx context.Context, spec, folder string, namespace *corev1.Namespace, cancel context.CancelFunc) {
	if c.Cluster == nil {
		c.Cluster = &clusterv1.Cluster{}
		c.Cluster.Name, c.Cluster.Namespace = c.name, c.namespace
	}
	framework.DumpSpecResourcesAndCleanup(ctx, spec, management, environment.ClusterctlConfig(), folder, namespace, cancel, c.Cluster, config.GetIntervals, *keep)
	if !*keep {
		Expect(c.places(ctx)).To(BeEmpty(), "a cluster that is gone leaves no machine")
	}
}

func (c *cluster) in() client.ListOption { return client.InNamespace(c.namespace) }

// places returns the failure domains of its machines in the outside system.
func (c *cluster) places(ctx context.Context) map[string]string { return infra.places(ctx, c.name) }

// controlPlaneDomains returns the observed failure domain of each control-plane machine.
func (c *cluster) controlPlaneDomains(ctx context.Context, g Gomega) map[string]string {
	return infra.observed(ctx, g, c.namespace)
}

// controlPlaneIn returns a control-plane machine in a failure domain that has one.
func (c *cluster) controlPlaneIn(ctx context.Context, domain string) string {
	for machine, observed := range c.controlPlaneDomains(ctx, Default) {
		if observed == domain {
			return machine
		}
	}
	Fail("no control-plane machine is in " + domain)
	return ""
}

// published returns the failure domains that are published for control-plane machines.
func (c *cluster) published(ctx context.Context, g Gomega) []string {
	fresh := &clusterv1.Cluster{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(c.Cluster), fresh)).To(Succeed())
	var names []string
	for _, domain := range fresh.Status.FailureDomains {
		if ptr.Deref(domain.ControlPlane, false) {
			names = append(names, domain.Name)
		}
	}
	return names
}

// shortenGrace makes the cluster react to observations immediately: the specs cannot wait the ten minutes that a domain must be healthy.
func (c *cluster) shortenGrace(ctx context.Context) {
	c.distribute(ctx, func(distribution *faultlinev1.Distribution) {
		distribution.GracePeriodSeconds, distribution.HoldPeriodSeconds = ptr.To[int32](1), ptr.To[int32](1)
	})
}

// distribute changes the distribution settings of the cluster.
func (c *cluster) distribute(ctx context.Context, change func(*faultlinev1.Distribution)) {
	Eventually(func(g Gomega) { infra.distribute(ctx, g, c.key(), change) }, "10s", "200ms").Should(Succeed())
}

// setDomains sets the failure domains of the cluster, and waits until they are published.
func (c *cluster) setDomains(ctx context.Context, names []string) {
	Eventually(func(g Gomega) { infra.setDomains(ctx, g, c.key(), names) }, "10s", "200ms").Should(Succeed())
	Eventually(func(g Gomega) []string { return c.published(ctx, g) }, config.GetIntervals("default", "wait-failure-domain")...).
		Should(ConsistOf(names))
}

func (c *cluster) key() client.ObjectKey {
	return client.ObjectKey{Namespace: c.namespace, Name: c.name}
}

// shortenHealthChecks shortens the template's health checks for unreachable nodes.
func (c *cluster) shortenHealthChecks(ctx context.Context) {
	Eventually(func(g Gomega) {
		checks := &clusterv1.MachineHealthCheckList{}
		g.Expect(management.GetClient().List(ctx, checks, c.in())).To(Succeed())
		g.Expect(checks.Items).NotTo(BeEmpty())
		for i := range checks.Items {
			conditions := checks.Items[i].Spec.Checks.UnhealthyNodeConditions
			for j := range conditions {
				if conditions[j].Status == corev1.ConditionUnknown { // A starting node reports False instead.
					conditions[j].TimeoutSeconds = ptr.To[int32](10)
				}
			}
			g.Expect(management.GetClient().Update(ctx, &checks.Items[i])).To(Succeed())
		}
	}, "10s", "100ms").Should(Succeed())
}

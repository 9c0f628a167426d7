//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A disturbance of a management cluster during a rollout must neither lose nor duplicate a machine.
var _ = Describe("A rollout survives", Ordered, Serial, Label("disturb", onlyFast), func() {
	const (
		spec     = "disturb"
		replicas = 5
	)
	var c *cluster
	BeforeAll(func(ctx SpecContext) { c = newCluster(ctx, spec, 1, 1) })

	survives := func(ctx context.Context, disturb func(context.Context)) {
		within := config.GetIntervals(spec, "wait-machine-upgrade")
		c.scale(ctx, 1)
		Eventually(func(g Gomega) { c.settled(ctx, g, 1) }, within...).Should(Succeed())
		before := len(c.places(ctx))

		By("Scaling out, and disturbing when the first clone is there")
		c.scale(ctx, replicas)
		Eventually(func() int { return len(c.places(ctx)) }, "1m", "100ms").Should(BeNumerically(">", before))
		disturb(ctx)
		c.replaceTemplate(ctx)
		Eventually(func(g Gomega) { c.settled(ctx, g, replicas) }, within...).Should(Succeed())

		By("Counting")
		Expect(c.places(ctx)).To(HaveLen(before+replicas-1), "as many machines outside as Machines")
	}

	It("the end of the manager's pod", Label("manager"), func(ctx SpecContext) {
		survives(ctx, func(ctx context.Context) {
			Expect(management.GetClient().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(infra.Namespace),
				client.MatchingLabels{"control-plane": "controller-manager"}, client.GracePeriodSeconds(0))).To(Succeed())
		})
	})

	It("a new certificate of its webhooks", Label("certificate"), func(ctx SpecContext) {
		survives(ctx, func(ctx context.Context) {
			secret := &corev1.Secret{}
			secret.Namespace, secret.Name = infra.Namespace, infra.Certificate
			Expect(management.GetClient().Delete(ctx, secret)).To(Succeed())
		})
	})

	It("a restart of the management cluster's node", Label("node"), func(ctx SpecContext) {
		survives(ctx, func(ctx context.Context) {
			out, err := exec.CommandContext(ctx, "docker", "restart", "--time", "0", *name+"-control-plane").CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			Eventually(func() error { return management.GetClient().List(ctx, &corev1.NodeList{}) }, "2m", "1s").Should(Succeed())
		})
	})
})

// deployment returns the first MachineDeployment of the template.
func (c *cluster) deployment(ctx context.Context, g Gomega) *clusterv1.MachineDeployment {
	deployment := &clusterv1.MachineDeployment{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(c.MachineDeployments[0]), deployment)).To(Succeed())
	return deployment
}

// change edits the deployment, and retries on conflicts and while a webhook does not respond.
func (c *cluster) change(ctx context.Context, edit func(*clusterv1.MachineDeployment)) {
	Eventually(func(g Gomega) {
		deployment := c.deployment(ctx, g)
		edit(deployment)
		g.Expect(management.GetClient().Update(ctx, deployment)).To(Succeed())
	}, "3m", "500ms").Should(Succeed())
}

func (c *cluster) scale(ctx context.Context, replicas int32) {
	c.change(ctx, func(d *clusterv1.MachineDeployment) { d.Spec.Replicas = ptr.To(replicas) })
}

// replaceTemplate rolls the deployment out to machines of a new template. It needs the provider's webhook.
func (c *cluster) replaceTemplate(ctx context.Context) {
	var next string
	Eventually(func(g Gomega) {
		next = c.copyTemplate(ctx, g, c.deployment(ctx, g).Spec.Template.Spec.InfrastructureRef)
	}, "3m", "500ms").Should(Succeed())
	c.change(ctx, func(d *clusterv1.MachineDeployment) {
		d.Spec.Template.Spec.InfrastructureRef.Name = next
		d.Spec.Rollout.Strategy.Type = clusterv1.RollingUpdateMachineDeploymentStrategyType
		d.Spec.Rollout.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromString("100%"))
	})
}

// copyTemplate copies a machine template and returns the name of the copy, which makes Cluster API roll out.
func (c *cluster) copyTemplate(ctx context.Context, g Gomega, ref clusterv1.ContractVersionedObjectReference) string {
	template, err := external.GetObjectFromContractVersionedRef(ctx, management.GetClient(), ref, c.namespace)
	g.Expect(err).NotTo(HaveOccurred())
	next := &unstructured.Unstructured{Object: map[string]any{"spec": template.Object["spec"]}}
	next.SetGroupVersionKind(template.GroupVersionKind())
	next.SetNamespace(c.namespace)
	next.SetName(template.GetName() + "-next")
	g.Expect(client.IgnoreAlreadyExists(management.GetClient().Create(ctx, next))).To(Succeed())
	return next.GetName()
}

// settled expects all replicas of the deployment to be up to date and available, and no machine to be created or deleted.
func (c *cluster) settled(ctx context.Context, g Gomega, replicas int32) {
	deployment := c.deployment(ctx, g)
	g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
	g.Expect(deployment.Status.UpToDateReplicas).To(HaveValue(Equal(replicas)))
	g.Expect(deployment.Status.AvailableReplicas).To(HaveValue(Equal(replicas)))
	g.Expect(deployment.Status.Replicas).To(HaveValue(Equal(replicas)))
	machines := &clusterv1.MachineList{}
	g.Expect(management.GetClient().List(ctx, machines, c.in())).To(Succeed())
	for i := range machines.Items {
		g.Expect(machines.Items[i].DeletionTimestamp).To(BeNil(), "Machine %s", machines.Items[i].Name)
	}
}

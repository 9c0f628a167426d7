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
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

const providerNamespace = "capv-system"

// What happens to a management cluster in the middle of a rollout must neither lose a virtual machine nor make one twice.
var _ = Describe("A rollout survives", Label("disturb"), func() {
	const replicas = 6

	survives := func(ctx context.Context, spec string, disturb func(context.Context)) {
		c := newCluster(ctx, spec, 1, 1)
		vc := connect(ctx)
		before := len(vc.clusterOf(ctx, c.name))

		By("Scaling out, and disturbing when the first clone is there")
		c.scale(ctx, replicas)
		Eventually(func() int { return len(vc.clusterOf(ctx, c.name)) }, "1m", "100ms").Should(BeNumerically(">", before))
		disturb(ctx)
		c.replaceTemplate(ctx)
		Eventually(func(g Gomega) { c.settled(ctx, g, replicas) }, config.GetIntervals(spec, "wait-machine-upgrade")...).Should(Succeed())

		By("Counting")
		Expect(vc.clusterOf(ctx, c.name)).To(HaveLen(before+replicas-1), "as many virtual machines as Machines")
	}

	It("the end of the manager's pod", Label("manager"), func(ctx SpecContext) {
		survives(ctx, "kill-manager", func(ctx context.Context) {
			Expect(management.GetClient().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(providerNamespace),
				client.MatchingLabels{"control-plane": "controller-manager"}, client.GracePeriodSeconds(0))).To(Succeed())
		})
	})

	It("a new certificate of its webhooks", Label("certificate"), func(ctx SpecContext) {
		survives(ctx, "new-certificate", func(ctx context.Context) {
			secret := &corev1.Secret{}
			secret.Namespace, secret.Name = providerNamespace, "capv-webhook-service-cert"
			Expect(management.GetClient().Delete(ctx, secret)).To(Succeed())
		})
	})

	It("a restart of the management cluster's node", Label("node"), func(ctx SpecContext) {
		survives(ctx, "restart-node", func(ctx context.Context) {
			out, err := exec.CommandContext(ctx, "docker", "restart", "--time", "0", *name+"-control-plane").CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			Eventually(func() error { return management.GetClient().List(ctx, &corev1.NodeList{}) }, "2m", "1s").Should(Succeed())
		})
	})
})

// deployment is the first MachineDeployment of the template.
func (c *cluster) deployment(ctx context.Context, g Gomega) *clusterv1.MachineDeployment {
	deployment := &clusterv1.MachineDeployment{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(c.MachineDeployments[0]), deployment)).To(Succeed())
	return deployment
}

// change edits the deployment until no conflict and no webhook that is away keeps it from it.
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

// replaceTemplate rolls the deployment out to machines with more memory. It needs the provider's webhook.
func (c *cluster) replaceTemplate(ctx context.Context) {
	template := &infrav1.VSphereMachineTemplate{}
	var next string
	Eventually(func(g Gomega) {
		deployment := c.deployment(ctx, g)
		key := client.ObjectKey{Namespace: c.namespace, Name: deployment.Spec.Template.Spec.InfrastructureRef.Name}
		g.Expect(management.GetClient().Get(ctx, key, template)).To(Succeed())
		next = key.Name + "-next"
		larger := &infrav1.VSphereMachineTemplate{Spec: *template.Spec.DeepCopy()}
		larger.Namespace, larger.Name = c.namespace, next
		larger.Spec.Template.Spec.MemoryMiB *= 2
		g.Expect(client.IgnoreAlreadyExists(management.GetClient().Create(ctx, larger))).To(Succeed())
	}, "3m", "500ms").Should(Succeed())
	c.change(ctx, func(d *clusterv1.MachineDeployment) { d.Spec.Template.Spec.InfrastructureRef.Name = next })
}

// settled expects all replicas of the deployment to be up to date and available, and no machine to be on its way.
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

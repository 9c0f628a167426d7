//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

var _ = Describe("Machines that Harvester migrates while they run", Ordered, Label(onlyBoot, "harvester", "migration"), func() {
	const spec = "migration"
	var c *cluster
	var w guest
	var h *harvesterCluster
	var named, zone string // the machine of the control plane, and its requested zone

	BeforeAll(func(ctx SpecContext) {
		h = newHarvesterCluster()
		c = newCluster(ctx, spec, 1, 0)
		w = c.guest(ctx)
		for machine, domain := range c.controlPlaneDomains(ctx, Default) {
			named, zone = machine, domain
		}
	})

	It("stay in the zone that they name when their host is drained", func(ctx SpecContext) {
		within := config.GetIntervals(spec, "wait-failure-domain")
		var running life
		Eventually(func(g Gomega) {
			c.reportsDomain(ctx, g, w, named, zone)
			running = c.life(ctx, g, w, named)
		}, within...).Should(Succeed())
		was, before := h.instance(ctx, Default, named), c.possessions(ctx, Default)

		By("Draining " + was.Status.NodeName + ", as an upgrade of Harvester does")
		infra.fault(ctx, "drained/"+was.Status.NodeName)
		Eventually(func(g Gomega) {
			now := h.instance(ctx, g, named)
			g.Expect(now.UID).To(Equal(was.UID), "it is not restarted")
			g.Expect(now.Status.NodeName).NotTo(Equal(was.Status.NodeName))
			g.Expect(c.places(ctx)).To(Equal(map[string]string{named: zone}))
			c.reportsDomain(ctx, g, w, named, zone)
			c.inPlace(ctx, g)
			c.expectUnchanged(ctx, g, before)
			g.Expect(c.life(ctx, g, w, named)).To(Equal(running))
		}, within...).Should(Succeed())
	})

	It("go to another zone when they name none and theirs is drained, and their Nodes show it", func(ctx SpecContext) {
		worker, from, running := c.workerBeside(ctx, spec, w, zone)
		was := h.instance(ctx, Default, worker)

		By("Draining " + was.Status.NodeName + " while no other host of " + from + " can be used")
		infra.fault(ctx, "full-zone/"+from)
		infra.fault(ctx, "drained/"+was.Status.NodeName)
		Eventually(func(g Gomega) {
			g.Expect(h.instance(ctx, g, worker).UID).To(Equal(was.UID), "it is not restarted")
			places := c.places(ctx)
			g.Expect(places).To(And(HaveLen(2), HaveKeyWithValue(named, zone), HaveKeyWithValue(worker, Not(Equal(from)))))
			c.reportsDomain(ctx, g, w, worker, places[worker])
			c.inPlace(ctx, g)
			g.Expect(c.life(ctx, g, w, worker)).To(Equal(running))
		}, config.GetIntervals(spec, "wait-failure-domain")...).Should(Succeed())
	})

	It("are reported as elsewhere while their host is in another zone", func(ctx SpecContext) {
		host, before, running := h.instance(ctx, Default, named).Status.NodeName, c.possessions(ctx, Default), c.life(ctx, Default, w, named)
		other := infra.Domains[(slices.Index(infra.Domains, zone)+1)%len(infra.Domains)]
		within := config.GetIntervals(spec, "wait-failure-domain")

		By("Giving " + host + " to " + other)
		h.setZone(ctx, host, other)
		DeferCleanup(func(ctx SpecContext) { h.setZone(ctx, host, zone) }) // in case the spec fails before it does
		Eventually(func(g Gomega) {
			c.reportsDomain(ctx, g, w, named, other)
			g.Expect(c.infraCondition(ctx, g, faultlinev1.MachinesInPlaceCondition)).To(HaveValue(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Reason", faultlinev1.ReasonMachinesElsewhere),
				HaveField("Message", ContainSubstring("Machine "+named+" is in failure domain "+other)))))
		}, within...).Should(Succeed())

		By("Giving it back")
		h.setZone(ctx, host, zone)
		Eventually(func(g Gomega) {
			c.reportsDomain(ctx, g, w, named, zone)
			c.inPlace(ctx, g)
			c.expectUnchanged(ctx, g, before)
			g.Expect(c.life(ctx, g, w, named)).To(Equal(running))
		}, within...).Should(Succeed())
	})
})

// workerBeside creates a worker without a failure domain, outside of a zone, and returns its failure domain once it is healthy.
func (c *cluster) workerBeside(ctx context.Context, spec string, w guest, zone string) (worker, in string, running life) {
	By("Making a worker outside of " + zone)
	reopen := infra.fault(ctx, "full-zone/"+zone)
	c.addDeployment(ctx, "", 1)
	within := config.GetIntervals(spec, "wait-worker-nodes")
	Eventually(func(g Gomega) {
		for worker, in = range c.workersOutside(ctx, g) {
			g.Expect(in).NotTo(BeEmpty(), "a host for %s", worker)
		}
		g.Expect(worker).NotTo(BeEmpty())
	}, within...).Should(Succeed())
	reopen()
	Eventually(func(g Gomega) {
		c.settled(ctx, g, 1)
		c.reportsDomain(ctx, g, w, worker, in)
		running = c.life(ctx, g, w, worker)
	}, within...).Should(Succeed())
	Expect(in).NotTo(Equal(zone))
	return worker, in, running
}

// life holds the properties of a healthy machine that do not change while it runs, including since when it has been healthy.
type life struct {
	ProviderID, Ready, NodeReady string
	Node                         types.UID
	Boot                         string
	// Proxy is the container of kube-proxy. Nodes that are containers share the boot ID of their host, but their processes end with them.
	Proxy string
}

// life expects the machine to be healthy.
func (c *cluster) life(ctx context.Context, g Gomega, w guest, machine string) life {
	ready := conditions.Get(c.infraMachine(ctx, g, machine), clusterv1.ReadyCondition)
	g.Expect(ready).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
	node, pods := &corev1.Node{}, &corev1.PodList{}
	g.Expect(w.Get(ctx, client.ObjectKey{Name: machine}, node)).To(Succeed())
	g.Expect(nodeReadySince(node)).To(HavePrefix(string(corev1.ConditionTrue)))
	g.Expect(w.List(ctx, pods, client.InNamespace(metav1.NamespaceSystem), client.MatchingLabels{"k8s-app": "kube-proxy"})).To(Succeed())
	at := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Spec.NodeName == machine })
	g.Expect(at).To(BeNumerically(">=", 0), "kube-proxy on %s", machine)
	containers := pods.Items[at].Status.ContainerStatuses
	g.Expect(containers).To(HaveExactElements(HaveField("ContainerID", Not(BeEmpty()))))
	return life{
		ProviderID: node.Spec.ProviderID, Ready: fmt.Sprintf("%s since %s", ready.Status, ready.LastTransitionTime.UTC()), NodeReady: nodeReadySince(node),
		Node: node.UID, Boot: node.Status.NodeInfo.BootID, Proxy: containers[0].ContainerID,
	}
}

// reportsDomain expects the machine, the infrastructure machine and the Node of one name to report a failure domain.
func (c *cluster) reportsDomain(ctx context.Context, g Gomega, w guest, name, domain string) {
	machine, node := &clusterv1.Machine{}, &corev1.Node{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, machine)).To(Succeed())
	g.Expect(w.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	g.Expect(c.infraMachine(ctx, g, name).Status.FailureDomain).To(Equal(domain))
	g.Expect(machine.Status.FailureDomain).To(Equal(domain))
	g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, domain))
}

// infraMachine returns the HarvesterMachine of a machine.
func (c *cluster) infraMachine(ctx context.Context, g Gomega, name string) *infrav1.HarvesterMachine {
	machine := &infrav1.HarvesterMachine{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, machine)).To(Succeed())
	return machine
}

// inPlace expects the cluster to report that no machine is outside of its requested failure domain.
func (c *cluster) inPlace(ctx context.Context, g Gomega) {
	g.Expect(c.infraCondition(ctx, g, faultlinev1.MachinesInPlaceCondition)).To(HaveValue(HaveField("Status", metav1.ConditionTrue)))
}

// infraCondition returns a condition of the HarvesterCluster.
func (c *cluster) infraCondition(ctx context.Context, g Gomega, condition string) *metav1.Condition {
	object := &infrav1.HarvesterCluster{}
	g.Expect(management.GetClient().Get(ctx, c.key(), object)).To(Succeed())
	return conditions.Get(object, condition)
}

// instance returns the virtual machine instance of a machine.
func (h *harvesterCluster) instance(ctx context.Context, g Gomega, machine string) *kubevirtv1.VirtualMachineInstance {
	instance := &kubevirtv1.VirtualMachineInstance{}
	g.Expect(h.Get(ctx, client.ObjectKey{Namespace: guestNamespace, Name: machine}, instance)).To(Succeed())
	return instance
}

// setZone labels a host, as an administrator does.
func (h *harvesterCluster) setZone(ctx context.Context, host, zone string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: host}}
	before := node.DeepCopy()
	node.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	Expect(h.Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}

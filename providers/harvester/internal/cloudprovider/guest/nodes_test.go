// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/integration"
)

// usable matches an initialized Node. No controller here removes the not-ready taint.
func usable() types.GomegaMatcher {
	return HaveField("Spec.Taints", Not(ContainElement(HaveField("Key", uninitialized))))
}

func TestNodeInitializationAndServiceAddress(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.1.0/24", "172.19.1.10", "172.19.1.20")
	vmi := s.vm("node-1")
	c := s.cluster("blue")
	c.node("node-1")
	c.start()

	c.Eventually(c.read("node-1")).Should(And(
		usable(),
		HaveField("Spec.ProviderID", "harvester://"+string(vmi.OwnerReferences[0].UID)),
		HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyZone, s.zone("node-1"))),
		HaveField("Status.Addresses", ConsistOf(
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: vmi.Status.Interfaces[0].IP},
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node-1"},
		)),
	))

	c.service("web")
	c.Eventually(c.current("web")).Should(And(
		HaveField("Annotations", HaveKeyWithValue("kube-vip.io/loadbalancerIPs", "172.19.1.10")),
		HaveField("Spec.LoadBalancerIP", "172.19.1.10"),
		HaveField("Status.LoadBalancer.Ingress", ConsistOf(HaveField("IP", "172.19.1.10"))),
	))
	c.Eventually(func() string { return s.balancers("blue")[0].Status.Address }).Should(Equal("172.19.1.10"))

	service, err := c.current("web")()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.client.Delete(t.Context(), service)).To(Succeed())
	c.Eventually(func() error {
		return client.IgnoreNotFound(c.client.Get(t.Context(), client.ObjectKeyFromObject(service), service))
	}).Should(Succeed())
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(BeZero())
}

func TestNodeIsDeletedWithVirtualMachineOnly(t *testing.T) {
	s := newFixture(t)
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		s.vm(name)
	}
	c := s.cluster("blue")
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		c.node(name)
	}
	c.start()
	initialized := HaveField("Spec.ProviderID", HavePrefix("harvester://"))
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		c.Eventually(c.read(name)).Should(initialized)
	}

	// A cloud provider that starts while Harvester is down has no data about virtual machines.
	sim.Down()
	t.Cleanup(func() { _ = sim.Up(t.Context()) }) // it may be up
	c.provider.kill()
	c.start()
	c.kubelet("node-1", corev1.ConditionUnknown)
	c.Eventually(c.provider.log.String).Should(ContainSubstring("error checking if node node-1 exists"))
	c.Expect(c.read("node-1")()).NotTo(BeNil())

	vm := &kubevirtv1.VirtualMachine{}
	c.Expect(s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "node-1"}, vm)).To(Succeed())
	c.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
	c.Eventually(func() error { return s.client.Get(t.Context(), client.ObjectKeyFromObject(vm), vm) }).Should(MatchError(ContainSubstring("not found")))
	c.Expect(sim.Up(t.Context())).To(Succeed())
	c.Eventually(func() error {
		_, err := c.read("node-1")()
		return err
	}).Should(MatchError(ContainSubstring("not found")), "its virtual machine is gone")

	// A virtual machine that is off still exists.
	off := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "node-2"}}
	integration.Update(integration.User{T: t, G: s.WithT, Client: s.client}, off, integration.Whole, func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyHalted)
	})
	c.kubelet("node-2", corev1.ConditionUnknown)
	c.Eventually(c.read("node-2")).Should(HaveField("Spec.Taints", ContainElement(HaveField("Key", "node.cloudprovider.kubernetes.io/shutdown"))))
	c.Expect(c.read("node-3")()).To(HaveField("Spec.Taints", Not(ContainElement(HaveField("Key", "node.cloudprovider.kubernetes.io/shutdown")))))
}

func TestNodeZoneFollowsMigration(t *testing.T) {
	s := newFixture(t)
	s.vm("node-1")
	c := s.cluster("blue")
	c.node("node-1")
	c.start()
	was := s.zone("node-1")
	c.Eventually(c.read("node-1")).Should(And(HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyZone, was)), usable()))
	tainted := c.taints("node-1")

	to := "zone-1"
	if was == to {
		to = "zone-2"
	}
	c.Expect(sim.Migrate(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "node-1"}, to+"-host-1")).To(Succeed())
	c.Eventually(c.read("node-1")).Should(HaveField("Labels", And(
		HaveKeyWithValue(corev1.LabelTopologyZone, to), HaveKeyWithValue(corev1.LabelFailureDomainBetaZone, to))))
	c.Expect(sim.Label(t.Context(), to+"-host-1", corev1.LabelTopologyRegion, "south")).To(Succeed())
	t.Cleanup(func() { _ = sim.Label(t.Context(), to+"-host-1", corev1.LabelTopologyRegion, "") }) // for other tests
	c.Eventually(c.read("node-1")).Should(HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyRegion, "south")))
	c.Expect(sim.Label(t.Context(), to+"-host-1", corev1.LabelTopologyRegion, "")).To(Succeed())
	c.Eventually(c.read("node-1")).Should(HaveField("Labels", And(
		HaveKeyWithValue(corev1.LabelTopologyZone, to), Not(HaveKey(corev1.LabelTopologyRegion)), Not(HaveKey(corev1.LabelFailureDomainBetaRegion)))),
		"its host has no region any more")
	c.Expect(tainted.Load()).To(BeFalse(), "pods could be scheduled to it all the while")
}

// taints records whether a Node has a taint from now on.
func (c *cluster) taints(name string) *atomic.Bool {
	c.t.Helper()
	noted := &atomic.Bool{}
	events, err := c.client.Watch(c.t.Context(), &corev1.NodeList{})
	c.Expect(err).NotTo(HaveOccurred())
	c.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if node, ok := event.Object.(*corev1.Node); ok && node.Name == name && slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized }) {
				noted.Store(true)
			}
		}
	}()
	return noted
}

func TestNodeIsInitializedWhenGuestReportsAddress(t *testing.T) {
	s := newFixture(t)
	c := s.cluster("blue")
	c.Expect(sim.SetFault(t.Context(), "no-agents", true)).To(Succeed())
	t.Cleanup(func() { _ = sim.SetFault(t.Context(), "no-agents", false) }) // it may have ended
	s.create("node-1")
	c.node("node-1")
	c.start()
	c.Eventually(c.provider.log.String).Should(ContainSubstring("has not reported an address of its first network"))
	c.Expect(c.read("node-1")()).NotTo(usable())
	c.Expect(sim.SetFault(t.Context(), "no-agents", false)).To(Succeed())
	c.Eventually(c.read("node-1")).Should(And(usable(), HaveField("Status.Addresses", ContainElement(HaveField("Type", corev1.NodeInternalIP)))))
}

func TestNodeWithKubeletAddressIsInitializedWithoutGuestAgent(t *testing.T) {
	s := newFixture(t)
	c := s.cluster("blue")
	c.Expect(sim.SetFault(t.Context(), "no-agents", true)).To(Succeed())
	t.Cleanup(func() { _ = sim.SetFault(t.Context(), "no-agents", false) })
	s.create("node-1")
	node := c.node("node-1", func(node *corev1.Node) { // as kubelet registers it with --node-ip
		node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "192.168.50.9"}
	})
	told := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.168.50.9"}, {Type: corev1.NodeHostName, Address: "node-1"}}
	integration.Update(integration.User{T: t, G: c.WithT, Client: c.client}, node, integration.Status, func(node *corev1.Node) { node.Status.Addresses = told })
	c.start()
	c.Eventually(c.read("node-1")).Should(And(usable(), HaveField("Spec.ProviderID", HavePrefix("harvester://")), HaveField("Status.Addresses", Equal(told))))
}

func TestNodeZoneWithoutPermissionForHosts(t *testing.T) {
	s := newFixture(t)
	s.vm("node-1", func(vm *kubevirtv1.VirtualMachine) {
		vm.Spec.Template.ObjectMeta.Labels = map[string]string{"harvesterhci.io/creator": "docker-machine-driver-harvester"}
	})
	s.vm("node-2")
	c := s.cluster("blue")
	c.node("node-1")
	c.node("node-2")
	c.bind(slices.DeleteFunc(rules(t, harvesterMarker), func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "nodes") }))
	c.start()
	c.Eventually(c.read("node-1")).Should(HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyZone, s.zone("node-1"))))
	c.Eventually(c.read("node-2")).Should(And(usable(), HaveField("Labels", Not(HaveKey(corev1.LabelTopologyZone)))))
	c.Expect(strings.Count(c.provider.log.String(), "may not read the hosts of Harvester")).To(Equal(1))
}

func TestNodeInitializedByOthersGetsZone(t *testing.T) {
	s := newFixture(t)
	s.vm("node-1")
	c := s.cluster("blue")
	c.node("node-1")
	c.start("--controllers=*,-cloud-node-controller")
	c.Eventually(c.read("node-1")).Should(HaveField("Annotations", HaveKeyWithValue("cloudprovider.harvesterhci.io/virtual-machine", s.namespace+"/node-1")))
	node, err := c.read("node-1")()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(node.Labels).NotTo(HaveKey(corev1.LabelTopologyZone), "the initializing client sets it")
	before := node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
	c.Expect(c.client.Patch(t.Context(), node, client.MergeFrom(before))).To(Succeed())
	c.Eventually(c.read("node-1")).Should(HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyZone, s.zone("node-1"))))
}

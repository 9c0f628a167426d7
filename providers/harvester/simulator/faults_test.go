// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

// userClient returns a client with a kubeconfig of the simulator.
func (s *fixture) userClient(kubeconfig []byte) client.WithWatch {
	s.t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	s.Expect(err).NotTo(HaveOccurred())
	config.QPS, config.UserAgent = -1, s.namespace
	c, err := client.NewWithWatch(config, client.Options{Scheme: s.client.Scheme()})
	s.Expect(err).NotTo(HaveOccurred())
	return c
}

// setFault sets a fault until the test ends, or until end is called.
func (s *fixture) setFault(name string, args ...string) (end func()) {
	s.t.Helper()
	end = func() {
		s.Expect(sim.SetFault(context.WithoutCancel(s.t.Context()), name, false, args...)).To(Succeed(), "ending %s", name)
	}
	s.t.Cleanup(end)
	s.Expect(sim.SetFault(s.t.Context(), name, true, args...)).To(Succeed(), "setting %s", name)
	return end
}

func (s *fixture) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

func TestFaultsAreDocumented(t *testing.T) {
	faults.Described(t, simulator.Faults())
}

func TestInvalidFaults(t *testing.T) {
	g := NewWithT(t)
	g.Expect(sim.SetFault(t.Context(), "unknown", true)).To(MatchError(ContainSubstring("must be one of down, ")))
	g.Expect(sim.SetFault(t.Context(), "lost-hosts", true)).To(MatchError(ContainSubstring("it is lost-hosts/host")))
	g.Expect(sim.SetFault(t.Context(), "slow", true)).To(MatchError(ContainSubstring("start one with it")))
	g.Expect(sim.SetFault(t.Context(), "lost-zone", true, "nowhere")).To(MatchError(ContainSubstring(`no host is in zone "nowhere"`)))
}

func TestHostFaults(t *testing.T) {
	const host = "zone-1-host-1"
	works := func(node *corev1.Node) bool { return node.Status.Conditions[0].Status == corev1.ConditionTrue }
	takes := func(node *corev1.Node) bool { return !node.Spec.Unschedulable }
	for fault, healthy := range map[string]func(*corev1.Node) bool{"lost-hosts": works, "cordoned": takes, "drained": takes} {
		t.Run(fault, func(t *testing.T) {
			if fault == "drained" {
				sim.NeedsMigration(t)
			}
			s := newFixture(t)
			node := &corev1.Node{}
			end := s.setFault(fault, host)
			s.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: host}, node)).To(Succeed())
			s.Expect(healthy(node)).To(BeFalse())
			end()
			s.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: host}, node)).To(Succeed())
			s.Expect(healthy(node)).To(BeTrue())
			s.Expect(node.Spec.Taints).To(BeEmpty())
		})
	}
}

func TestDown(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.Expect(user.List(t.Context(), &corev1.NodeList{})).To(Succeed())
	end := s.setFault("down")
	s.Expect(user.List(t.Context(), &corev1.NodeList{})).To(MatchError(ContainSubstring("refused")))
	end()
	s.Expect(user.List(t.Context(), &corev1.NodeList{})).To(Succeed())
}

func TestDelayed(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.setFault("delayed")
	began := time.Now()
	s.Expect(user.List(t.Context(), &corev1.NodeList{})).To(Succeed())
	s.Expect(time.Since(began)).To(BeNumerically(">=", 300*time.Millisecond))
}

func TestFailing(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.setFault("failing")
	s.Eventually(func() bool {
		return apierrors.IsServiceUnavailable(user.Create(t.Context(), s.configMap("refused"), client.DryRunAll))
	}).Should(BeTrue())
}

func TestLostAnswers(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.setFault("lost-answers")
	for i := 0; ; i++ {
		object := s.configMap(fmt.Sprintf("change-%d", i))
		if err := user.Create(t.Context(), object); err != nil {
			s.Expect(apierrors.ReasonForError(err)).To(Equal(metav1.StatusReasonUnknown), "no response of the API server")
			s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			return
		}
	}
}

func TestConflicts(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.setFault("conflicts", "configmaps")
	object := s.configMap("contended")
	s.Expect(user.Create(t.Context(), object)).To(Succeed())
	s.Eventually(func() bool {
		object.Data = map[string]string{"time": time.Now().String()}
		return apierrors.IsConflict(user.Update(t.Context(), object))
	}).Should(BeTrue())
	for range 20 {
		s.Expect(user.Patch(t.Context(), s.vmOf("none"), client.RawPatch("application/merge-patch+json", []byte("{}")))).
			To(MatchError(apierrors.IsNotFound, "is not found"))
	}
}

func (s *fixture) vmOf(name string) *kubevirtv1.VirtualMachine {
	return &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

func TestSilentWatches(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	w, err := user.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(s.namespace))
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.Stop)
	s.Expect(user.Create(t.Context(), s.configMap("delivered"))).To(Succeed())
	s.Eventually(w.ResultChan()).Should(Receive(HaveField("Type", watch.Added)))
	end := s.setFault("silent")
	s.Expect(user.Create(t.Context(), s.configMap("missed"))).To(Succeed())
	s.Consistently(w.ResultChan(), "300ms").ShouldNot(Receive())
	end()
	s.Eventually(w.ResultChan()).Should(BeClosed())
}

func TestStuckWatches(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	begin := func() watch.Interface {
		w, err := user.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(s.namespace))
		s.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(w.Stop)
		return w
	}
	old := begin()
	s.setFault("stuck-watches")
	fresh := begin()
	s.Expect(user.Create(t.Context(), s.configMap("delivered"))).To(Succeed())
	s.Eventually(fresh.ResultChan()).Should(Receive(HaveField("Type", watch.Added)))
	s.Consistently(old.ResultChan(), "300ms").ShouldNot(Receive())
	s.setFault("cut-watches")
	s.Eventually(old.ResultChan()).Should(BeClosed())
}

func TestCutWatches(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	w, err := user.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(s.namespace))
	s.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(w.Stop)
	s.Expect(user.Create(t.Context(), s.configMap("delivered"))).To(Succeed())
	s.Eventually(w.ResultChan()).Should(Receive())
	s.setFault("cut-watches")
	s.Eventually(w.ResultChan()).Should(BeClosed())
}

func TestNoScheduler(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-scheduler")
	s.create("vm")
	// The instance keeps its first reason, which may be that of a volume.
	s.Eventually(func() kubevirtv1.VirtualMachinePrintableStatus { return s.vm("vm").Status.PrintableStatus }).
		Should(Or(Equal(kubevirtv1.VirtualMachineStatusStarting), Equal(kubevirtv1.VirtualMachineStatusUnschedulable)))
	s.Eventually(func() kubevirtv1.VirtualMachineInstancePhase { return s.instance("vm").Status.Phase }).Should(Equal(kubevirtv1.Scheduling))
	end()
	s.waitForRunning("vm")
}

func TestNoVolumes(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-volumes")
	s.create("vm")
	vm := s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusUnschedulable)
	s.Expect(vm.Status.Conditions).To(ContainElement(And(HaveField("Type", kubevirtv1.VirtualMachineConditionType(corev1.PodScheduled)),
		HaveField("Reason", corev1.PodReasonUnschedulable), HaveField("Message", Or(ContainSubstring("pod has unbound immediate PersistentVolumeClaims"), ContainSubstring("does not exist, waiting for it to appear"))))))
	pods := &corev1.PodList{}
	s.Expect(s.client.List(t.Context(), pods, client.InNamespace(s.namespace))).To(Succeed())
	s.Expect(pods.Items).To(HaveLen(1), "the Pod exists before its volumes are bound")
	end()
	s.waitForRunning("vm")
}

func TestNoImages(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-images")
	image := &harvesterhciv1.VirtualMachineImage{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "late"}, Spec: harvesterhciv1.VirtualMachineImageSpec{DisplayName: "late"},
	}
	s.Expect(s.client.Create(t.Context(), image)).To(Succeed())
	status := func() harvesterhciv1.VirtualMachineImageStatus {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(image), image)).To(Succeed())
		return image.Status
	}
	s.Eventually(status).Should(HaveField("StorageClassName", HavePrefix("lh-")), "its class exists from the start")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "early"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &image.Status.StorageClassName, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	s.Expect(s.client.Create(t.Context(), claim)).To(Succeed())
	phase := func() corev1.PersistentVolumeClaimPhase {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		return claim.Status.Phase
	}
	s.Consistently(func(g Gomega) {
		g.Expect(status().Conditions).To(ConsistOf(HaveField("Type", "Initialized")))
		g.Expect(phase()).To(Equal(corev1.ClaimPending))
	}, "300ms").Should(Succeed())
	end()
	s.Eventually(status).Should(And(HaveField("Progress", 100),
		HaveField("Conditions", ContainElement(And(HaveField("Type", harvesterhciv1.ImageImported), HaveField("Status", corev1.ConditionTrue))))))
	s.Eventually(phase).Should(Equal(corev1.ClaimBound))
}

func TestNoAgentsAndNoLeases(t *testing.T) {
	for _, fault := range []string{"no-agents", "no-leases"} {
		t.Run(fault, func(t *testing.T) {
			s := newFixture(t)
			end := s.setFault(fault)
			s.create("vm")
			s.Expect(s.waitForRunning("vm").Status.Interfaces).To(BeEmpty())
			end()
			s.Eventually(func() []kubevirtv1.VirtualMachineInstanceNetworkInterface {
				return s.instance("vm").Status.Interfaces
			}).Should(HaveLen(1))
		})
	}
}

func TestNoVIPs(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-vips")
	lb := s.balancer("lb", "")
	s.Eventually(s.ready("lb")).Should(HaveField("Message", "service is waiting for external IP"))
	s.announceEagerly("lb")
	address := func() string {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(lb), lb)).To(Succeed())
		return lb.Status.Address
	}
	s.Consistently(address, "300ms").Should(BeEmpty())
	end()
	s.Eventually(address).ShouldNot(BeEmpty())
	s.Eventually(s.ready("lb")).Should(HaveField("Message", "the lb has no running backend servers"))
}

func TestNoLoadBalancer(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-load-balancer")
	lb := s.balancer("lb", s.pool("172.17.1.10", "172.17.1.11"))
	s.Consistently(func(g Gomega) {
		pool := &lbv1.IPPool{}
		g.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: s.namespace}, pool)).To(Succeed())
		g.Expect(pool.Status).To(BeZero())
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(lb), lb)).To(Succeed())
		g.Expect(lb.Finalizers).To(BeEmpty())
	}, "300ms").Should(Succeed())
	end()
	s.Eventually(func() string {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(lb), lb)).To(Succeed())
		return lb.Status.AllocatedAddress.IP
	}).Should(Equal("172.17.1.10"))
}

func TestCrashing(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	before := s.waitForRunning("vm")
	end := s.setFault("crashing", s.namespace, "vm")
	for range 2 {
		s.Eventually(func() types.UID { return s.instanceUID("vm") }).Should(And(Not(BeEmpty()), Not(Equal(before.UID))))
		before.UID = s.instanceUID("vm")
	}
	s.Expect(s.vm("vm").Status.StartFailure).To(BeNil())
	s.Expect(s.vm("vm").Status.PrintableStatus).NotTo(Equal(kubevirtv1.VirtualMachineStatusCrashLoopBackOff))
	end()
	s.waitForRunning("vm")
}

func TestRestartRequest(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	before := s.waitForRunning("vm")
	s.Eventually(func() error {
		vm := s.vm("vm")
		vm.Status.StateChangeRequests = []kubevirtv1.VirtualMachineStateChangeRequest{
			{Action: kubevirtv1.StopRequest, UID: &before.UID}, {Action: kubevirtv1.StartRequest},
		}
		return s.client.Status().Update(t.Context(), vm)
	}).Should(Succeed())
	s.Eventually(func() types.UID { return s.instanceUID("vm") }).Should(And(Not(BeEmpty()), Not(Equal(before.UID))))
	s.waitForRunning("vm")
	s.Eventually(func() []kubevirtv1.VirtualMachineStateChangeRequest { return s.vm("vm").Status.StateChangeRequests }).Should(BeEmpty())
}

func TestRunStrategyAfterHalt(t *testing.T) {
	for noted, want := range map[bool]kubevirtv1.VirtualMachineRunStrategy{true: kubevirtv1.RunStrategyAlways, false: kubevirtv1.RunStrategyRerunOnFailure} {
		s := newFixture(t)
		s.create("vm")
		s.waitForRunning("vm")
		change := func(strategy kubevirtv1.VirtualMachineRunStrategy) {
			s.Eventually(func() error {
				vm := s.vm("vm")
				vm.Spec.RunStrategy = &strategy
				if !noted {
					delete(vm.Annotations, "harvesterhci.io/vmRunStrategy")
				}
				return s.client.Update(t.Context(), vm)
			}).Should(Succeed())
		}
		change(kubevirtv1.RunStrategyHalted)
		s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusStopped)
		// KubeVirt does not start a virtual machine with RerunOnFailure whose former instance still exists.
		s.Eventually(func() error {
			return s.client.Get(t.Context(), s.key("vm"), &kubevirtv1.VirtualMachineInstance{})
		}).Should(MatchError(apierrors.IsNotFound, "is deleted"))
		change(kubevirtv1.RunStrategyAlways)
		s.waitForRunning("vm")
		s.Expect(*s.vm("vm").Spec.RunStrategy).To(Equal(want))
		s.setFault("powered-off", s.namespace, "vm")
		if !noted {
			s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusStopped)
			s.Consistently(func() kubevirtv1.VirtualMachinePrintableStatus { return s.vm("vm").Status.PrintableStatus }, "300ms").
				Should(Equal(kubevirtv1.VirtualMachineStatusStopped))
		}
	}
}

func TestNoVirtController(t *testing.T) {
	sim.NeedsSimulatedKubeVirt(t)
	s := newFixture(t)
	end := s.setFault("no-virt-controller", s.namespace, "vm")
	s.create("vm")
	s.Eventually(func() []string { return s.vm("vm").Finalizers }).ShouldNot(BeEmpty(), "Harvester processes it")
	s.Consistently(func() kubevirtv1.VirtualMachinePrintableStatus { return s.vm("vm").Status.PrintableStatus }, "300ms").Should(BeEmpty())
	end()
	s.waitForRunning("vm")
}

func TestNoCleanup(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-cleanup", s.namespace, "vm")
	vm := s.create("vm")
	s.waitForRunning("vm")
	s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
	s.Eventually(func() []string { return s.vm("vm").Finalizers }).Should(ConsistOf("wrangler.cattle.io/VMController.CleanupPVCAndSnapshot"))
	end()
	s.Eventually(func() error { return s.client.Get(t.Context(), s.key("vm"), vm) }).Should(MatchError(apierrors.IsNotFound, "is deleted"))
}

func TestNoStart(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("no-start", s.namespace, "vm")
	s.create("vm")
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusCrashLoopBackOff)
	end()
	s.Expect(s.waitForRunning("vm").Status.Reason).To(BeEmpty())
	s.Eventually(func() *kubevirtv1.VirtualMachineStartFailure { return s.vm("vm").Status.StartFailure }).Should(BeNil())
}

func TestPaused(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	s.waitForRunning("vm")
	end := s.setFault("paused")
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusPaused)
	s.Eventually(func() kubevirtv1.VirtualMachineInstanceCondition { return s.readyCondition("vm") }).Should(And(
		HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "ReadinessGatesNotReady"),
		HaveField("Message", `the status of pod readiness gate "kubevirt.io/virtual-machine-unpaused" is not "True", but False`)))
	s.Eventually(func() bool { return s.vm("vm").Status.Ready }).Should(BeFalse())
	end()
	s.waitForRunning("vm")
	s.Eventually(func() kubevirtv1.VirtualMachineInstanceCondition { return s.readyCondition("vm") }).Should(HaveField("Status", corev1.ConditionTrue))
}

func TestConditionsOfStoppedVirtualMachine(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	s.waitForAddress("vm")
	agent := ContainElement(And(HaveField("Type", BeEquivalentTo(kubevirtv1.VirtualMachineInstanceAgentConnected)), HaveField("Status", corev1.ConditionTrue)))
	conditions := func() []kubevirtv1.VirtualMachineCondition { return s.vm("vm").Status.Conditions }
	s.Eventually(conditions).Should(agent)
	s.setRunStrategy("vm", kubevirtv1.RunStrategyHalted)
	s.Eventually(conditions).Should(ContainElement(And(HaveField("Type", kubevirtv1.VirtualMachineReady), HaveField("Reason", "VMINotExists"))))
	s.Expect(conditions()).To(agent)

	defer s.setFault("no-agents")()
	s.setRunStrategy("vm", kubevirtv1.RunStrategyAlways)
	s.waitForRunning("vm")
	s.Eventually(conditions).ShouldNot(agent)
}

// setRunStrategy sets the run strategy of a virtual machine.
func (s *fixture) setRunStrategy(name string, strategy kubevirtv1.VirtualMachineRunStrategy) {
	s.t.Helper()
	vm := s.vm(name)
	before := vm.DeepCopy()
	vm.Spec.RunStrategy = &strategy
	s.Expect(s.client.Patch(s.t.Context(), vm, client.MergeFrom(before))).To(Succeed())
}

func TestFullZone(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("full-zone", "zone-2")
	s.create("vm", inZone("zone-2"))
	s.unschedulable("vm")
	end()
	s.Expect(s.waitForRunning("vm").Status.NodeName).To(HavePrefix("zone-2-"))
}

func TestHung(t *testing.T) {
	s := newFixture(t)
	end := s.setFault("hung", s.namespace, "vm")
	vm := s.create("vm")
	s.waitForRunning("vm")
	s.Expect(s.client.Delete(t.Context(), vm)).To(Succeed())
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusTerminating)
	end()
	s.Eventually(func() error { return s.client.Get(t.Context(), s.key("vm"), vm) }).Should(MatchError(apierrors.IsNotFound, "is deleted"))
}

func TestKubeconfigForUser(t *testing.T) {
	s := newFixture(t)
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}
	kubeconfig := sim.KubeconfigFor("narrow", rules, s.namespace)
	user := s.userClient(kubeconfig)
	s.Eventually(func() error { return user.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(s.namespace)) }).Should(Succeed())
	s.Expect(user.List(t.Context(), &corev1.ConfigMapList{})).To(MatchError(apierrors.IsForbidden, "is forbidden"))
	s.Expect(user.Create(t.Context(), s.configMap("mine"))).To(MatchError(ContainSubstring(`User "narrow" cannot create`)))

	s.Expect(sim.Revoke(kubeconfig)).To(Succeed())
	s.Expect(user.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(s.namespace))).
		To(MatchError(apierrors.IsUnauthorized, "is unauthorized"))
}

func TestRequests(t *testing.T) {
	s := newFixture(t)
	user := s.userClient(sim.Kubeconfig())
	s.Expect(user.Create(t.Context(), s.configMap("counted"))).To(Succeed())
	s.Expect(user.Get(t.Context(), s.key("counted"), &corev1.ConfigMap{})).To(Succeed())
	s.Expect(user.List(t.Context(), &corev1.NodeList{})).To(Succeed())
	var verbs []string
	for _, request := range sim.Requests() {
		if request.UserAgent == s.namespace && request.Resource != "" {
			verbs = append(verbs, strings.Join([]string{request.Verb, request.Resource, request.Namespace, request.Name}, " "))
		}
	}
	s.Expect(verbs).To(Equal([]string{
		"create configmaps " + s.namespace + " ", "get configmaps " + s.namespace + " counted", "list nodes  ",
	}))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// virtualMachine returns a running virtual machine of a machine.
func (w *fixture) virtualMachine(machine string) *kubevirtv1.VirtualMachine {
	meta := metav1.ObjectMeta{
		Namespace: w.namespace, Name: machine, Labels: map[string]string{infrav1.MachineIDLabel: "id-of-" + machine},
		Annotations: map[string]string{infrav1.OwnerAnnotation: infrav1.Owner(w.namespace, machine)},
	}
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: meta}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyAlways)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations}}
	vm.Spec.Template.Spec.Domain.Memory = &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse("1Gi"))}
	w.Expect(w.client.Create(w.t.Context(), vm)).To(Succeed())
	w.t.Cleanup(func() { _ = w.client.Delete(w.t.Context(), vm) })
	return vm
}

func TestReadsUseCacheAndReportUnsyncedInformer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	vm := w.virtualMachine("m")
	who := w.asker(harvester.Cluster, "c")
	conn := w.waitForConnection(who)
	before := w.enqueued(who)
	err := conn.Get(t.Context(), client.ObjectKeyFromObject(vm), &kubevirtv1.VirtualMachine{})
	w.Expect(err).To(MatchError(harvester.ErrSyncing))
	w.Eventually(func() int { return w.enqueued(who) }).Should(BeNumerically(">", before), "who asked too early is woken")
	w.read(conn, client.ObjectKeyFromObject(vm), &kubevirtv1.VirtualMachine{})
	vms := &kubevirtv1.VirtualMachineList{}
	w.Expect(conn.List(t.Context(), vms, client.InNamespace(w.namespace))).To(Succeed())
	w.Expect(vms.Items).To(HaveLen(1))
	w.Expect(apierrors.IsNotFound(conn.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "none"}, vm))).To(BeTrue())
	nodes := &corev1.NodeList{}
	w.Eventually(func() error { return conn.List(t.Context(), nodes) }).Should(Succeed())
	w.Expect(nodes.Items).NotTo(BeEmpty())
}

func TestVirtualMachineEnqueuesOwnerInAnyNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	conn := w.waitForConnection(w.asker(harvester.Cluster, "c"))
	w.Eventually(func() error {
		return conn.List(t.Context(), &kubevirtv1.VirtualMachineInstanceList{}, client.InNamespace(w.namespace))
	}).Should(Succeed())
	w.virtualMachine("m")
	vmi := &kubevirtv1.VirtualMachineInstance{}
	w.Eventually(func(g Gomega) {
		g.Expect(conn.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "m"}, vmi)).To(Succeed())
		g.Expect(vmi.Status.NodeName).NotTo(BeEmpty())
		g.Expect(w.enqueued(w.asker(harvester.Machine, "m"))).To(BeNumerically(">", 1))
	}).Should(Succeed())
}

func TestHostLabelsEnqueueClustersAndMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	cluster, machine := w.asker(harvester.Cluster, "c"), w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(cluster)
	w.virtualMachine("m")
	vmi, host := &kubevirtv1.VirtualMachineInstance{}, &corev1.Node{}
	w.Eventually(func(g Gomega) {
		g.Expect(conn.Get(t.Context(), machine.Key, vmi)).To(Succeed())
		g.Expect(vmi.Status.Phase).To(Equal(kubevirtv1.Running))
	}).Should(Succeed())
	w.read(conn, client.ObjectKey{Name: vmi.Status.NodeName}, host)
	before := w.settled(cluster, machine)

	beat := host.DeepCopy()
	for i := range beat.Status.Conditions {
		beat.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
	}
	w.Expect(w.client.Status().Patch(t.Context(), beat, client.MergeFrom(host))).To(Succeed())
	label := beat.DeepCopy()
	label.Labels["rack-of-"+w.namespace] = "9"
	w.Expect(w.client.Patch(t.Context(), label, client.MergeFrom(beat))).To(Succeed())
	w.Eventually(func() bool { return w.enqueued(cluster) > before[0] && w.enqueued(machine) > before[1] }).Should(BeTrue())
	w.Expect(conn.Get(t.Context(), client.ObjectKeyFromObject(host), host)).To(Succeed())
	w.Expect(host.Labels).To(HaveKey("rack-of-"+w.namespace), "the heartbeat came before")
}

func TestUnreadyHostEnqueuesMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	machine := w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(w.asker(harvester.Cluster, "c"))
	host := simulator.Host{Name: "of-" + w.namespace, Witness: true} // it runs nothing else
	w.Expect(sim.AddHost(t.Context(), host)).To(Succeed())
	t.Cleanup(func() { w.Expect(sim.RemoveHost(context.WithoutCancel(t.Context()), host.Name)).To(Succeed()) })
	vmi := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "m", Labels: map[string]string{infrav1.MachineIDLabel: "id"},
		Annotations: map[string]string{infrav1.OwnerAnnotation: infrav1.Owner(machine.Key.Namespace, machine.Key.Name)},
	}}
	// It does not change with its host.
	vmi.Status = kubevirtv1.VirtualMachineInstanceStatus{Phase: kubevirtv1.Succeeded, NodeName: host.Name}
	w.Expect(w.client.Create(t.Context(), vmi)).To(Succeed())
	node := &corev1.Node{}
	w.read(conn, client.ObjectKeyFromObject(vmi), &kubevirtv1.VirtualMachineInstance{})
	w.read(conn, client.ObjectKey{Name: host.Name}, node)
	before := w.settled(machine)[0]
	silent := node.DeepCopy()
	silent.Status.Conditions[0].Status = corev1.ConditionUnknown
	w.Expect(w.client.Status().Patch(t.Context(), silent, client.MergeFrom(node))).To(Succeed())
	w.Eventually(func() int { return w.enqueued(machine) }).Should(BeNumerically(">", before))
}

func TestAwaitedStorageClassEnqueuesOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	who := w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(who)
	w.Eventually(func() error { return conn.List(t.Context(), &storagev1.StorageClassList{}) }).Should(Succeed())
	before := w.enqueued(who)
	conn.Await(who)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Provisioner: "driver.longhorn.io"}
	w.Expect(w.client.Create(t.Context(), class)).To(Succeed())
	w.Eventually(func() int { return w.enqueued(who) }).Should(BeNumerically(">", before))
}

// Virtual machines of other owners in the namespace are cached with their metadata only.
func TestForeignVirtualMachinesAreStripped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.identity(sim.Kubeconfig())
	conn := w.waitForConnection(w.asker(harvester.Cluster, "c"))
	vm := &kubevirtv1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}}
	vm.Spec.RunStrategy = ptr.To(kubevirtv1.RunStrategyHalted)
	vm.Spec.Template = &kubevirtv1.VirtualMachineInstanceTemplateSpec{}
	vm.Spec.Template.Spec.Domain.Memory = &kubevirtv1.Memory{Guest: ptr.To(resource.MustParse("1Gi"))}
	w.Expect(w.client.Create(t.Context(), vm)).To(Succeed())
	known := &kubevirtv1.VirtualMachine{}
	w.Eventually(func() error { return conn.Get(t.Context(), client.ObjectKeyFromObject(vm), known) }).Should(Succeed())
	w.Expect(known.Spec.Template).To(BeNil())
	w.Expect(known.UID).To(Equal(vm.UID))
}

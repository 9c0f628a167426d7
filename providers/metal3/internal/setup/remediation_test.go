// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// unhealthyMachine is a machine with a Node, whose host can delay changes of its power.
type unhealthyMachine struct {
	*fixture
	machine *infrav1.Metal3Machine
	key     client.ObjectKey // of the host
}

// newUnhealthyMachine creates a machine with a Node on the only host.
func newUnhealthyMachine(t *testing.T) *unhealthyMachine {
	t.Helper()
	return newFixture(t, simulator.Racks(1, 1)).unhealthyMachine()
}

// unhealthyMachine creates a cluster with one machine, which has its Node.
func (f *fixture) unhealthyMachine() *unhealthyMachine {
	f.t.Helper()
	f.cluster("one", "rack-1")
	p := &unhealthyMachine{fixture: f, machine: f.machine("one", "cp-0", "rack-1")}
	p.key = client.ObjectKeyFromObject(f.waitForProvisioned(p.machine))
	updateStatus(f, p.owner(), func(owner *clusterv1.Machine) {
		owner.Status.NodeRef = clusterv1.MachineNodeReference{Name: p.nodeName()}
	})
	return p
}

func (p *unhealthyMachine) nodeName() string { return p.name + "-" + p.machine.Name }

func (p *unhealthyMachine) owner() *clusterv1.Machine {
	p.t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: p.meta(p.machine.Name)}
	p.get(machine)
	return machine
}

func (p *unhealthyMachine) node() *corev1.Node {
	p.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.nodeName()}}
	p.get(node)
	return node
}

// remediate creates a remediation as a MachineHealthCheck does.
func (p *unhealthyMachine) remediate(retries int32) *infrav1.Metal3Remediation {
	p.t.Helper()
	owner := p.owner()
	remediation := &infrav1.Metal3Remediation{ObjectMeta: p.meta(owner.Name), Spec: infrav1.Metal3RemediationSpec{
		Strategy: infrav1.RemediationStrategy{Type: infrav1.RebootRemediation, RetryLimit: retries, TimeoutSeconds: 600},
	}}
	remediation.Labels[clusterv1.ClusterNameLabel] = "one"
	remediation.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: owner.Name, UID: owner.UID,
	}}
	p.create(remediation)
	return remediation
}

// waitForPhase waits until the remediation is in the phase.
func (p *unhealthyMachine) waitForPhase(remediation *infrav1.Metal3Remediation, phase infrav1.RemediationPhase) {
	p.t.Helper()
	p.Eventually(func() infrav1.RemediationPhase {
		p.get(remediation)
		return remediation.Status.Phase
	}).Should(Equal(phase))
}

// expireTimeout backdates the start of the attempt.
func (p *unhealthyMachine) expireTimeout(remediation *infrav1.Metal3Remediation) {
	p.t.Helper()
	p.Eventually(func() error {
		p.get(remediation)
		remediation.Status.LastRemediated = ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
		return p.client.Status().Update(p.t.Context(), remediation)
	}).Should(Succeed())
}

func (p *unhealthyMachine) annotation(remediation *infrav1.Metal3Remediation) string {
	return "reboot.metal3.io/metal3-remediation-" + string(remediation.UID)
}

func outOfService() types.GomegaMatcher {
	return ContainElement(HaveField("Key", "node.kubernetes.io/out-of-service"))
}

// pod creates a Pod on the Node. No kubelet runs or deletes it.
func (p *unhealthyMachine) pod() *corev1.Pod {
	p.t.Helper()
	pod := &corev1.Pod{ObjectMeta: p.meta("pod"), Spec: corev1.PodSpec{
		NodeName: p.nodeName(), Containers: []corev1.Container{{Name: "c", Image: "i"}}, TerminationGracePeriodSeconds: ptr.To(int64(0)),
	}}
	p.create(pod)
	return pod
}

func (p *unhealthyMachine) volume() *storagev1.VolumeAttachment {
	p.t.Helper()
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: "example.com", NodeName: p.nodeName(), Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv")},
	}}
	p.create(attachment)
	return attachment
}

func TestRemediationRebootsHost(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	before := p.node()
	pod, volume := p.pod(), p.volume()
	remediation := p.remediate(1)
	p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).Should(outOfService())
	p.get(remediation)
	p.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationRunning))
	p.Expect(remediation.Status.RetryCount).To(Equal(int32(1)))
	p.Expect(remediation.Finalizers).To(ConsistOf(infrav1.RemediationFinalizer))
	host := p.host(p.key.Name)
	p.Expect(host.Status.PoweredOn).To(BeFalse(), "the Node is not taken out of service while it may run")
	p.Expect(host.Annotations).To(HaveKey(p.annotation(remediation)))
	p.Expect(host.Spec.Online).To(BeTrue())

	p.Expect(p.client.Delete(t.Context(), pod)).To(Succeed())
	p.Consistently(func() bool { return p.host(p.key.Name).Status.PoweredOn }).WithTimeout(time.Second).Should(BeFalse(), "the volume is still there")
	p.Expect(p.client.Delete(t.Context(), volume)).To(Succeed())
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
	p.Eventually(func() []string {
		p.get(remediation)
		return remediation.Finalizers
	}).Should(BeEmpty())
	host = p.host(p.key.Name)
	p.Expect(host.Status.PoweredOn).To(BeTrue())
	p.Expect(host.Annotations).NotTo(HaveKey(p.annotation(remediation)))
	p.Expect(p.node().Spec.Taints).To(Equal(before.Spec.Taints))
	p.Expect(conditions.Has(p.owner(), clusterv1.MachineOwnerRemediatedCondition)).To(BeFalse())
	p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(infrav1.UnhealthyAnnotation))

	p.Expect(p.client.Delete(t.Context(), remediation)).To(Succeed())
	p.waitForDeletion(remediation)
}

func TestRemediationGivesUp(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	p.sim.Stick(bmov1alpha1.StateProvisioned, p.key)
	remediation := p.remediate(1)
	p.Eventually(func() map[string]string { return p.host(p.key.Name).Annotations }).Should(HaveKey(p.annotation(remediation)))
	p.Expect(p.node().Spec.Taints).NotTo(outOfService())
	p.expireTimeout(remediation)
	p.waitForPhase(remediation, infrav1.RemediationDeletingMachine)
	p.Eventually(func() map[string]string { return p.host(p.key.Name).Annotations }).ShouldNot(HaveKey(p.annotation(remediation)))
	p.Expect(p.host(p.key.Name).Annotations).To(HaveKey(infrav1.UnhealthyAnnotation))
	p.Expect(p.client.Delete(t.Context(), remediation)).To(Succeed())
	p.waitForDeletion(remediation)
}

func TestHostThatShouldBeOffIsNotRebooted(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	update(p.fixture, p.machine, func(machine *infrav1.Metal3Machine) { machine.Annotations[clusterv1.PausedAnnotation] = "" })
	p.waitForCondition(p.machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	update(p.fixture, p.host(p.key.Name), func(host *bmov1alpha1.BareMetalHost) { host.Spec.Online = false })
	remediation := p.remediate(1)
	p.waitForPhase(remediation, infrav1.RemediationFailed)
	p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
}

func TestHostThatMustNotBePoweredOffIsRestarted(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	update(p.fixture, p.host(p.key.Name), func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true })
	remediation := p.remediate(1)
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
	p.Eventually(func(g Gomega) {
		p.get(remediation)
		g.Expect(remediation.Finalizers).To(BeEmpty())
		g.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(bmov1alpha1.RebootAnnotationPrefix), "the operator has done it")
	}).Should(Succeed())
	p.Expect(p.host(p.key.Name).Status.PoweredOn).To(BeTrue())
}

func TestMachineWithoutHostIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 0))
	f.cluster("one", "rack-1")
	p := &unhealthyMachine{fixture: f, machine: f.machine("one", "cp-0", "rack-1")}
	f.waitForReason(p.machine, infrav1.FailureDomainWithoutHostsReason)
	remediation := p.remediate(3)
	p.waitForPhase(remediation, infrav1.RemediationDeletingMachine)
	p.Expect(conditions.IsFalse(p.owner(), clusterv1.MachineOwnerRemediatedCondition)).To(BeTrue())
}

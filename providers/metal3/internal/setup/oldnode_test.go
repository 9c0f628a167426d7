// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	ownLabel      = "example.org/mine"
	ownAnnotation = "example.org/note"
)

// oldNodeMachine is an unhealthyMachine whose Node runs a Kubernetes version without the out-of-service taint and has labels set
// by a user. The Node comes back from reboots unless it is lost.
type oldNodeMachine struct {
	*unhealthyMachine
	boots atomic.Int32 // since the Node exists
	lost  atomic.Bool
}

func newOldNodeMachine(t *testing.T) *oldNodeMachine {
	t.Helper()
	f := newEmptyFixture(t)
	p := &oldNodeMachine{}
	f.joins = func(*corev1.Node) bool {
		p.boots.Add(1)
		return !p.lost.Load()
	}
	f.hosts(simulator.Racks(1, 1))
	f.start()
	p.unhealthyMachine = f.unhealthyMachine()
	p.boots.Store(0)
	update(f, p.node(), func(node *corev1.Node) {
		node.Labels[ownLabel] = "x"
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, ownAnnotation, "y")
	})
	updateStatus(f, p.node(), func(node *corev1.Node) { node.Status.NodeInfo.KubeletVersion = "v1.27.16" })
	return p
}

// rebooted waits until the host has been off, possibly only briefly, and is on again.
func (p *oldNodeMachine) rebooted() {
	p.t.Helper()
	p.Eventually(p.boots.Load).Should(BeNumerically(">", 0))
}

// restored waits until a new Node has the labels and annotations of the former one.
func (p *unhealthyMachine) restored(before *corev1.Node) {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		node := &corev1.Node{}
		g.Expect(p.client.Get(p.t.Context(), client.ObjectKeyFromObject(before), node)).To(Succeed())
		g.Expect(node.UID).NotTo(Equal(before.UID), "it is another Node")
		g.Expect(node.Labels).To(HaveKeyWithValue(ownLabel, "x"))
		g.Expect(node.Annotations).To(HaveKeyWithValue(ownAnnotation, "y"))
		g.Expect(node.Spec.Taints).NotTo(outOfService())
		g.Expect(node.Spec.ProviderID).To(Equal(before.Spec.ProviderID), "it is the machine's Node as before")
	}).Should(Succeed())
}

func TestOldNodeIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	p := newOldNodeMachine(t)
	before := p.node()
	remediation := p.remediate(1)
	p.restored(before)
	p.Eventually(func(g Gomega) {
		p.get(remediation)
		g.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationWaiting))
		g.Expect(remediation.Finalizers).To(BeEmpty())
	}).Should(Succeed())
	remediation = &infrav1.Metal3Remediation{ObjectMeta: p.meta(remediation.Name)}
	p.get(remediation)
	p.Expect(remediation.Annotations).NotTo(HaveKey(infrav1.NodeLabelsBackupAnnotation), "it is not wanted any more")
	p.Expect(remediation.Annotations).NotTo(HaveKey(infrav1.NodeAnnotationsBackupAnnotation))
	p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
}

func TestLateOldNodeIsRestored(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*unhealthyMachine, *infrav1.Metal3Remediation){
		"in time": func(*unhealthyMachine, *infrav1.Metal3Remediation) {},
		"after its remediation was deleted": func(p *unhealthyMachine, remediation *infrav1.Metal3Remediation) {
			p.Expect(p.client.Delete(p.t.Context(), remediation)).To(Succeed())
		},
		"with another manager": func(p *unhealthyMachine, _ *infrav1.Metal3Remediation) {
			p.stop()
			p.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newOldNodeMachine(t)
			p.lost.Store(true)
			before := p.node()
			remediation := p.remediate(1)
			p.rebooted()
			p.waitForPhase(remediation, infrav1.RemediationWaiting)
			p.get(remediation)
			p.Expect(remediation.Annotations[infrav1.NodeLabelsBackupAnnotation]).To(ContainSubstring(`"example.org/mine":"x"`))
			p.Expect(remediation.Annotations[infrav1.NodeAnnotationsBackupAnnotation]).To(ContainSubstring(`"example.org/note":"y"`))
			p.Expect(remediation.Finalizers).To(ConsistOf(infrav1.RemediationFinalizer), "there is something left to do")
			end(p.unhealthyMachine, remediation)
			p.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: before.Name, Labels: map[string]string{infrav1.NodeUUIDLabel: string(p.host(p.key.Name).UID)},
			}})
			p.restored(before)
		})
	}
}

func TestMissingOldNodeDoesNotBlock(t *testing.T) {
	t.Parallel()
	p := newOldNodeMachine(t)
	p.lost.Store(true)
	remediation := p.remediate(1)
	p.rebooted()
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
	p.expireTimeout(remediation)
	p.waitForPhase(remediation, infrav1.RemediationDeletingMachine)
	p.Expect(p.client.Delete(t.Context(), remediation)).To(Succeed())
	p.waitForDeletion(remediation)
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	v1beta1conditions "sigs.k8s.io/cluster-api/util/conditions/deprecated/v1beta1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestARemediationWhoseFinalizerAPolicyRemovesLeavesTheHostAndTheNodeAlone(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	keep := p.user().Strip(&infrav1.Metal3Remediation{ObjectMeta: p.meta("example"), Spec: infrav1.Metal3RemediationSpec{
		Strategy: infrav1.RemediationStrategy{Type: infrav1.RebootRemediation, RetryLimit: 1, TimeoutSeconds: 600},
	}}, infrav1.RemediationFinalizer)
	remediation := p.remediate(1)
	p.waitForPhase(remediation, infrav1.RemediationRunning)
	p.Consistently(func(g Gomega) {
		g.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
		g.Expect(p.node().Spec.Taints).NotTo(outOfService())
	}, "1s").Should(Succeed())
	keep()
	p.Eventually(func() []string {
		p.get(remediation)
		return remediation.Finalizers
	}).Should(ConsistOf(infrav1.RemediationFinalizer))
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
	p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).ShouldNot(outOfService())
}

func TestRemediationRetriesThenReplaces(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	remediation := p.remediate(2)
	for try := range int32(2) {
		p.Eventually(func(g Gomega) {
			p.get(remediation)
			g.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationWaiting))
			g.Expect(remediation.Status.RetryCount).To(Equal(try + 1))
			g.Expect(remediation.Finalizers).To(BeEmpty(), "the host has been rebooted")
		}).Should(Succeed())
		p.expireTimeout(remediation)
	}
	p.waitForPhase(remediation, infrav1.RemediationDeletingMachine)
	owner := p.owner()
	p.Expect(conditions.GetReason(owner, clusterv1.MachineOwnerRemediatedCondition)).To(Equal(clusterv1.MachineOwnerRemediatedWaitingForRemediationReason))
	p.Expect(conditions.IsFalse(owner, clusterv1.MachineOwnerRemediatedCondition)).To(BeTrue())
	p.Expect(v1beta1conditions.IsFalse(owner, clusterv1.MachineOwnerRemediatedV1Beta1Condition)).To(BeTrue(), "for owners of the older contract")
	p.Expect(p.host(p.key.Name).Annotations).To(HaveKey(infrav1.UnhealthyAnnotation))

	p.deleteMachine(p.machine)
	next := p.fixture.machine("one", "cp-1", "rack-1")
	p.waitForReason(next, infrav1.FailureDomainHostsUnhealthyReason)
}

// Wherever a manager stops, the next one continues from there and cleans up everything.
func TestRestartInEveryPhaseOfARemediation(t *testing.T) {
	t.Parallel()
	for name, reached := range map[string]func(*unhealthyMachine, *infrav1.Metal3Remediation) bool{
		"asked for": func(*unhealthyMachine, *infrav1.Metal3Remediation) bool { return true },
		"powering off": func(p *unhealthyMachine, remediation *infrav1.Metal3Remediation) bool {
			_, ok := p.host(p.key.Name).Annotations[p.annotation(remediation)]
			return ok
		},
		"out of service": func(p *unhealthyMachine, _ *infrav1.Metal3Remediation) bool {
			for _, taint := range p.node().Spec.Taints {
				if taint.Key == corev1.TaintNodeOutOfService {
					return true
				}
			}
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newUnhealthyMachine(t)
			pod, taints := p.pod(), p.node().Spec.Taints
			remediation := p.remediate(1)
			p.Eventually(func() bool { return reached(p, remediation) }).Should(BeTrue())
			p.stop()
			p.Expect(p.client.Delete(t.Context(), pod)).To(Succeed())
			p.start()
			p.Eventually(func(g Gomega) {
				p.get(remediation)
				g.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationWaiting))
				g.Expect(remediation.Finalizers).To(BeEmpty())
			}).Should(Succeed())
			p.Expect(remediation.Status.RetryCount).To(Equal(int32(1)))
			p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
			p.Expect(p.node().Spec.Taints).To(Equal(taints))
		})
	}
}

// A remediation that is deleted halfway, because the Node became healthy or the Machine is deleted, is cleaned up completely.
func TestDeletedRemediationPowersOnHost(t *testing.T) {
	t.Parallel()
	t.Run("the Machine stays", func(t *testing.T) {
		t.Parallel()
		p := newUnhealthyMachine(t)
		p.pod()
		taints := p.node().Spec.Taints
		remediation := p.remediate(1)
		p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).Should(outOfService())
		p.Expect(p.client.Delete(t.Context(), remediation)).To(Succeed())
		p.waitForDeletion(remediation)
		p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
		p.Expect(p.node().Spec.Taints).To(Equal(taints))
		p.Eventually(func() bool { return p.host(p.key.Name).Status.PoweredOn }).Should(BeTrue())
	})
	t.Run("the machine is deleted", func(t *testing.T) {
		t.Parallel()
		p := newUnhealthyMachine(t)
		p.pod()
		remediation := p.remediate(1)
		p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).Should(outOfService())
		p.deleteMachine(p.machine)
		p.Expect(p.client.Delete(t.Context(), remediation)).To(Succeed())
		p.waitForDeletion(remediation)
		p.Expect(p.host(p.key.Name).Annotations).NotTo(HaveKey(p.annotation(remediation)))
	})
}

func TestPausedRemediationWaits(t *testing.T) {
	t.Parallel()
	p := newUnhealthyMachine(t)
	cluster := &clusterv1.Cluster{ObjectMeta: p.meta("one")}
	update(p.fixture, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	p.waitForCondition(p.machine, clusterv1.PausedCondition, clusterv1.PausedReason)
	remediation := p.remediate(1)
	p.Consistently(func() infrav1.RemediationPhase {
		p.get(remediation)
		return remediation.Status.Phase
	}).WithTimeout(time.Second).Should(BeEmpty())
	update(p.fixture, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = nil })
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
}

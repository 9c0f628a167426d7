// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// hungMachine returns an unhealthyMachine whose operating system ignores soft power off, for longer than any test lasts.
func hungMachine(t *testing.T, change func(*bmov1alpha1.BareMetalHost)) *unhealthyMachine {
	t.Helper()
	f := newStaticFixture(t)
	f.sim = simulator.Start(t, apiServer, simulator.WithNamespace(f.name), simulator.WithHooks(simulator.Hooks{PowerOn: f.boot}),
		simulator.WithDelays(simulator.Delays{Retry: 24 * time.Hour}))
	layout := simulator.Racks(1, 1)
	layout.Change = change
	f.hosts(layout)
	f.start()
	p := f.unhealthyMachine()
	p.sim.Hang(p.key)
	return p
}

func TestHungHostIsPoweredOffHard(t *testing.T) {
	t.Parallel()
	p := hungMachine(t, nil)
	pod := p.pod()
	remediation := p.remediate(1)
	p.Eventually(func() []corev1.Taint { return p.node().Spec.Taints }).Should(outOfService(), "in time, so that its Pods go elsewhere")
	host := p.host(p.key.Name)
	p.Expect(host.Annotations).To(HaveKeyWithValue(p.annotation(remediation), `{"mode":"hard"}`))
	p.Expect(host.Status.ErrorMessage).To(BeEmpty())
	p.Expect(p.client.Delete(t.Context(), pod)).To(Succeed())
	p.waitForPhase(remediation, infrav1.RemediationWaiting)
	p.Eventually(func() bool { return p.host(p.key.Name).Status.PoweredOn }).Should(BeTrue())
}

func TestHungHostThatMustStayOnIsRestarted(t *testing.T) {
	t.Parallel()
	p := hungMachine(t, func(host *bmov1alpha1.BareMetalHost) { host.Spec.DisablePowerOff = true })
	remediation := p.remediate(1)
	p.Eventually(func(g Gomega) {
		p.get(remediation)
		g.Expect(remediation.Status.Phase).To(Equal(infrav1.RemediationWaiting))
		host := p.host(p.key.Name)
		g.Expect(host.Annotations).NotTo(HaveKey(bmov1alpha1.RebootAnnotationPrefix), "the operator has done it")
		g.Expect(host.Status.ErrorMessage).To(BeEmpty())
	}).Should(Succeed())
}

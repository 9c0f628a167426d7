// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package quorum_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

func TestStrippedHooks(t *testing.T) {
	// This test must not run in parallel: objects of other tests trigger the controller.
	w := newFixture(t, 3, external)
	user := integration.User{T: t, G: w.WithT, Client: w.client}
	m0, infra := &clusterv1.Machine{ObjectMeta: w.meta("m0")}, &providertest.Cluster{ObjectMeta: w.meta("infra")}
	keep := user.Strip(m0, faultlinev1.QuorumHookAnnotation)
	writes, config := user.Writes(apiServer)
	w.config = config
	w.start()
	writes.WaitForBackoff(m0)
	message := user.Condition(infra, faultlinev1.QuorumProtectedCondition, faultlinev1.ReasonAnnotationsRemoved)
	w.Expect(message).To(ContainSubstring("does not store the annotation " + faultlinev1.QuorumHookAnnotation))
	w.Eventually(w.recorder.Events).Should(Receive(ContainSubstring(faultlinev1.ReasonAnnotationsRemoved)))
	keep()
	w.hooked("m0", "m1", "m2")
	w.protected(metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, "")
}

func TestHookThatAnotherClientRemoves(t *testing.T) {
	// This test must not run in parallel: objects of other tests trigger the controller.
	w := newFixture(t, 3, external)
	user := integration.User{T: t, G: w.WithT, Client: w.client}
	m0, infra := &clusterv1.Machine{ObjectMeta: w.meta("m0")}, &providertest.Cluster{ObjectMeta: w.meta("infra")}
	contention, config := user.Contention(apiServer, "")
	w.config = config
	w.start()
	w.hooked("m0", "m1", "m2")
	contention.Forget()
	stop := contention.Revert(integration.Marked{Object: m0, Mark: faultlinev1.QuorumHookAnnotation})
	contention.WaitForBackoff(m0)
	message := user.Condition(infra, faultlinev1.QuorumProtectedCondition, faultlinev1.ReasonAnnotationsRemoved)
	w.Expect(message).To(ContainSubstring("another client removes or changes the annotation " + faultlinev1.QuorumHookAnnotation))
	w.Eventually(w.recorder.Events).Should(Receive(ContainSubstring(faultlinev1.ReasonAnnotationsRemoved)))
	stop()
	w.hooked("m0", "m1", "m2") // The condition stays for ten minutes, in case the other client comes back.
}

func TestConflictingHookWritesBackOff(t *testing.T) {
	// This test must not run in parallel: objects of other tests trigger the controller.
	w := newFixture(t, 1, external)
	user := integration.User{T: t, G: w.WithT, Client: w.client}
	m0 := &clusterv1.Machine{ObjectMeta: w.meta("m0")}
	writes, config := user.Writes(apiServer)
	w.config = config
	writes.Conflict(m0)
	w.start()
	writes.WaitForBackoff(m0)
	writes.Conflict()
	w.hooked("m0")
}

func TestRestartContinuesWithWaitingMachine(t *testing.T) {
	t.Parallel()
	w := heldForEver(t)
	w.stop()
	w.delete("m2")
	w.setCondition("m1", clusterv1.MachineNodeReadyCondition, metav1.ConditionTrue, "Ready")
	w.start()
	w.hooked("m1", "m2")
	w.waitForMessage("m2", "Machine m0 is deleted first")
	w.stop()
	w.isDeleted("m0")
	w.start()
	w.waitForMessage("m2", "Of 3 members 1 would be healthy without it")
	w.machine("m3")
	w.hooked("m1", "m3")
}

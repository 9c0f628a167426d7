// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

// messageOf returns the message of a problem, or "".
func messageOf(problem *harvester.Problem) string {
	if problem == nil {
		return ""
	}
	return problem.Message
}

func TestDenialIsForgottenWithoutReaders(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connections.Silence = time.Second
	all := []string{"*"}
	everything := []rbacv1.PolicyRule{{APIGroups: all, Resources: all, Verbs: all}}
	w.identity(sim.KubeconfigFor(w.namespace, everything, w.namespace))
	who := w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(who)
	list := func(namespace string) error {
		return conn.List(t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(namespace))
	}
	missing := func() string { return messageOf(harvester.Denied(list("other"))) }
	named := And(ContainSubstring(`cannot list resource "virtualmachines"`), ContainSubstring(`namespace "other"`))
	w.Eventually(missing).Should(named)
	w.Expect(trouble(conn, "", "other")()).To(Equal(infrav1.HarvesterAccessDeniedReason))
	w.Expect(trouble(conn, "", w.namespace)()).To(BeEmpty(), "who uses nothing in that namespace lacks nothing")

	w.Eventually(func() error { return list(w.namespace) }).Should(Succeed())
	w.Expect(messageOf(conn.Stale())).To(BeEmpty(), "what it may see is as it is on Harvester")
	before := w.enqueued(who)
	w.Eventually(trouble(conn, "other")).Should(BeEmpty())
	w.Eventually(func() int { return w.enqueued(who) }).
		Should(BeNumerically(">", before), "who needs it still is given the time to say so, and hears that it is forgotten")
	w.Expect(list(w.namespace)).To(Succeed())

	w.Eventually(missing).Should(named, "it can be asked for again")
	sim.Grant(w.namespace, everything, "")
	w.Eventually(func() error { return list("other") }).Should(Succeed())
	w.Expect(trouble(conn, "other")()).To(BeEmpty())
}

func TestDenialIsKeptWhileRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connections.Silence = time.Second
	w.identity(sim.KubeconfigFor(w.namespace, nil, w.namespace))
	who := w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(who)
	missing := func() string {
		return messageOf(harvester.Denied(conn.List(t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(w.namespace))))
	}
	w.Eventually(missing).ShouldNot(BeEmpty())
	// An asker reads again only when it is enqueued, which must happen repeatedly.
	for range 2 {
		before := w.enqueued(who)
		w.Eventually(func() int { return w.enqueued(who) }).Should(BeNumerically(">", before))
		w.Expect(missing()).NotTo(BeEmpty(), "it is known all the time")
	}
}

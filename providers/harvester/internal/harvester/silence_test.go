// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

// These tests affect the whole Harvester and are therefore not parallel.

// watching returns a connection with a cache of the virtual machines of the fixture's namespace, and a short silence limit.
func (w *fixture) watching(who harvester.Requester) *harvester.Connection {
	w.t.Helper()
	w.connections.Silence = 2 * time.Second
	w.identity(sim.Kubeconfig())
	conn := w.waitForConnection(who)
	w.Eventually(func() error {
		return conn.List(w.t.Context(), &kubevirtv1.VirtualMachineList{}, client.InNamespace(w.namespace))
	}).Should(Succeed())
	return conn
}

func (w *fixture) fault(name string, on bool) {
	w.t.Helper()
	w.Expect(sim.SetFault(context.WithoutCancel(w.t.Context()), name, on)).To(Succeed())
}

func trouble(conn *harvester.Connection, namespaces ...string) func() string {
	return func() string {
		if problem := conn.Problem(namespaces...); problem != nil {
			return problem.Reason
		}
		return ""
	}
}

func TestStuckWatchIsReopened(t *testing.T) {
	w := newFixture(t)
	conn := w.watching(w.asker(harvester.Machine, "m"))
	w.fault("stuck-watches", true)
	vm := w.virtualMachine("m")
	w.Eventually(func(g Gomega) {
		g.Expect(trouble(conn)()).To(BeEmpty())
		g.Expect(conn.Get(t.Context(), client.ObjectKeyFromObject(vm), &kubevirtv1.VirtualMachine{})).To(Succeed())
	}).Should(Succeed())
}

// Bookmarks are sent every minute, too rarely for a test: here, an idle watch is checked.
func TestIdleWatchesEnqueueNothing(t *testing.T) {
	w := newFixture(t)
	who := w.asker(harvester.Machine, "m")
	conn := w.watching(who)
	before := w.settled(who)[0]
	sim.ForgetRequests()
	w.Eventually(func() int { return w.asked("watch", "virtualmachines") }).Should(BeNumerically(">=", 2), "it is reopened each time")
	w.Expect(trouble(conn)()).To(BeEmpty())
	w.Expect(w.asked("list", "virtualmachines")).To(BeZero(), "it continues at its resourceVersion")
	w.Expect(w.asked("watch", "nodes")).To(BeNumerically("<=", w.asked("watch", "virtualmachines")+1), "one test watch is enough for all")
	w.Expect(w.enqueued(who)).To(Equal(before))
}

// asked counts requests for a resource in the fixture's namespace, or cluster-scoped ones.
func (w *fixture) asked(verb, resource string) (count int) {
	for _, r := range sim.Requests() {
		if r.Verb == verb && r.Resource == resource && (r.Namespace == w.namespace || r.Namespace == "") {
			count++
		}
	}
	return count
}

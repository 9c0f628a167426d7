// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvester_test

import (
	"fmt"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
)

func TestSilentWatchesAreDetected(t *testing.T) {
	w := newFixture(t)
	who := w.asker(harvester.Machine, "m")
	conn := w.watching(who)
	w.fault("silent", true)
	t.Cleanup(func() { w.fault("silent", false) })
	before := w.enqueued(who)
	vm := w.virtualMachine("m")
	w.Eventually(trouble(conn)).Should(Equal(infrav1.HarvesterSilentReason))
	w.Expect(conn.Problem().Message).To(ContainSubstring("delivered nothing for 2s"))
	w.Eventually(func() int { return w.enqueued(who) }).Should(BeNumerically(">", before), "who uses the connection hears of it")
	known := &kubevirtv1.VirtualMachine{}
	w.Expect(conn.Get(t.Context(), client.ObjectKeyFromObject(vm), known)).To(MatchError(apierrors.IsNotFound, "is not known"))
	w.Consistently(trouble(conn), "3s").Should(Equal(infrav1.HarvesterSilentReason), "as long as they bring nothing")

	w.fault("silent", false)
	w.Eventually(trouble(conn)).Should(BeEmpty())
	w.Expect(conn.Get(t.Context(), client.ObjectKeyFromObject(vm), known)).To(Succeed())
}

func TestDeletedClustersLeaveNoWatchAndNoGoroutine(t *testing.T) {
	w, fake := timed(t)
	w.identity(sim.Kubeconfig())
	stays := w.asker(harvester.Machine, "stays")
	conn := w.waitForConnection(stays)
	w.uses(conn, w.namespace)
	w.Eventually(watches).Should(Equal(4))
	goroutines := w.goroutines()

	for i := range comers {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, i)}}
		w.Expect(w.client.Create(t.Context(), namespace)).To(Succeed())
		target, who := w.target, w.asker(harvester.Cluster, namespace.Name)
		target.Namespace = namespace.Name
		_, problem := w.connections.Get(t.Context(), target, who)
		w.Expect(problem).To(BeZero())
		w.uses(conn, namespace.Name)
		w.connections.Forget(who)
		w.Expect(w.client.Delete(t.Context(), namespace)).To(Succeed())
	}
	w.Eventually(watches).Should(Equal(4 * (comers + 1)))
	w.Expect(runtime.NumGoroutine()).To(BeNumerically(">", goroutines+others))

	w.Eventually(func() int {
		fake.Step(long)
		return watches()
	}).Should(Equal(4), "those of the cluster that stays, however long nothing is asked of it")
	w.Eventually(runtime.NumGoroutine).Should(BeNumerically("<=", goroutines+others))
	before := w.enqueued(stays)
	w.virtualMachine("stays")
	w.Eventually(func() int { return w.enqueued(stays) }).Should(BeNumerically(">", before))
	w.uses(conn, w.namespace+"-0")
	w.Eventually(watches).Should(Equal(8), "a namespace can be used again")
}

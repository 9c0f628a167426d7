// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	netattv1 "github.com/faultline-io/faultline/providers/harvester/api/network/v1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// These tests count resources of the whole process and are therefore not parallel.

const (
	comers = 30
	// others is the number of goroutines of connections to the API server that may come and go. One informer has more than ten.
	others = 20
	// long is the time after which an unused informer is stopped, soon the time after which that of a deleted cluster is.
	long, soon = 10 * time.Minute, time.Minute
)

// timed returns a fixture with a fake clock.
func timed(t *testing.T) (*fixture, *clocktesting.FakeClock) {
	t.Helper()
	w := newFixture(t)
	fake := clocktesting.NewFakeClock(time.Now())
	w.connections.Clock = fake
	return w, fake
}

// uses reads everything that a cluster reads in its target namespace.
func (w *fixture) uses(conn *harvester.Connection, namespace string) {
	w.t.Helper()
	for _, list := range []client.ObjectList{
		&kubevirtv1.VirtualMachineList{}, &kubevirtv1.VirtualMachineInstanceList{}, &corev1.ServiceList{}, &lbv1.LoadBalancerList{},
	} {
		w.Eventually(func() error { return conn.List(w.t.Context(), list, client.InNamespace(namespace)) }).Should(Succeed())
	}
}

// goroutines returns their number once it is stable: the simulator may still be starting.
func (w *fixture) goroutines() (count int) {
	w.t.Helper()
	w.Eventually(func() bool {
		before := count
		count = runtime.NumGoroutine()
		return count == before
	}).WithPolling(2 * time.Second).Should(BeTrue())
	return count
}

// watches returns the number of open watches in namespaces.
func watches() int {
	return len(slices.DeleteFunc(sim.Watches(), func(r simulator.Request) bool { return r.Namespace == "" }))
}

func TestWatchesEndSoonAfterTheLastAskerOfTheirNamespaceIsDeleted(t *testing.T) {
	w, fake := timed(t)
	w.identity(sim.Kubeconfig())
	elsewhere := w.target
	elsewhere.Namespace = w.namespace + "-other"
	w.Expect(w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere.Namespace}})).To(Succeed())
	cluster, machine := w.asker(harvester.Cluster, "c"), w.asker(harvester.Machine, "m")
	conn := w.waitForConnection(w.asker(harvester.Machine, "stays"))
	for _, who := range []harvester.Requester{cluster, machine} {
		_, problem := w.connections.Get(t.Context(), elsewhere, who)
		w.Expect(problem).To(BeZero())
	}
	w.uses(conn, w.namespace)
	w.uses(conn, elsewhere.Namespace)
	w.Eventually(watches).Should(Equal(8))

	w.connections.Forget(machine)
	fake.Step(soon)
	w.Consistently(watches).Should(Equal(8), "the cluster still uses them")
	w.connections.Forget(cluster)
	w.uses(conn, elsewhere.Namespace)
	fake.Step(soon)
	w.Consistently(watches).Should(Equal(8), "they were read in the meantime")
	_, problem := w.connections.Get(t.Context(), elsewhere, cluster)
	w.Expect(problem).To(BeZero())
	w.connections.Forget(cluster)
	fake.Step(soon)
	w.Eventually(watches).Should(Equal(4))
}

func TestUnusedDeniedNamespacesLeaveNoWatch(t *testing.T) {
	w, fake := timed(t)
	w.identity(sim.KubeconfigFor(w.namespace, nil, w.namespace))
	conn := w.waitForConnection(w.asker(harvester.Machine, "m"))
	goroutines := w.goroutines()
	missing := func(i int) func() string {
		return func() string {
			vms := &kubevirtv1.VirtualMachineList{}
			return messageOf(harvester.Denied(conn.List(t.Context(), vms, client.InNamespace(fmt.Sprintf("not-mine-%d", i)))))
		}
	}
	for i := range comers {
		w.Eventually(missing(i)).Should(ContainSubstring("cannot list resource"))
	}
	w.Eventually(func() int {
		fake.Step(long)
		return runtime.NumGoroutine()
	}).Should(BeNumerically("<=", goroutines+others))
	w.Expect(trouble(conn, "not-mine-0")()).To(BeEmpty())
	w.Eventually(missing(0)).Should(ContainSubstring("cannot list resource"), "it can be asked for again")
}

func TestReferencedNamespacesAreCachedAndNotWatched(t *testing.T) {
	w, fake := timed(t)
	w.identity(sim.Kubeconfig())
	conn := w.waitForConnection(w.asker(harvester.Machine, "m"))
	image := &harvesterhciv1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "image-1"}}
	images := func(namespace string) int {
		list := &harvesterhciv1.VirtualMachineImageList{}
		w.Expect(conn.List(t.Context(), list, client.InNamespace(namespace))).To(Succeed())
		return len(list.Items)
	}
	w.Expect(images(w.namespace)).To(BeZero())
	w.Expect(w.client.Create(t.Context(), image)).To(Succeed())
	w.Expect(images(w.namespace)).To(BeZero(), "NotFound is cached briefly")
	fake.Step(5 * time.Second)
	w.Expect(images(w.namespace)).To(Equal(1))

	sim.ForgetRequests()
	for i := range 2 * comers {
		spelt := fmt.Sprintf("typo-%d", i%comers)
		w.Expect(images(spelt)).To(BeZero())
		for _, o := range []client.Object{&netattv1.NetworkAttachmentDefinition{}, &harvesterhciv1.KeyPair{}} {
			w.Expect(client.IgnoreNotFound(conn.Get(t.Context(), client.ObjectKey{Namespace: spelt, Name: "any"}, o))).To(Succeed())
		}
	}
	asked := slices.DeleteFunc(sim.Requests(), func(r simulator.Request) bool { return r.Namespace == "" })
	w.Expect(asked).To(HaveLen(3 * comers))
	w.Expect(watches()).To(BeZero())
}

func TestDeniedImageIsReported(t *testing.T) {
	w, fake := timed(t)
	w.identity(sim.KubeconfigFor(w.namespace, nil, w.namespace))
	conn := w.waitForConnection(w.asker(harvester.Machine, "m"))
	missing := func() string {
		return messageOf(harvester.Denied(conn.List(t.Context(), &harvesterhciv1.VirtualMachineImageList{}, client.InNamespace(w.namespace))))
	}
	for range 2 {
		w.Expect(missing()).To(ContainSubstring(`cannot list resource "virtualmachineimages"`))
		fake.Step(time.Second)
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package cluster

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/faultline-io/faultline/providers/harvester/simulator/internal/controllers"
)

func TestResetPolicy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	node := &corev1.Node{}
	node.Name, node.UID = "h", "1"
	now := time.Now()
	r := &resetPolicy{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(node).Build(), delay: controllers.Delays{}.UntilReset(), faults: controllers.NewFaultTable(),
		clock: controllers.NewClock(func() time.Time { return now }),
	}
	out := func() bool {
		_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)})
		g.Expect(err).NotTo(HaveOccurred())
		is := &corev1.Node{}
		g.Expect(r.client.Get(t.Context(), client.ObjectKeyFromObject(node), is)).To(Succeed())
		return OutOfService(is)
	}
	g.Expect(out()).To(BeFalse())
	now = now.Add(194 * time.Second)
	g.Expect(out()).To(BeFalse())
	r.faults.Set(controllers.NoReset, client.ObjectKey{}, true)
	now = now.Add(time.Hour)
	g.Expect(out()).To(BeFalse(), "the setting is disabled")
	r.faults.Set(controllers.NoReset, client.ObjectKey{}, false)
	g.Expect(out()).To(BeFalse(), "the delay starts again")
	now = now.Add(195 * time.Second)
	g.Expect(out()).To(BeTrue())
}

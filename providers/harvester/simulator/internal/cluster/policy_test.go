// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

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

func TestAHostThatDoesNotAnswerIsPutOutOfServiceAfterAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(corev1.AddToScheme(scheme)).To(Succeed())
	node := &corev1.Node{}
	node.Name, node.UID = "h", "1"
	now := time.Now()
	r := &policy{
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(node).Build(), takes: controllers.Delays{}.UntilReset(), troubles: controllers.NewTroubleTable(),
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
	r.troubles.Set(controllers.NoReset, client.ObjectKey{}, true)
	now = now.Add(time.Hour)
	g.Expect(out()).To(BeFalse(), "the setting is off")
	r.troubles.Set(controllers.NoReset, client.ObjectKey{}, false)
	g.Expect(out()).To(BeFalse(), "the time begins again")
	now = now.Add(195 * time.Second)
	g.Expect(out()).To(BeTrue())
}

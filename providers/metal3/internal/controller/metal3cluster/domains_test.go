// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3cluster

import (
	"context"
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/publish"
)

func TestHostsAreListedOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme, bmov1alpha1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	owner := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one", UID: "1"}}
	infra := &infrav1.Metal3Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "one",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "one", UID: "1"}},
	}}
	infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack-1", ControlPlane: ptr.To(true)}}
	host := &bmov1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "h", Labels: map[string]string{infrav1.FailureDomainLabel: "rakc-1"},
	}}
	lists := 0
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(owner, infra, host).WithStatusSubresource(infra).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, hosts := list.(*bmov1alpha1.BareMetalHostList); hosts {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	})
	metrics, err := distribution.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{
		Client: c, Provider: placement.Metal3{Client: c}, Recorder: recorder,
		Domains: &publish.Publisher{Client: c, Recorder: recorder, Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time), Metrics: metrics},
	}
	_, err = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists).To(Equal(1))
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
	g.Expect(infra.Status.Conditions).To(ContainElement(And(
		HaveField("Type", infrav1.Metal3ClusterFailureDomainsReadyCondition), HaveField("Message", ContainSubstring("rakc-1 (1)")))))
}

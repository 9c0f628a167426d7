// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package cluster

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestKubeVIPVersions(t *testing.T) {
	endpoints := func(ready bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lb", Labels: map[string]string{discoveryv1.LabelServiceName: "lb"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)}}},
		}
	}
	for name, c := range map[string]struct {
		eager     bool
		service   corev1.Service
		endpoints *discoveryv1.EndpointSlice
		want      bool
	}{
		"before 1.2":                   {eager: true, want: true},
		"without endpoints":            {},
		"with endpoints":               {endpoints: endpoints(true), want: true},
		"with endpoints not ready":     {endpoints: endpoints(false)},
		"annotated":                    {service: annotated(corev1.ServiceExternalTrafficPolicyCluster), want: true},
		"annotated, for local traffic": {service: annotated(corev1.ServiceExternalTrafficPolicyLocal)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			builder := fake.NewClientBuilder()
			if c.endpoints != nil {
				builder.WithObjects(c.endpoints)
			}
			c.service.Namespace, c.service.Name = "ns", "lb"
			handles, err := (&vips{client: builder.Build(), eager: c.eager}).handles(t.Context(), &c.service)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(handles).To(Equal(c.want))
		})
	}
}

func annotated(policy corev1.ServiceExternalTrafficPolicy) corev1.Service {
	return corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{vipEager: "true"}},
		Spec:       corev1.ServiceSpec{ExternalTrafficPolicy: policy},
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestMachinesByDomain(t *testing.T) {
	g := NewWithT(t)
	machine := func(namespace, name, cluster, domain, assigned string) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}}
		m.Spec.FailureDomain = domain
		if assigned != "" {
			m.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: assigned}
		}
		return m
	}
	former := machine("a", "former", "c", "", "rack-2")
	former.Annotations = map[string]string{faultlinev1.FormerName(faultlinev1.AssignedFailureDomainAnnotation): "rack-2"}
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		former, machine("a", "named", "c", "rack-1", ""), machine("a", "both", "c", "rack-1", "rack-1"), machine("a", "assigned", "c", "", "rack-2"),
		machine("a", "nowhere", "c", "", ""), machine("a", "other-cluster", "d", "rack-1", ""), machine("b", "other-namespace", "c", "rack-1", ""),
	).Build()
	got, err := MachinesByDomain(t.Context(), reader, &clusterv1.MachineList{}, client.ObjectKey{Namespace: "a", Name: "c"}, func(o client.Object) []string {
		return []string{o.(*clusterv1.Machine).Spec.FailureDomain}
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(map[string][]string{"rack-1": {"both", "named"}, "rack-2": {"assigned", "former"}}))
}

func TestClusterName(t *testing.T) {
	g := NewWithT(t)
	cluster := &clusterv1.Cluster{}
	g.Expect(ClusterName(cluster)).To(BeEmpty())
	cluster.Labels = map[string]string{clusterv1.ClusterNameLabel: "label"}
	g.Expect(ClusterName(cluster)).To(Equal("label"))
	cluster.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Cluster", Name: "other"},
		{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Cluster", Name: "owner"},
	}
	g.Expect(ClusterName(cluster)).To(Equal("owner"))
}

func TestIsTopologyDryRun(t *testing.T) {
	for name, tc := range map[string]struct{ dryRun, annotated, want bool }{
		"dry run of the topology controller": {true, true, true},
		"dry run of another client":          {true, false, false},
		"annotation without a dry run":       {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &clusterv1.Machine{}
			if tc.annotated {
				object.Annotations = map[string]string{clusterv1.TopologyDryRunAnnotation: ""}
			}
			ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: &tc.dryRun}})
			g.Expect(IsTopologyDryRun(ctx, object)).To(Equal(tc.want))
		})
	}
	_, err := IsTopologyDryRun(t.Context(), &clusterv1.Machine{})
	NewWithT(t).Expect(err).To(HaveOccurred(), "outside of a request")
}

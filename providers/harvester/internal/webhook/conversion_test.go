// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/conversion"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestConversionIsLossless(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	t.Run("HarvesterCluster", rulestest.Lossless(scheme, v1alpha1Annotation, clusterFromHub, clusterToHub, normal()...))
	t.Run("HarvesterClusterTemplate", rulestest.Lossless(scheme, v1alpha1Annotation, clusterTemplateFromHub, clusterTemplateToHub, normal()...))
	t.Run("HarvesterMachine", rulestest.Lossless(scheme, v1alpha1Annotation, machineFromHub, machineToHub, normal()...))
	t.Run("HarvesterMachineTemplate", rulestest.Lossless(scheme, v1alpha1Annotation, machineTemplateFromHub, machineTemplateToHub, normal()...))
}

// normal excludes empty structs of the deprecated status, which conversion does not keep.
func normal() []any {
	return []any{
		func(status *infrav1.DeprecatedStatus, c randfill.Continue) {
			c.FillNoCustom(status)
			for status.V1Alpha1 == nil || *status.V1Alpha1 == (infrav1.V1Alpha1DeprecatedStatus{}) {
				status.V1Alpha1 = &infrav1.V1Alpha1DeprecatedStatus{FailureReason: c.String(0), FailureMessage: c.String(0)}
			}
		},
	}
}

func TestConversionPrefersWritesOfOlderClients(t *testing.T) {
	g := NewWithT(t)
	from, to := conversion.Lossless(v1alpha1Annotation, clusterFromHub, clusterToHub)
	stored := &infrav1.HarvesterCluster{Spec: infrav1.HarvesterClusterSpec{
		TargetNamespace: "workloads", FailureDomains: []infrav1.HarvesterFailureDomain{{Name: "zone-a"}},
	}}
	older := &v1alpha1.HarvesterCluster{}
	g.Expect(from(t.Context(), stored.DeepCopy(), older)).To(Succeed())
	older.Spec.Server = "https://10.20.0.5:6443"
	older.Spec.TargetNamespace = "other"
	got := &infrav1.HarvesterCluster{}
	g.Expect(to(t.Context(), older, got)).To(Succeed())
	g.Expect(got.Spec.Server).To(Equal("https://10.20.0.5:6443"))
	g.Expect(got.Spec.TargetNamespace).To(Equal("other"), "not what was kept")
	g.Expect(got.Spec.FailureDomains).To(Equal(stored.Spec.FailureDomains))
	g.Expect(got.Annotations).To(BeEmpty())
}

func TestConversionIgnoresInvalidAnnotation(t *testing.T) {
	_, to := conversion.Lossless(v1alpha1Annotation, clusterFromHub, clusterToHub)
	rulestest.SurvivesBadAnnotations(t, &infrav1.HarvesterCluster{Spec: infrav1.HarvesterClusterSpec{TargetNamespace: "workloads"}},
		func(annotations map[string]string) (*infrav1.HarvesterCluster, error) {
			got := &infrav1.HarvesterCluster{}
			err := to(t.Context(), &v1alpha1.HarvesterCluster{
				ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: v1alpha1.HarvesterClusterSpec{TargetNamespace: "workloads"},
			}, got)
			return got, err
		})
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// TestNothingIsLostBetweenVersions makes thousands of random objects of each
// kind and converts them there and back, both ways.
func TestNothingIsLostBetweenVersions(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	t.Run("HarvesterCluster", roundTrips(scheme, clusterFromHub, clusterToHub))
	t.Run("HarvesterClusterTemplate", roundTrips(scheme, clusterTemplateFromHub, clusterTemplateToHub))
	t.Run("HarvesterMachine", roundTrips(scheme, machineFromHub, machineToHub))
	t.Run("HarvesterMachineTemplate", roundTrips(scheme, machineTemplateFromHub, machineTemplateToHub))
	for name, constructor := range map[string]Constructor{
		"HarvesterCluster": Cluster(), "HarvesterClusterTemplate": ClusterTemplate(), "HarvesterMachine": Machine(), "HarvesterMachineTemplate": MachineTemplate(),
	} {
		_, err := constructor(scheme)
		g.Expect(err).NotTo(HaveOccurred(), name)
	}
}

func roundTrips[hub, spoke client.Object](scheme *runtime.Scheme, fromHub func(context.Context, hub, spoke) error,
	toHub func(context.Context, spoke, hub) error,
) func(*testing.T) {
	return utilconversion.SpokeConverterFuzzTestFunc(utilconversion.SpokeConverterFuzzTestFuncInput[hub, spoke]{
		Scheme: scheme, ConvertHubToSpokeFunc: fromHub, ConvertSpokeToHubFunc: toHub, FuzzerFuncs: []fuzzer.FuzzerFuncs{normal},
	})
}

// normal leaves out what says nothing: a struct for deprecated status that has none.
func normal(runtimeserializer.CodecFactory) []any {
	return []any{
		func(status *infrav1.DeprecatedStatus, c randfill.Continue) {
			c.FillNoCustom(status)
			for status.V1Alpha1 == nil || *status.V1Alpha1 == (infrav1.V1Alpha1DeprecatedStatus{}) {
				status.V1Alpha1 = &infrav1.V1Alpha1DeprecatedStatus{FailureReason: c.String(0), FailureMessage: c.String(0)}
			}
		},
	}
}

func TestWhatAnOlderClientWritesCountsBesideWhatWasKept(t *testing.T) {
	g := NewWithT(t)
	stored := &infrav1.HarvesterCluster{Spec: infrav1.HarvesterClusterSpec{
		TargetNamespace: "workloads", FailureDomains: []infrav1.HarvesterFailureDomain{{Name: "zone-a"}},
	}}
	older := &v1alpha1.HarvesterCluster{}
	g.Expect(clusterFromHub(t.Context(), stored.DeepCopy(), older)).To(Succeed())
	older.Spec.Server = "https://10.20.0.5:6443"
	older.Spec.TargetNamespace = "other"
	got := &infrav1.HarvesterCluster{}
	g.Expect(clusterToHub(t.Context(), older, got)).To(Succeed())
	g.Expect(got.Spec.Server).To(Equal("https://10.20.0.5:6443"))
	g.Expect(got.Spec.TargetNamespace).To(Equal("other"), "not what was kept")
	g.Expect(got.Spec.FailureDomains).To(Equal(stored.Spec.FailureDomains))
	g.Expect(got.Annotations).To(BeEmpty())

	older.Annotations = map[string]string{utilconversion.DataAnnotation: "{"}
	g.Expect(clusterToHub(t.Context(), older, got)).To(MatchError(ContainSubstring("reading what v1alpha1 does not have")))
}

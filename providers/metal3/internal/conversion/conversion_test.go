// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion/conversiontest"
)

// TestNothingIsLostBetweenVersions makes thousands of random objects of each
// kind and converts them there and back, both ways.
func TestNothingIsLostBetweenVersions(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	t.Run("Metal3Cluster", conversiontest.Lossless(scheme, KeptAnnotation, clusterFromHub, clusterToHub))
	t.Run("Metal3ClusterTemplate", conversiontest.Lossless(scheme, KeptAnnotation, clusterTemplateFromHub, clusterTemplateToHub))
	t.Run("Metal3Data", conversiontest.Lossless(scheme, KeptAnnotation, dataFromHub, dataToHub))
	t.Run("Metal3DataClaim", conversiontest.Lossless(scheme, KeptAnnotation, dataClaimFromHub, dataClaimToHub))
	t.Run("Metal3DataTemplate", conversiontest.Lossless(scheme, KeptAnnotation, dataTemplateFromHub, dataTemplateToHub))
	t.Run("Metal3Machine", conversiontest.Lossless(scheme, KeptAnnotation, machineFromHub, machineToHub))
	t.Run("Metal3MachineTemplate", conversiontest.Lossless(scheme, KeptAnnotation, machineTemplateFromHub, machineTemplateToHub))
	t.Run("Metal3Remediation", conversiontest.Lossless(scheme, KeptAnnotation, remediationFromHub, remediationToHub))
	t.Run("Metal3RemediationTemplate", conversiontest.Lossless(scheme, KeptAnnotation, remediationTemplateFromHub, remediationTemplateToHub))
}

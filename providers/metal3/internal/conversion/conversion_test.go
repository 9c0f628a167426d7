// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

// TestRoundTrip generates thousands of random objects of each kind and converts them in both directions and
// back.
func TestRoundTrip(t *testing.T) {
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	g.Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	t.Run("Metal3Cluster", rulestest.Lossless(scheme, KeptAnnotation, clusterFromHub, clusterToHub))
	t.Run("Metal3ClusterTemplate", rulestest.Lossless(scheme, KeptAnnotation, clusterTemplateFromHub, clusterTemplateToHub))
	t.Run("Metal3Data", rulestest.Lossless(scheme, KeptAnnotation, dataFromHub, dataToHub))
	t.Run("Metal3DataClaim", rulestest.Lossless(scheme, KeptAnnotation, dataClaimFromHub, dataClaimToHub))
	t.Run("Metal3DataTemplate", rulestest.Lossless(scheme, KeptAnnotation, dataTemplateFromHub, dataTemplateToHub))
	t.Run("Metal3Machine", rulestest.Lossless(scheme, KeptAnnotation, machineFromHub, machineToHub))
	t.Run("Metal3MachineTemplate", rulestest.Lossless(scheme, KeptAnnotation, machineTemplateFromHub, machineTemplateToHub))
	t.Run("Metal3Remediation", rulestest.Lossless(scheme, KeptAnnotation, remediationFromHub, remediationToHub))
	t.Run("Metal3RemediationTemplate", rulestest.Lossless(scheme, KeptAnnotation, remediationTemplateFromHub, remediationTemplateToHub))
}

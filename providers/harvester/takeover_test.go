// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/providers/harvester/internal/setup"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

func TestClusterctlUpgradesFromEveryReleaseOfUpstream(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile("metadata.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	metadata := &clusterctlv1.Metadata{}
	g.Expect(yaml.UnmarshalStrict(data, metadata)).To(Succeed())
	contracts := map[int32]string{}
	for _, series := range metadata.ReleaseSeries {
		if series.Major == 0 {
			contracts[series.Minor] = series.Contract
		}
	}
	g.Expect(contracts).To(HaveLen(10))
	for minor, contract := range contracts {
		want := "v1beta1"
		if minor >= 3 {
			want = "v1beta2"
		}
		g.Expect(contract).To(Equal(want), "0.%d", minor)
	}
	g.Expect(metadata.ReleaseSeries).To(ContainElement(clusterctlv1.ReleaseSeries{Major: 2, Minor: 0, Contract: "v1beta2"}))
}

// TestDeploymentCanBeAppliedOverUpstreams compares what the API server lets nobody change, and the lease by which one waits for the other.
func TestDeploymentCanBeAppliedOverUpstreams(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components.Manager.Namespace + "/" + components.Manager.Name).To(Equal("caphv-system/caphv-controller-manager"))
	g.Expect(components.Manager.Spec.Selector).To(Equal(&metav1.LabelSelector{MatchLabels: map[string]string{"control-plane": "controller-manager"}}))
	g.Expect(components.Manager.Spec.Template.Labels).To(And(
		HaveKeyWithValue("control-plane", "controller-manager"), HaveKeyWithValue("cluster.x-k8s.io/provider", "infrastructure-harvester")))
	g.Expect(provider(&manager.Options{}, setup.Options{}).LeaderElectionID).To(Equal("1e1658d6.cluster.x-k8s.io"))
}

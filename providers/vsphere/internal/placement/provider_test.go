// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/shared/distribution"
	shared "github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/status"
)

func TestClusterDomainsAreSelectedZones(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(infrav1.AddToScheme(scheme)).To(Succeed())
	zone := func(name, server string) *infrav1.VSphereDeploymentZone {
		z := &infrav1.VSphereDeploymentZone{ObjectMeta: metav1.ObjectMeta{Name: name}}
		z.Spec.Server, z.Status.Ready = server, ptr.To(true)
		return z
	}
	vsphere := placement.VSphere{Client: fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(zone("a", "vc1"), zone("b", "vc2")).Build()}
	cluster := vsphere.NewCluster().(*infrav1.VSphereCluster)
	cluster.Spec.Server = "vc1"
	g.Expect(vsphere.Domains(t.Context(), cluster)).To(BeEmpty(), "it selects none")
	cluster.Spec.FailureDomainSelector = &metav1.LabelSelector{}
	g.Expect(vsphere.Domains(t.Context(), cluster)).To(ConsistOf(
		And(HaveField("Name", "a"), HaveField("Health", distribution.Healthy), HaveField("ControlPlane", true))))
	_, err := vsphere.Domains(t.Context(), &providertest.Cluster{})
	g.Expect(err).To(HaveOccurred())
}

func TestMachineIsPlacedOnceZoneIsRecorded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*infrav1.VSphereMachine)
		want   shared.Location
	}{
		"new": {func(*infrav1.VSphereMachine) {}, shared.Location{}},
		"waiting": {func(m *infrav1.VSphereMachine) {
			status.False(m, infrav1.VSphereMachinePlacementReadyCondition, "Waits", "")
		}, shared.Location{}},
		"placed": {
			func(m *infrav1.VSphereMachine) {
				status.True(m, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachinePlacedReason)
			},
			shared.Location{Exists: true},
		},
		"moved here from another management cluster": {func(m *infrav1.VSphereMachine) { m.Spec.ProviderID = "vsphere://x" }, shared.Location{Exists: true}},
		"running": {
			func(m *infrav1.VSphereMachine) {
				m.Spec.ProviderID, m.Status.FailureDomain = "vsphere://x", ptr.To("a")
			},
			shared.Location{Domain: "a", Exists: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vsphere := placement.VSphere{}
			machine := vsphere.NewMachine().(*infrav1.VSphereMachine)
			tc.change(machine)
			NewWithT(t).Expect(vsphere.Location(machine)).To(Equal(tc.want))
		})
	}
}

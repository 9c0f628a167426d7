// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// zoneOn creates the zone of compute cluster zone-a on another vCenter than the cluster's, checked with an identity.
func (w *fixture) zoneOn(other *simulator.Server, letter string, identity *infrav1.VSphereClusterIdentity) *infrav1.VSphereDeploymentZone {
	w.t.Helper()
	topology := infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"}}
	return w.zone(letter, topology, func(z *infrav1.VSphereDeploymentZone, d *infrav1.VSphereFailureDomain) {
		z.Spec.Server, z.Spec.Thumbprint = other.Host(), other.Thumbprint()
		z.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: identity.Name}
		d.Spec.Zone.Name = "zone-a"
	})
}

// The cluster's account is valid for its own vCenter only; the zone's identity is for the other one.
func TestZoneOnOtherVCenterIsForWorkersOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	other := simulator.Start(t, simulator.ThreeZones(), simulator.WithCredentials("other", "word"))
	cluster := w.cluster("one")
	w.create(w.secret("of-other", "other", "word"))
	identity := w.identity("other", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { i.Spec.SecretName = "of-other" })
	zone := w.zoneOn(other, "far", identity)

	control := w.machine("one", "cp-0", zone.Name, controlPlane)
	worker := w.machine("one", "md-0", zone.Name)
	w.waitForProvisioned(worker)
	w.Expect(w.vms()).To(BeEmpty(), "of the cluster's own vCenter")
	made, _ := other.VM("md-0")
	w.Expect(made.Cluster).To(Equal("zone-a"))
	available := func() string {
		w.get(cluster)
		return conditions.GetMessage(cluster, infrav1.VSphereClusterVCenterAvailableCondition)
	}
	w.Eventually(available).Should(ContainSubstring(other.Host() + " (md-0)"))
	message := w.waitForCondition(control, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotReadyReason)
	w.Expect(message).To(ContainSubstring("control-plane machines must be on the server of their cluster"))
	w.remove(worker)
	_, there := other.VM("md-0")
	w.Expect(there).To(BeFalse())
	w.Eventually(available).Should(BeEmpty())
}

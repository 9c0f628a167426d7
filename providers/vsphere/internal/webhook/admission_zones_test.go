// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func newFailureDomain(name string) *infrav1.VSphereFailureDomain {
	return &infrav1.VSphereFailureDomain{ObjectMeta: clusterScoped(name), Spec: validFailureDomain()}
}

func newZone(name, failureDomain string) *infrav1.VSphereDeploymentZone {
	return &infrav1.VSphereDeploymentZone{ObjectMeta: clusterScoped(name), Spec: infrav1.VSphereDeploymentZoneSpec{
		Server: "vcenter.example.com", FailureDomain: failureDomain,
		PlacementConstraint: infrav1.PlacementConstraint{ResourcePool: "pool", Folder: "folder"},
	}}
}

// newMachine returns a Machine with the given infrastructure kind in a zone. Its finalizer delays its deletion.
func newMachine(name, zone, infrastructure string) *clusterv1.Machine {
	machine := &clusterv1.Machine{ObjectMeta: rulestest.Named(name), Spec: clusterv1.MachineSpec{
		ClusterName:   "cluster",
		FailureDomain: zone,
		Bootstrap:     clusterv1.Bootstrap{DataSecretName: ptr.To("bootstrap")},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: infrastructure, Name: name},
	}}
	machine.Finalizers = []string{"test.faultline.io/hold"}
	return machine
}

// release deletes a machine and removes its finalizer.
func release(t *testing.T, api *rulestest.APIServer, machine *clusterv1.Machine) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	g.Expect(api.Get(ctx, client.ObjectKeyFromObject(machine), machine)).To(Succeed())
	machine.Finalizers = nil
	g.Expect(api.Update(ctx, machine)).To(Succeed())
	g.Expect(client.IgnoreNotFound(api.Delete(ctx, machine))).To(Succeed())
	g.Expect(apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(machine), machine))).To(BeTrue())
}

func testFailureDomainAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	broken := newFailureDomain("domain")
	broken.Spec.Region.Type = infrav1.HostGroupFailureDomain
	rulestest.Rejected(g, api.Create(ctx, broken), "spec.region.type: Invalid value")
	broken = newFailureDomain("domain")
	broken.Spec.Topology.Hosts.VMGroupName = ""
	rulestest.Rejected(g, api.Create(ctx, broken), "spec.topology.hosts.vmGroupName: Required value")

	domain := newFailureDomain("domain")
	g.Expect(api.Create(ctx, domain)).To(Succeed())
	g.Expect(api.Create(ctx, newZone("domain-1", domain.Name))).To(Succeed())
	g.Expect(api.Create(ctx, newZone("domain-2", domain.Name))).To(Succeed())

	// A machine of another provider is in a failure domain of that provider, even if the name is the same.
	other := newMachine("domain-docker", "domain-2", "DockerMachine")
	g.Expect(api.Create(ctx, other)).To(Succeed())
	domain.Spec.Topology.Datastore = "ssd"
	g.Expect(api.Update(ctx, domain)).To(Succeed(), "without machines it may change")

	machine := newMachine("domain-machine", "domain-2", "VSphereMachine")
	g.Expect(api.Create(ctx, machine)).To(Succeed())
	edited := domain.DeepCopy()
	edited.Spec.Topology.Datastore, edited.Spec.Zone.Name = "nfs", "other"
	err := api.Update(ctx, edited)
	rulestest.Rejected(g, err, "spec.topology.datastore: Forbidden", "spec.zone.name: Forbidden")
	g.Expect(err).To(MatchError(ContainSubstring("Machine default/domain-machine is in the failure domain; move them to another failure domain first")))
	domain.Labels = map[string]string{"a": "b"}
	g.Expect(api.Update(ctx, domain)).To(Succeed(), "labels may always change")

	// A machine needs its zone until it is deleted.
	g.Expect(api.Delete(ctx, machine)).To(Succeed())
	edited.ResourceVersion = domain.ResourceVersion
	rulestest.Rejected(g, api.Update(ctx, edited.DeepCopy()), "spec.topology.datastore: Forbidden", "spec.zone.name: Forbidden")
	release(t, api, machine)
	g.Expect(api.Update(ctx, edited)).To(Succeed())

	again := newMachine("domain-again", "domain-2", "VSphereMachine")
	g.Expect(api.Create(ctx, again)).To(Succeed())
	err = api.Delete(ctx, edited)
	rulestest.Rejected(g, err, "metadata.name: Forbidden")
	g.Expect(err).To(MatchError(ContainSubstring("Machine default/domain-again is in the failure domain; delete its VSphereDeploymentZones domain-1, domain-2")))
	g.Expect(api.Delete(ctx, newZone("domain-1", ""))).To(Succeed())
	g.Expect(api.Delete(ctx, again)).To(Succeed())
	release(t, api, again)
	// The deletion order of upstream's manifests.
	g.Expect(api.Delete(ctx, edited)).To(Succeed())
	g.Expect(api.Delete(ctx, newZone("domain-2", ""))).To(Succeed())
}

func testZoneAdmission(t *testing.T, api *rulestest.APIServer) {
	t.Helper()
	g, ctx := NewWithT(t), t.Context()
	broken := newZone("zone", "zone-domain")
	broken.Spec.Server = "https://vcenter/ui"
	rulestest.Rejected(g, api.Create(ctx, broken), "spec.server: Invalid value")

	api.Warnings()
	zone := newZone("zone", "zone-domain")
	g.Expect(api.Create(ctx, zone)).To(Succeed())
	g.Expect(zone.Spec.ControlPlane).To(HaveValue(BeTrue()))
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix(`spec.failureDomain: VSphereFailureDomain "zone-domain" does not exist yet`)))
	workers := newZone("zone-workers", "zone-domain")
	workers.Spec.ControlPlane = ptr.To(false)
	g.Expect(api.Create(ctx, newFailureDomain("zone-domain"))).To(Succeed())
	g.Expect(api.Create(ctx, workers)).To(Succeed())
	g.Expect(workers.Spec.ControlPlane).To(HaveValue(BeFalse()), "a set value is kept")
	g.Expect(api.Warnings()).To(BeEmpty())

	zone.Spec.PlacementConstraint.Folder = "other"
	g.Expect(api.Update(ctx, zone)).To(Succeed(), "without machines it may change")

	var machines []*clusterv1.Machine
	for i := range 5 {
		machines = append(machines, newMachine(fmt.Sprintf("zone-%d", i), "zone", "VSphereMachine"))
		g.Expect(api.Create(ctx, machines[i])).To(Succeed())
	}
	edited := zone.DeepCopy()
	edited.Spec.Server, edited.Spec.FailureDomain, edited.Spec.PlacementConstraint.Folder = "elsewhere", "b", ""
	err := api.Update(ctx, edited)
	rulestest.Rejected(g, err, "spec.server: Forbidden", "spec.failureDomain: Forbidden", "spec.placementConstraint.folder: Forbidden")
	g.Expect(err).To(MatchError(ContainSubstring(
		"5 Machines (default/zone-0, default/zone-1, default/zone-2 and 2 more) are in the zone; move them to another failure domain first")))

	zone.Spec.ControlPlane = ptr.To(false)
	zone.Spec.IdentityRef = &infrav1.VSphereIdentityReference{Kind: infrav1.VSphereClusterIdentityKind, Name: "zones"}
	g.Expect(api.Update(ctx, zone)).To(Succeed(), "what does not move the zone may change")

	g.Expect(api.DeleteAllOf(ctx, &clusterv1.Machine{}, client.InNamespace(metav1.NamespaceDefault))).To(Succeed())
	edited.ResourceVersion = zone.ResourceVersion
	err = api.Update(ctx, edited.DeepCopy())
	g.Expect(err).To(MatchError(ContainSubstring("5 Machines")), "machines that are being deleted count")
	for _, machine := range machines {
		release(t, api, machine)
	}
	g.Expect(api.Update(ctx, edited)).To(Succeed())
	g.Expect(api.Warnings()).To(ConsistOf(HavePrefix(`spec.failureDomain: VSphereFailureDomain "b" does not exist yet`)))
}

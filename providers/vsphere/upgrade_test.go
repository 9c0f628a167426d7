// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/testenv"
)

// TestUpgradeFromUpstream applies the components over upstream's with kubectl: upstream's pod is still running while this
// manager starts, and objects are stored in v1beta1. A machine runs meanwhile. The manager is killed before it has the lease,
// right after it got the lease, and during the storage migration; the next one continues each time.
func TestUpgradeFromUpstream(t *testing.T) {
	g, ctx := integration.NewGomega(t), t.Context()
	components, err := testenv.Render(ctx, "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	env, c := startAPIServer(t, nil)
	components.InstallRights(t, c)
	upgrade := &upgrade{WithT: g, Client: c, env: env, components: components, vc: simulator.Start(t, simulator.ThreeZones())}
	machine := upgrade.runningMachine(t)

	lease := upgrade.leaseOf(t, "upstream")
	components.StoredIn(t, c, "v1beta1", "v1beta2")
	kill := upgrade.manager(t)
	identity := upgrade.createInV1beta1(t)
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(identity), identity)).To(Succeed())
	g.Expect(identity.Finalizers).To(BeEmpty(), "upstream's manager is at work")
	kill() // before it has the lease

	g.Expect(c.Delete(ctx, lease)).To(Succeed())
	kill = upgrade.manager(t)
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(HaveValue(Equal("upstream")))
	}).WithPolling(polling).Should(Succeed())
	kill() // right after it got the lease

	upgrade.expire(t, lease)
	kill = upgrade.manager(t)
	g.Eventually(func() (int, error) { return upgrade.migrated(ctx) }).WithPolling(polling).Should(BeNumerically(">", 0))
	kill() // during the migration

	upgrade.expire(t, lease)
	upgrade.manager(t)
	components.AwaitStoredIn(t, c, integration.Timeout, "v1beta2")
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(identity), identity)).To(Succeed())
		g.Expect(identity.Finalizers).NotTo(BeEmpty())
	}).Should(Succeed())
	upgrade.untouched(t, machine)
	g.Expect(c.Delete(ctx, machine)).To(Succeed())
	integration.NewUser(t, c).WaitForDeletion(machine)
	g.Expect(upgrade.vc.VMs()).To(BeEmpty())
}

// upgrade is an installation during the upgrade.
type upgrade struct {
	*WithT
	client.Client
	env        *envtest.Environment
	components *testenv.Components
	vc         *simulator.Server

	vm      simulator.VM
	written *infrav1.VSphereVM
}

// runningMachine creates a running machine with a manager that then stops, and that has not recorded that there is nothing to
// migrate.
func (u *upgrade) runningMachine(t *testing.T) *infrav1.VSphereMachine {
	t.Helper()
	kill := testenv.RunManager(t, u.env, u.components, "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields")
	identity := newIdentity(t, u.Client, u.vc, u.components.Manager.Namespace)
	zone := newZone(t, u.Client, u.vc)
	newCluster(t, u.Client, u.vc, identity)
	machine := newMachine(t, u.Client, zone.Name)
	u.Eventually(func(g Gomega) {
		g.Expect(u.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%v", machine.Status.Conditions)
	}).Should(Succeed())
	kill()
	u.vm, _ = u.vc.VM(machine.Name)
	u.Expect(u.vm.UUID).NotTo(BeEmpty())
	u.written = &infrav1.VSphereVM{}
	u.Expect(u.Get(t.Context(), client.ObjectKeyFromObject(machine), u.written)).To(Succeed())
	u.vc.ResetCalls()
	return machine
}

// untouched checks that a machine did not change.
func (u *upgrade) untouched(t *testing.T, machine *infrav1.VSphereMachine) {
	t.Helper()
	u.Eventually(u.vc.Calls).Should(HaveKey("CreateFilter"), "the manager has looked at vCenter")
	now, _ := u.vc.VM(machine.Name)
	u.Expect(now).To(Equal(u.vm))
	for call := range u.vc.Calls() {
		u.Expect(call).NotTo(HaveSuffix("_Task"), "vCenter has been asked for nothing")
	}
	vm := &infrav1.VSphereVM{}
	u.Expect(u.Get(t.Context(), client.ObjectKeyFromObject(machine), vm)).To(Succeed())
	u.Expect(vm.UID).To(Equal(u.written.UID))
	u.Expect(vm.Spec).To(Equal(u.written.Spec))
}

// leaseOf returns the lease that both managers request.
func (u *upgrade) leaseOf(t *testing.T, holder string) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "capv-controller-manager-runtime", Namespace: u.components.Manager.Namespace},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
	u.Expect(u.Create(t.Context(), lease)).To(Succeed())
	return lease
}

// expire deletes the lease of a killed manager, which would expire after 15 seconds.
func (u *upgrade) expire(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	u.Expect(u.Delete(t.Context(), lease)).To(Succeed())
}

// manager runs a manager that requests the lease.
func (u *upgrade) manager(t *testing.T) (kill func()) {
	t.Helper()
	return testenv.RunManager(t, u.env, u.components, append(strings.Fields("--leader-elect=true --leader-elect-retry-period=100ms"),
		"--feature-gates=PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=true", "--pod-name=capv-controller-manager")...)
}

// migrated returns the number of CRDs whose objects are all stored in v1beta2.
func (u *upgrade) migrated(ctx context.Context) (count int, err error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := u.List(ctx, crds); err != nil {
		return 0, err
	}
	for i := range crds.Items {
		ours := strings.HasPrefix(crds.Items[i].Spec.Names.Kind, "VSphere")
		if ours && slices.Equal(crds.Items[i].Status.StoredVersions, []string{"v1beta2"}) {
			count++
		}
	}
	return count, nil
}

// createInV1beta1 creates objects of several kinds once the webhooks are served. Only the identity gets a finalizer.
func (u *upgrade) createInV1beta1(t *testing.T) *v1beta1.VSphereClusterIdentity {
	t.Helper()
	identity := &v1beta1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "older"}, Spec: v1beta1.VSphereClusterIdentitySpec{SecretName: "missing"}}
	u.Eventually(func() error { return u.Create(t.Context(), identity) }).Should(Succeed(), "it serves webhooks, and converts")
	for _, object := range []client.Object{
		&v1beta1.VSphereMachineTemplate{ObjectMeta: metav1.ObjectMeta{Name: "older", Namespace: namespace}, Spec: v1beta1.VSphereMachineTemplateSpec{
			Template: v1beta1.VSphereMachineTemplateResource{Spec: v1beta1.VSphereMachineSpec{VirtualMachineCloneSpec: v1beta1.VirtualMachineCloneSpec{
				Template: "t", Network: v1beta1.NetworkSpec{Devices: []v1beta1.NetworkDeviceSpec{{NetworkName: "n", DHCP4: ptr.To(true), DHCP6: ptr.To(false)}}},
			}}},
		}},
		&v1beta1.VSphereClusterTemplate{ObjectMeta: metav1.ObjectMeta{Name: "older", Namespace: namespace}, Spec: v1beta1.VSphereClusterTemplateSpec{
			Template: v1beta1.VSphereClusterTemplateResource{Spec: v1beta1.VSphereClusterSpec{Server: "vc"}},
		}},
		&v1beta1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: "older"}, Spec: v1beta1.VSphereFailureDomainSpec{
			Region:   v1beta1.FailureDomain{Name: "r", Type: infrav1.DatacenterFailureDomain, TagCategory: "region"},
			Zone:     v1beta1.FailureDomain{Name: "z", Type: infrav1.ComputeClusterFailureDomain, TagCategory: "zone"},
			Topology: v1beta1.Topology{Datacenter: "dc", ComputeCluster: ptr.To("c")},
		}},
	} {
		u.Expect(u.Create(t.Context(), object)).To(Succeed())
	}
	return identity
}

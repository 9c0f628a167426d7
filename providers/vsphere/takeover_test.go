// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/providers/vsphere/validation"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
	"github.com/faultline-io/faultline/shared/testworld"
)

// upstreamArgs are the flags of upstream's manager with their defaults, and what its Deployment gives.
const upstreamArgs = `--leader-election-id=capv-controller-manager-runtime --clustercache-concurrency=100 --vspherecluster-concurrency=50
--vspheremachine-concurrency=100 --vspheremachinetemplate-concurrency=10 --providerserviceaccount-concurrency=50 --servicediscovery-concurrency=50
--vspherevm-concurrency=100 --vsphereclusteridentity-concurrency=10 --vspheredeploymentzone-concurrency=10 --virtualmachinegroup-concurrency=50
--pod-name=capv-controller-manager --credentials-file=/etc/capv/credentials.yaml --network-provider= --vm-operator-api-version=v1alpha5
--leader-elect=true --leader-elect-lease-duration=15s --leader-elect-renew-deadline=10s --leader-elect-retry-period=2s --namespace= --watch-filter=
--profiler-address= --contention-profiling=false --skip-crd-migration-phases= --sync-period=10m --kube-api-qps=100 --kube-api-burst=200
--clustercache-client-qps=20 --clustercache-client-burst=30 --webhook-port=9443 --webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs/
--webhook-cert-name=tls.crt --webhook-key-name=tls.key --health-addr=:9440 --diagnostics-address=:8443 --insecure-diagnostics=false
--feature-gates=PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=false --logging-format=text --v=4 --tls-min-version=VersionTLS12 --kubeconfig=`

// upstreamGates are what the Deployments of its releases 1.3 to 1.17 have given to --feature-gates, and what its managers know besides.
var upstreamGates = []string{
	"NodeAntiAffinity=false,NodeLabeling=true",
	"MultiNetworks=true,NodeAntiAffinity=true,NamespaceScopedZones=true,PriorityQueue=true",
	"MultiNetworks=false,NodeAntiAffinity=false,NamespaceScopedZones=false,NodeAutoPlacement=true,PriorityQueue=false",
	"PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=false",
	"ClusterNetworkProvider=true,InfrastructurePolicies=true,IPv6DualStack=true,VLANSubinterface=true,AllBeta=true,AllAlpha=true",
}

func TestEveryFlagOfUpstreamIsAccepted(t *testing.T) {
	for _, gates := range upstreamGates {
		opts, _ := parsed(t, append(strings.Fields(upstreamArgs), "--feature-gates="+gates))
		NewWithT(t).Expect(opts.Enabled(validation.NodeAntiAffinity)).To(Equal(
			strings.Contains(gates, "NodeAntiAffinity=true")), gates)
	}
}

// parsed returns what the manager makes of arguments.
func parsed(t *testing.T, args []string) (*manager.Options, *setup.Options) {
	t.Helper()
	fs, opts, controllers := pflag.NewFlagSet("manager", pflag.ContinueOnError), &manager.Options{}, &setup.Options{}
	opts.AddFlags(fs)
	addFlags(fs, controllers)
	ignoreFlags(fs, opts)
	NewWithT(t).Expect(fs.Parse(args)).To(Succeed())
	return opts, controllers
}

// TestVariablesOfUpstreamsComponentsReachTheManager fills in what clusterctl fills in. Those whose gates have no effect are not among them.
func TestVariablesOfUpstreamsComponentsReachTheManager(t *testing.T) {
	for name, tc := range map[string]struct {
		variables map[string]string
		want      []string
		modules   bool
	}{
		"defaults": {want: []string{"--feature-gates=NodeAntiAffinity=false", "--diagnostics-address=:8443", "--insecure-diagnostics=false"}},
		"set": {map[string]string{
			"EXP_NODE_ANTI_AFFINITY": "true", "CAPI_DIAGNOSTICS_ADDRESS": "localhost:8080", "CAPI_INSECURE_DIAGNOSTICS": "true",
			"VSPHERE_USERNAME": "user", "VSPHERE_PASSWORD": "secret",
		}, []string{"--feature-gates=NodeAntiAffinity=true", "--diagnostics-address=localhost:8080", "--insecure-diagnostics=true"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			components, err := testenv.Render(t.Context(), "config", tc.variables)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(components.Args()).To(ContainElements(tc.want))
			opts, _ := parsed(t, components.Args())
			g.Expect(opts.Enabled(validation.NodeAntiAffinity)).To(Equal(tc.modules))
		})
	}
}

// What clusterctl needs of metadata.yaml to offer an upgrade from a release is its series, with the contract that it was made for.
func TestMetadataHasEveryReleaseSeriesOfUpstream(t *testing.T) {
	testenv.CheckMetadata(t, testenv.Series{Major: 1, First: 0, Minors: 18, V1Beta2: 16})
}

// TestManagerInPlaceOfUpstreams is kubectl apply of the components over upstream's: its pod still runs while this one starts, and
// objects are stored in v1beta1. A machine runs meanwhile. The manager ends before it has the lease, when it has it, and amid the
// migration of what is stored; the one after it goes on.
func TestManagerInPlaceOfUpstreams(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.SetDefaultEventuallyTimeout(patience)
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
	kill() // when it has just got it

	upgrade.expire(t, lease)
	kill = upgrade.manager(t)
	g.Eventually(func() (int, error) { return upgrade.migrated(ctx) }).WithPolling(polling).Should(BeNumerically(">", 0))
	kill() // amid the migration

	upgrade.expire(t, lease)
	upgrade.manager(t)
	components.AwaitStoredIn(t, c, patience, "v1beta2")
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(identity), identity)).To(Succeed())
		g.Expect(identity.Finalizers).NotTo(BeEmpty())
	}).Should(Succeed())
	upgrade.untouched(t, machine)
	g.Expect(c.Delete(ctx, machine)).To(Succeed())
	testworld.NewUser(t, c, patience).Gone(machine)
	g.Expect(upgrade.vc.VMs()).To(BeEmpty())
}

// polling is short enough to see something while it is under way.
const polling = 10 * time.Millisecond

// upgrade is an installation that is being changed over.
type upgrade struct {
	*WithT
	client.Client
	env        *envtest.Environment
	components *testenv.Components
	vc         *simulator.Server

	vm      simulator.VM
	written *infrav1.VSphereVM
}

// runningMachine makes a machine, by a manager that is gone when it runs, and has not noted that there is nothing to migrate.
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

// untouched compares a machine with what it was before.
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

// leaseOf makes the lease that both managers ask for.
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

// expire takes the lease of a manager that was killed away, which would run out in 15 seconds.
func (u *upgrade) expire(t *testing.T, lease *coordinationv1.Lease) {
	t.Helper()
	u.Expect(u.Delete(t.Context(), lease)).To(Succeed())
}

// manager runs one that asks for the lease.
func (u *upgrade) manager(t *testing.T) (kill func()) {
	t.Helper()
	return testenv.RunManager(t, u.env, u.components, append(strings.Fields("--leader-elect=true --leader-elect-retry-period=100ms"),
		"--feature-gates=PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=true", "--pod-name=capv-controller-manager")...)
}

// migrated is the number of CRDs whose objects are all stored in v1beta2.
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

// createInV1beta1 makes objects of several kinds, as soon as webhooks are served. None but the identity gets a finalizer.
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

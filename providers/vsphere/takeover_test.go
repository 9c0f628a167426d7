// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/validation"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
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

func TestClusterctlUpgradesFromEveryReleaseOfUpstream(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile("metadata.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	metadata := &clusterctlv1.Metadata{}
	g.Expect(yaml.UnmarshalStrict(data, metadata)).To(Succeed())
	contracts := map[int32]string{}
	for _, series := range metadata.ReleaseSeries {
		if series.Major == 1 {
			contracts[series.Minor] = series.Contract
		}
	}
	g.Expect(contracts).To(HaveLen(18))
	for minor, contract := range contracts {
		want := "v1beta1"
		if minor >= 16 {
			want = "v1beta2"
		}
		g.Expect(contract).To(Equal(want), "1.%d", minor)
	}
	g.Expect(metadata.ReleaseSeries).To(ContainElement(clusterctlv1.ReleaseSeries{Major: 2, Minor: 0, Contract: "v1beta2"}))
}

// TestManagerInPlaceOfUpstreams is kubectl apply of the components over upstream's: its pod still runs while this one starts, and
// objects are stored in v1beta1.
func TestManagerInPlaceOfUpstreams(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.SetDefaultEventuallyTimeout(patience)
	components, err := testenv.Render(ctx, "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	for _, add := range provider(&manager.Options{}, setup.Options{}).Scheme {
		g.Expect(add(scheme)).To(Succeed())
	}
	env := testenv.Start(t, testenv.Options{Scheme: scheme, Config: "config", ClusterAPI: true, Webhooks: true, Conversion: true})
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	components.InstallRights(t, c)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "capv-controller-manager-runtime", Namespace: components.Manager.Namespace},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("upstream"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
	g.Expect(c.Create(ctx, lease)).To(Succeed())
	components.StoredIn(t, c, "v1beta1", "v1beta2")
	testenv.RunManager(t, env, components, append(strings.Fields("--leader-elect=true --leader-elect-retry-period=100ms"),
		"--feature-gates=PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=true", "--pod-name=capv-controller-manager")...)

	identity := &v1beta1.VSphereClusterIdentity{ObjectMeta: metav1.ObjectMeta{Name: "older"}, Spec: v1beta1.VSphereClusterIdentitySpec{SecretName: "missing"}}
	g.Eventually(func() error { return c.Create(ctx, identity) }).Should(Succeed(), "it serves webhooks, and converts")
	templates := []client.Object{
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
	}
	for _, template := range templates {
		g.Expect(c.Create(ctx, template)).To(Succeed())
	}
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(identity), identity)).To(Succeed())
	g.Expect(identity.Finalizers).To(BeEmpty(), "upstream's manager is at work")

	g.Expect(c.Delete(ctx, lease)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
		g.Expect(lease.Spec.HolderIdentity).NotTo(HaveValue(Equal("upstream")))
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(identity), identity)).To(Succeed())
		g.Expect(identity.Finalizers).NotTo(BeEmpty())
	}).Should(Succeed())
	components.AwaitStoredIn(t, c, patience, "v1beta2")
}

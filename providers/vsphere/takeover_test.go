// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/faultline-io/faultline/providers/vsphere/internal/setup"
	"github.com/faultline-io/faultline/providers/vsphere/validation"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// upstreamArgs are the flags of upstream's manager with their defaults, and those that its Deployment sets.
const upstreamArgs = `--leader-election-id=capv-controller-manager-runtime --clustercache-concurrency=100 --vspherecluster-concurrency=50
--vspheremachine-concurrency=100 --vspheremachinetemplate-concurrency=10 --providerserviceaccount-concurrency=50 --servicediscovery-concurrency=50
--vspherevm-concurrency=100 --vsphereclusteridentity-concurrency=10 --vspheredeploymentzone-concurrency=10 --virtualmachinegroup-concurrency=50
--pod-name=capv-controller-manager --credentials-file=/etc/capv/credentials.yaml --network-provider= --vm-operator-api-version=v1alpha5
--leader-elect=true --leader-elect-lease-duration=15s --leader-elect-renew-deadline=10s --leader-elect-retry-period=2s --namespace= --watch-filter=
--profiler-address= --contention-profiling=false --skip-crd-migration-phases= --sync-period=10m --kube-api-qps=100 --kube-api-burst=200
--clustercache-client-qps=20 --clustercache-client-burst=30 --webhook-port=9443 --webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs/
--webhook-cert-name=tls.crt --webhook-key-name=tls.key --health-addr=:9440 --diagnostics-address=:8443 --insecure-diagnostics=false
--feature-gates=PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=false --logging-format=text --v=4 --tls-min-version=VersionTLS12 --kubeconfig=`

// upstreamGates are the values of --feature-gates in the Deployments of upstream's releases 1.3 to 1.17, and the other gates of
// its managers.
var upstreamGates = []string{
	"NodeAntiAffinity=false,NodeLabeling=true",
	"MultiNetworks=true,NodeAntiAffinity=true,NamespaceScopedZones=true,PriorityQueue=true",
	"MultiNetworks=false,NodeAntiAffinity=false,NamespaceScopedZones=false,NodeAutoPlacement=true,PriorityQueue=false",
	"PriorityQueue=true,ReconcilerRateLimiting=true,NodeAntiAffinity=false",
	"ClusterNetworkProvider=true,InfrastructurePolicies=true,IPv6DualStack=true,VLANSubinterface=true,AllBeta=true,AllAlpha=true",
}

func TestUpstreamFlagsAreAccepted(t *testing.T) {
	for _, gates := range upstreamGates {
		opts, _ := parsed(t, append(strings.Fields(upstreamArgs), "--feature-gates="+gates))
		NewWithT(t).Expect(opts.Enabled(validation.NodeAntiAffinity)).To(Equal(
			strings.Contains(gates, "NodeAntiAffinity=true")), gates)
	}
}

// parsed returns the options for command-line arguments.
func parsed(t *testing.T, args []string) (*manager.Options, *setup.Options) {
	t.Helper()
	fs, opts, controllers := pflag.NewFlagSet("manager", pflag.ContinueOnError), &manager.Options{}, &setup.Options{}
	opts.AddFlags(fs)
	addFlags(fs, controllers)
	ignoreFlags(fs, opts)
	NewWithT(t).Expect(fs.Parse(args)).To(Succeed())
	return opts, controllers
}

// TestUpstreamVariablesReachManager replaces the variables that clusterctl replaces, except those of feature
// gates without effect.
func TestUpstreamVariablesReachManager(t *testing.T) {
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

// To offer an upgrade from a release, clusterctl needs its series in metadata.yaml, with the contract of that series.
func TestMetadataHasUpstreamReleaseSeries(t *testing.T) {
	testenv.CheckMetadata(t, testenv.Series{Major: 1, First: 0, Minors: 18, V1Beta2: 16})
}

// polling is short enough to observe intermediate states.
const polling = 10 * time.Millisecond

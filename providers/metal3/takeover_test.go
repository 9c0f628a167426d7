// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline-io/faultline/providers/metal3/internal/setup"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/testenv"
)

// upstreamArgs are the flags of upstream's manager, of this release and of older ones, with their defaults.
const upstreamArgs = `--leader-elect=false --leader-elect-lease-duration=15s --leader-elect-renew-deadline=10s --leader-elect-retry-period=2s
--enable-bmh-name-based-preallocation=false --namespace= --watch-filter= --sync-period=10m --clustercache-client-qps=20
--clustercache-client-burst=30 --webhook-port=9443 --webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs/ --health-addr=:9440
--metal3machine-concurrency=10 --metal3cluster-concurrency=10 --metal3datatemplate-concurrency=10 --metal3data-concurrency=10
--metal3labelsync-concurrency=10 --metal3machinetemplate-concurrency=10 --metal3remediation-concurrency=10 --kube-api-qps=20 --kube-api-burst=30
--skip-crd-migration-phases=StorageVersionMigration --diagnostics-address=:8443 --insecure-diagnostics=false --tls-min-version=VersionTLS12
--logging-format=text --v=2 --kubeconfig= --enableBMHNameBasedPreallocation=true --metrics-bind-addr=localhost:8080`

func TestUpstreamFlags(t *testing.T) {
	NewWithT(t).Expect(parsed(t, strings.Fields(upstreamArgs)).NameClaimsByHost).To(BeTrue(), "under its older name, too")
}

// parsed returns the options that the manager parses from arguments.
func parsed(t *testing.T, args []string) *setup.Options {
	t.Helper()
	fs, opts, controllers := pflag.NewFlagSet("manager", pflag.ContinueOnError), &manager.Options{}, &setup.Options{}
	opts.AddFlags(fs)
	addFlags(fs, controllers)
	ignoreFlags(fs, opts)
	NewWithT(t).Expect(fs.Parse(args)).To(Succeed())
	return controllers
}

// To offer an upgrade from a release, clusterctl needs its release series in metadata.yaml, with the contract of that series.
func TestMetadata(t *testing.T) {
	testenv.CheckMetadata(t, testenv.Series{Major: 1, First: 1, Minors: 14, V1Beta2: 13})
}

// TestDeploymentReplacesUpstreams compares the immutable fields.
func TestDeploymentReplacesUpstreams(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components.Manager.Namespace + "/" + components.Manager.Name).To(Equal("capm3-system/capm3-controller-manager"))
	selected := map[string]string{
		"cluster.x-k8s.io/provider": "infrastructure-metal3", "control-plane": "controller-manager", "controller-tools.k8s.io": "1.0",
	}
	g.Expect(components.Manager.Spec.Selector).To(Equal(&metav1.LabelSelector{MatchLabels: selected}))
	for label, value := range selected {
		g.Expect(components.Manager.Spec.Template.Labels).To(HaveKeyWithValue(label, value))
	}
}

// Upstream's Deployment does not enable leader election: its manager does not claim hosts next to ours only because its Pod ends
// first.
func TestUpstreamPodStopsFirst(t *testing.T) {
	g := NewWithT(t)
	components, err := testenv.Render(t.Context(), "config", nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(components.Manager.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)), "a second replica would run next to upstream's")
	strategy := components.Manager.Spec.Strategy.RollingUpdate
	g.Expect(strategy).NotTo(BeNil())
	g.Expect(strategy.MaxSurge).To(HaveValue(Equal(intstr.FromInt32(0))))
	g.Expect(strategy.MaxUnavailable).To(HaveValue(Equal(intstr.FromInt32(1))))
}

//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	capie2e "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
)

// Only the process that ran Up has the list of manager images, so these specs are serial.

var _ = Describe("A cluster that manages itself", Serial, Label(onlyBoot, notOn+"metal3", "self-hosted", long), func() {
	capie2e.SelfHostedSpec(background(), func() capie2e.SelfHostedSpecInput {
		return capie2e.SelfHostedSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              naming(installed(background()).Version), ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "self-hosted"), SkipCleanup: *keep,
			Flavor:      "topology", // The ClusterClass moves as well.
			SkipUpgrade: true,       // Only machines of one version of Kubernetes boot.
			PostNamespaceCreated: func(proxy framework.ClusterProxy, namespace string) {
				if proxy == management {
					namespaceCreated(proxy, namespace)
					return
				}
				loadManagerImages(background(), proxy)
			},
		}
	})
})

// naming returns the configuration with an explicit version of the provider. An earlier run may have upgraded the provider here: without
// a version, clusterctl installs the first one in the other cluster, and refuses to move to an older version.
func naming(version string) *clusterctl.E2EConfig {
	named := config.DeepCopy()
	for i := range named.Providers {
		if named.Providers[i].Name == *providerName {
			named.Providers[i].Name += ":" + version
		}
	}
	return named
}

// loadManagerImages prepares a cluster whose machines boot for running managers, because it cannot pull their images.
func loadManagerImages(ctx context.Context, proxy framework.ClusterProxy) {
	By("Loading the images of managers into the machines of " + proxy.GetName())
	others = append(others, proxy)
	DeferCleanup(func() { others = nil })
	nodes := &corev1.NodeList{}
	Expect(proxy.GetClient().List(ctx, nodes)).To(Succeed())
	var machines []string
	for i := range nodes.Items {
		machines = append(machines, nodes.Items[i].Name)
	}
	Expect(loadMachines(ctx, environment, machines...)).To(Succeed())
}

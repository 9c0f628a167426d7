//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	capie2e "sigs.k8s.io/cluster-api/test/e2e"
)

// Cluster API's own specs that need machines that boot: a bootstrap that can be delayed, and pods that can be drained.

var _ = Describe("Remediation of a control plane", Label(onlyBoot, notOn+"metal3", "kcp-remediation"), func() {
	capie2e.KCPRemediationSpec(background(), func() capie2e.KCPRemediationSpecInput {
		return capie2e.KCPRemediationSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "kcp-remediation"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
		}
	})
})

var _ = Describe("Draining nodes", Label(onlyBoot, notOn+"metal3", "node-drain"), func() {
	capie2e.NodeDrainTimeoutSpec(background(), func() capie2e.NodeDrainTimeoutSpecInput {
		return capie2e.NodeDrainTimeoutSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "node-drain"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
		}
	})
})

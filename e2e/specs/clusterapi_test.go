//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/utils/ptr"
	capie2e "sigs.k8s.io/cluster-api/test/e2e"
)

// Cluster API's own specs. They are independent of failure domains and must pass as well.

var _ = Describe("Quick start", Label("quick-start"), func() {
	capie2e.QuickStartSpec(background(), func() capie2e.QuickStartSpecInput { return quickStart("quick-start", nil) })
})

var _ = Describe("Quick start from a ClusterClass", Label("quick-start", "clusterclass"), func() {
	capie2e.QuickStartSpec(background(), func() capie2e.QuickStartSpecInput { return quickStart("clusterclass", ptr.To("topology")) })
})

func quickStart(name string, flavor *string) capie2e.QuickStartSpecInput {
	controlPlanes := int64(3)
	if !*fast {
		controlPlanes = 1
	}
	return capie2e.QuickStartSpecInput{
		InfrastructureProvider: providerName,
		E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
		ArtifactFolder: filepath.Join(*artifacts, name), SkipCleanup: *keep,
		Flavor: flavor, ControlPlaneMachineCount: &controlPlanes, WorkerMachineCount: ptr.To[int64](1),
		PostNamespaceCreated: namespaceCreated,
	}
}

var _ = Describe("Scaling a MachineDeployment", Label("md-scale", onlyFast), func() {
	capie2e.MachineDeploymentScaleSpec(background(), func() capie2e.MachineDeploymentScaleSpecInput {
		return capie2e.MachineDeploymentScaleSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "md-scale"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
		}
	})
})

var _ = Describe("Remediation of a MachineDeployment", Label("md-remediation", onlyFast), func() {
	capie2e.MachineDeploymentRemediationSpec(background(), func() capie2e.MachineDeploymentRemediationSpecInput {
		return capie2e.MachineDeploymentRemediationSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "md-remediation"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
		}
	})
})

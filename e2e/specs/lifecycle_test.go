//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capie2e "sigs.k8s.io/cluster-api/test/e2e"
)

// Cluster API's own specs of the life of a cluster: changes in place and by rollout, new versions of Kubernetes and of its ClusterClass,
// and deletion.
//
// Specs that need what in-memory clusters lack are in boot_*_test.go: KCPRemediationSpec needs machines that boot, NodeDrainTimeoutSpec
// pods that are scheduled, SelfHostedSpec and ClusterctlUpgradeSpec machines that run managers.

const rolloutFlavor = "md-rollout"

var _ = Describe("Rollout of a KubeadmControlPlane and a MachineDeployment", Label("rollout", onlyFast), func() {
	capie2e.KCPAndMachineDeploymentRolloutSpec(background(), func() capie2e.KCPAndMachineDeploymentRolloutSpecInput {
		return capie2e.KCPAndMachineDeploymentRolloutSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "md-rollout"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
			Flavor: rolloutFlavor,
		}
	})
})

var _ = Describe("Upgrade of Kubernetes", Label("upgrade", onlyFast, long), func() {
	capie2e.ClusterUpgradeConformanceSpec(background(), func() capie2e.ClusterUpgradeConformanceSpecInput {
		return capie2e.ClusterUpgradeConformanceSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "k8s-upgrade-and-conformance"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
			Flavor: ptr.To(""), ControlPlaneMachineCount: ptr.To[int64](3), WorkerMachineCount: ptr.To[int64](1),
			SkipConformanceTests: true, // There is nothing to test in an in-memory cluster.
		}
	})
})

var _ = Describe("Changes of a ClusterClass", Label("clusterclass-changes", onlyFast, long), func() {
	capie2e.ClusterClassChangesSpec(background(), func() capie2e.ClusterClassChangesSpecInput {
		return capie2e.ClusterClassChangesSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "clusterclass-changes"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
			Flavor:                   "topology",
			ModifyControlPlaneFields: map[string]any{"spec.kubeadmConfigSpec.verbosity": int64(4)},
			ModifyMachineDeploymentBootstrapConfigTemplateFields: map[string]any{"spec.template.spec.verbosity": int64(4)},
			// The ClusterClass sets the whole specification of machines.
			ModifyMachineDeploymentInfrastructureMachineTemplateFields: map[string]any{"spec.template.metadata.annotations.changed": "yes"},
		}
	})
})

var _ = Describe("Deletion of a cluster", Label("deletion", onlyFast), func() {
	capie2e.ClusterDeletionSpec(background(), func() capie2e.ClusterDeletionSpecInput {
		return capie2e.ClusterDeletionSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "cluster-deletion"), SkipCleanup: *keep, PostNamespaceCreated: namespaceCreated,
			ControlPlaneMachineCount: ptr.To[int64](3),
			// Workers are deleted before the control plane, and the infrastructure of the cluster last.
			ClusterDeletionPhases: []capie2e.ClusterDeletionPhase{
				phase("Machine", "MachineSet", "MachineDeployment", "MachineSet"),
				phase("Machine", "KubeadmControlPlane", "KubeadmControlPlane"),
				phase(infra.ClusterKind, "", infra.ClusterKind),
			},
		}
	})
})

// phase of a deletion: objects of some kinds are deleted, and those of the blocking kind if they have an owner of this kind.
func phase(blocks, owner string, kinds ...string) capie2e.ClusterDeletionPhase {
	return capie2e.ClusterDeletionPhase{
		ObjectFilter: func(object corev1.ObjectReference, owners []metav1.OwnerReference) bool {
			owned := slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.Kind == owner })
			return slices.Contains(kinds, object.Kind) || object.Kind == blocks && owned
		},
		BlockingObjectFilter: func(object corev1.ObjectReference, _ []metav1.OwnerReference) bool { return object.Kind == blocks },
	}
}

// withTaints adds the taints that the rollout spec expects on all machines to a cluster template.
func withTaints(template string) string {
	const taints = `      taints:
      - {key: pre-existing-always-taint, value: always-value, effect: PreferNoSchedule, propagation: Always}
      - {key: pre-existing-on-initialization-taint, value: on-initialization-value, effect: PreferNoSchedule, propagation: OnInitialization}
`
	for _, before := range []string{"  machineTemplate:\n    spec:\n", "      clusterName: ${CLUSTER_NAME}\n      version: ${KUBERNETES_VERSION}\n"} {
		Expect(template).To(ContainSubstring(before))
		template = strings.ReplaceAll(template, before, before+taints)
	}
	return template
}

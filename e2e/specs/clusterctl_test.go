//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/blang/semver/v4"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
)

var _ = Describe("clusterctl", Label("clusterctl"), func() {
	It("describes a cluster that is all right, and upgrades the provider under it", func(ctx SpecContext) {
		c := newCluster(ctx, "clusterctl", 3, 1)
		vc := connect(ctx)
		machines := vc.clusterOf(ctx, c.name)

		By("Describing the cluster")
		out := run(ctx, "describe", "cluster", c.name, "--namespace", c.namespace, "--show-conditions", "all", "--grouping=false", "--echo")
		AddReportEntry("clusterctl describe cluster", out)
		Expect(out).To(And(ContainSubstring("VSphereCluster "+c.namespace+"/"+c.name), ContainSubstring("FailureDomainsReady"), ContainSubstring("VirtualMachineProvisioned")))

		By("Upgrading the provider to its next version")
		next := nextVersion(ctx)
		clusterctl.UpgradeManagementClusterAndWait(ctx, clusterctl.UpgradeManagementClusterAndWaitInput{
			ClusterProxy: management, ClusterctlConfigPath: environment.ClusterctlConfig(),
			InfrastructureProviders: []string{fmt.Sprintf("%s/vsphere:%s", providerNamespace, next)},
			LogFolder:               filepath.Join(*artifacts, "clusterctl", "upgrade"),
		}, config.GetIntervals("clusterctl", "wait-controllers")...)
		Expect(installed(ctx).Version).To(Equal(next))

		By("Scaling with the new version")
		c.scale(ctx, 2)
		Eventually(func(g Gomega) { c.settled(ctx, g, 2) }, config.GetIntervals("clusterctl", "wait-worker-nodes")...).Should(Succeed())
		after := vc.clusterOf(ctx, c.name)
		Expect(after).To(HaveLen(len(machines) + 1))
		for name, place := range machines {
			Expect(after).To(HaveKeyWithValue(name, place), "no machine was replaced")
		}
	})
})

// run is for what the framework has no function for.
func run(ctx context.Context, args ...string) string {
	command := exec.CommandContext(ctx, environment.Program(binaries.Clusterctl), append(args, "--kubeconfig", environment.Kubeconfig())...)
	command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	out, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

func installed(ctx context.Context) *clusterctlv1.Provider {
	provider := &clusterctlv1.Provider{}
	Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: providerNamespace, Name: "infrastructure-vsphere"}, provider)).To(Succeed())
	return provider
}

// nextVersion puts a version into clusterctl's repository that follows the installed one. It is the same but for its name:
// what is tried is the upgrade.
func nextVersion(ctx context.Context) string {
	version, err := semver.ParseTolerant(installed(ctx).Version)
	Expect(err).NotTo(HaveOccurred())
	Expect(version.IncrementPatch()).To(Succeed())
	next := "v" + version.String()
	repository := filepath.Join(filepath.Dir(environment.ClusterctlConfig()), "infrastructure-vsphere")
	source := config.GetProviderVersions("vsphere")[0]
	Expect(os.RemoveAll(filepath.Join(repository, next))).To(Succeed())
	Expect(os.CopyFS(filepath.Join(repository, next), os.DirFS(filepath.Join(repository, source)))).To(Succeed())
	return next
}

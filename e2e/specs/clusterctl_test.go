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
	"github.com/faultline-io/faultline/e2e/kind"
)

var _ = Describe("clusterctl", Serial, Label("clusterctl", onlyFast), func() {
	It("describes a cluster that is all right, and upgrades the provider under it", func(ctx SpecContext) {
		c := newCluster(ctx, "clusterctl", 3, 1)
		machines := c.places(ctx)

		By("Describing the cluster")
		out := run(ctx, "describe", "cluster", c.name, "--namespace", c.namespace, "--show-conditions", "all", "--grouping=false", "--echo")
		AddReportEntry("clusterctl describe cluster", out)
		for _, object := range infra.Shown {
			Expect(out).To(ContainSubstring(object))
		}

		By("Upgrading the provider to its next version")
		next := nextVersion(ctx)
		clusterctl.UpgradeManagementClusterAndWait(ctx, clusterctl.UpgradeManagementClusterAndWaitInput{
			ClusterProxy: management, ClusterctlConfigPath: environment.ClusterctlConfig(),
			InfrastructureProviders: []string{fmt.Sprintf("%s/%s:%s", infra.Namespace, *providerName, next)},
			LogFolder:               filepath.Join(*artifacts, "clusterctl", "upgrade"),
		}, config.GetIntervals("clusterctl", "wait-controllers")...)
		Expect(installed(ctx).Version).To(Equal(next))

		By("Scaling with the new version")
		c.scale(ctx, 2)
		Eventually(func(g Gomega) { c.settled(ctx, g, 2) }, config.GetIntervals("clusterctl", "wait-worker-nodes")...).Should(Succeed())
		after := c.places(ctx)
		Expect(after).To(HaveLen(len(machines) + 1))
		for name, place := range machines {
			Expect(after).To(HaveKeyWithValue(name, place), "no machine was replaced")
		}
	})
})

// run runs a command for which the framework has no function.
func run(ctx context.Context, args ...string) string { return runIn(ctx, environment, args...) }

// runIn runs clusterctl in the management cluster of an environment.
func runIn(ctx context.Context, e *kind.Environment, args ...string) string {
	command := exec.CommandContext(ctx, e.Program(binaries.Clusterctl), append(args, "--kubeconfig", e.Kubeconfig())...)
	command.Env = append(os.Environ(), "CLUSTERCTL_DISABLE_VERSIONCHECK=true")
	out, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

func installed(ctx context.Context) *clusterctlv1.Provider {
	is := &clusterctlv1.Provider{}
	Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: infra.Namespace, Name: "infrastructure-" + *providerName}, is)).To(Succeed())
	return is
}

// nextVersion adds a version that follows the installed one to clusterctl's repository. It differs only in its name, because only the
// upgrade is tested.
func nextVersion(ctx context.Context) string {
	version, err := semver.ParseTolerant(installed(ctx).Version)
	Expect(err).NotTo(HaveOccurred())
	Expect(version.IncrementPatch()).To(Succeed())
	next := "v" + version.String()
	copyVersion(config.GetProviderVersions(*providerName)[0], next)
	return next
}

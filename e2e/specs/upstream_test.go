//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net/url"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/takeover"
	"github.com/faultline-io/faultline/e2e/workload"
)

var _ = Describe("An installation of upstream's provider", Serial, Label("upstream-upgrade", "vsphere", onlyFast, long), func() {
	It("is upgraded to ours by clusterctl, and its cluster keeps running", func(ctx SpecContext) {
		next := installed(ctx).Version
		specNamespace = takeover.Namespace
		other := newUpstream(ctx, *name+"-upstream")
		c := newTaken(ctx, other)
		at(other.proxy, func() {
			first := installed(ctx).Version
			Expect(first).To(HavePrefix("v1."))
			By("Creating a cluster with upstream's manager")
			Expect(c.Create(ctx)).To(Succeed())
			c.settles(ctx, takeover.Machines)
			before, err := c.State(ctx)
			Expect(err).NotTo(HaveOccurred())

			By("Planning the upgrade")
			plan := runIn(ctx, other.Environment, "upgrade", "plan", "--config", other.ClusterctlConfig())
			AddReportEntry("clusterctl upgrade plan", plan)
			Expect(plan).To(MatchRegexp(`infrastructure-vsphere +capv-system +InfrastructureProvider +%s +%s`, first, next))

			By("Upgrading")
			AddReportEntry("clusterctl upgrade apply", runIn(ctx, other.Environment, "upgrade", "apply",
				"--infrastructure", *providerName+":"+next, "--wait-providers", "--config", other.ClusterctlConfig()))
			Expect(installed(ctx).Version).To(Equal(next))
			c.until(ctx, c.Migrated)
			restartClusterAPI(ctx, other.Environment)
			c.settles(ctx, takeover.Machines)
			after, err := c.State(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(before.Differences(after)).To(BeEmpty())

			By("Removing what clusterctl has left of upstream's")
			Expect(traces(ctx)).To(ContainElements(leftOfUpstream()))
			for _, object := range leftOfUpstream() {
				kind, name, _ := strings.Cut(object, " ")
				kubectlIn(ctx, other.Environment, "delete", kind, name)
			}

			By("Scaling with ours")
			// Webhooks of a recently restarted manager may still be called at the old address.
			Eventually(c.ScaleUp, "1m", "1s").WithArguments(ctx).Should(Succeed())
			c.settles(ctx, takeover.Machines+1)
			after, err = c.State(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(before.Differences(after)).To(HaveLen(3), "a virtual machine, a VSphereVM and a Machine are new, and the others as they were")
			for _, difference := range before.Differences(after) {
				Expect(difference).To(HaveSuffix(" is new"))
			}

			By("Deleting")
			Expect(c.Delete(ctx)).To(Succeed())
			c.until(ctx, c.Gone)
			Expect(c.DeleteZones(ctx)).To(Succeed())
			c.until(ctx, c.ZonesGone)
			runIn(ctx, other.Environment, "delete", "--infrastructure", *providerName, "--include-crd", "--include-namespace")
			Eventually(func() []string { return traces(ctx) }, "3m", "1s").Should(BeEmpty())
		})
	})
})

// leftOfUpstream returns what clusterctl does not remove with upstream's provider. Of the cluster-scoped objects it only removes those
// whose names begin with the provider's namespace. The documentation requires the user to remove the rest.
func leftOfUpstream() []string {
	return []string{"ClusterRole capv-manager-role", "ClusterRole capv-aggregated-manager-role", "ClusterRoleBinding capv-manager-rolebinding"}
}

// restartClusterAPI does what the documentation requires after the change: see
// TestClusterAPIWatchesFirstVersionUntilRestart.
func restartClusterAPI(ctx context.Context, e *kind.Environment) {
	By("Restarting Cluster API's manager")
	manager := []string{"deployment/capi-controller-manager", "--namespace", "capi-system"}
	kubectlIn(ctx, e, append([]string{"rollout", "restart"}, manager...)...)
	kubectlIn(ctx, e, append([]string{"rollout", "status", "--timeout=3m"}, manager...)...)
}

func kubectlIn(ctx context.Context, e *kind.Environment, args ...string) {
	out, err := exec.CommandContext(ctx, e.Program(binaries.Kubectl), append(args, "--kubeconfig", e.Kubeconfig())...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// newUpstream creates a management cluster with upstream's provider instead of ours, until the end of the spec.
func newUpstream(ctx context.Context, name string) *managementCluster {
	By("Bringing up a management cluster with upstream's provider")
	other, err := kind.New(kind.Options{
		Name: name, Providers: []provider.KindProvider{infra.KindProvider}, Source: "auto", SimulatorOf: environment.Name, Upstream: true, Out: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	// An environment of an earlier run may have been upgraded.
	Expect(other.Down(ctx)).To(Succeed())
	return bringUp(ctx, "upstream", other)
}

// taken is the cluster that is taken over, on its own vCenter.
type taken struct{ takeover.Cluster }

func newTaken(ctx context.Context, in *managementCluster) taken {
	variables := in.Variables()
	host, err := gatewayOf(ctx, in.Environment)
	Expect(err).NotTo(HaveOccurred())
	vcenter, err := takeover.NewVCenter(ctx, host, url.UserPassword(variables["VSPHERE_USERNAME"], variables["VSPHERE_PASSWORD"]))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(vcenter.Close)
	running, stop := context.WithCancel(background())
	ended := make(chan error, 1)
	go func() { ended <- vcenter.Run(running) }()
	DeferCleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	workloads, stopWorkloads := simulate(ctx, in.Kubeconfig(), workload.Options{
		Host: host, PortRange: workload.PortRange{First: lastPort + 1, Last: lastPort + portsPerProcess},
	})
	DeferCleanup(stopWorkloads)
	return taken{takeover.Cluster{VCenter: vcenter, Managed: takeover.Managed{Client: in.proxy.GetClient(), Workload: workloads}}}
}

func (c taken) settles(ctx context.Context, machines int) {
	c.until(ctx, func(ctx context.Context) (string, error) { return c.Settled(ctx, machines) })
}

// until waits until nothing is missing.
func (taken) until(ctx context.Context, check func(context.Context) (missing string, err error)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		missing, err := check(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(missing).To(BeEmpty())
	}, config.GetIntervals("upstream-upgrade", "wait-control-plane")...).Should(Succeed())
}

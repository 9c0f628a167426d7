// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctl "sigs.k8s.io/cluster-api/cmd/clusterctl/client"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/site"
)

// The configuration that a quick start writes must make clusterctl install Faultline, from the registry that the page sets.
func TestQuickStartsConfigureClusterctl(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // no management cluster is contacted
	t.Setenv("VSPHERE_USERNAME", "user@example")
	t.Setenv("VSPHERE_PASSWORD", "none")
	folder := t.TempDir()
	const registry = "registry.example.com/team"
	made := release.Release{Release: docker.Release{Version: ourVersion, Registry: registry}, Root: repository, Out: filepath.Join(folder, "out")}
	_, err := made.Write()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, provider := range providers(t) {
		t.Run(provider, func(t *testing.T) {
			g := NewWithT(t)
			page := content(t, "docs/quick-start-"+provider+".md")
			g.Expect(page).To(ContainSubstring("REGISTRY="+registry+"\n"), "the page must set the registry")
			blocks, err := site.Blocks(page)
			g.Expect(err).NotTo(HaveOccurred())
			home := t.TempDir()
			for _, block := range blocks {
				if block.Use == site.Run && strings.Contains(block.Code, "> ~/.cluster-api/clusterctl.yaml") {
					command := exec.CommandContext(t.Context(), "bash", "-e")
					command.Stdin, command.Dir, command.Env = strings.NewReader(block.Code), folder, append(os.Environ(), "HOME="+home)
					out, err := command.CombinedOutput()
					g.Expect(err).NotTo(HaveOccurred(), string(out))
				}
			}
			client, err := clusterctl.New(context.WithoutCancel(t.Context()), filepath.Join(home, ".cluster-api", "clusterctl.yaml"))
			g.Expect(err).NotTo(HaveOccurred())
			components, err := client.GetProviderComponents(t.Context(), provider, clusterctlv1.InfrastructureProviderType, clusterctl.ComponentsOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(components.Images()).To(ConsistOf(registry + "/cluster-api-" + provider + "-controller:" + ourVersion))
			g.Expect(page).To(ContainSubstring(`docker push "$REGISTRY/cluster-api-`+provider+"-controller:"+ourVersion+"\"\n"), "the page must push that image")
		})
	}
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctl "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/shared/testenv"
)

// upstream are releases of the last minor versions of the providers that ours replaces. Each provider's own tests check the other
// releases in metadata.yaml.
var upstream = map[string][]string{
	"vsphere":   {"v1.14.0", "v1.15.3", "v1.16.1"},
	"metal3":    {"v1.11.6", "v1.12.7", "v1.13.2"},
	"harvester": {"v0.9.0", "v0.10.1"},
}

// Runs clusterctl's own planner in a management cluster in which clusterctl has recorded the installed providers.
func TestClusterctlUpgradesFromUpstreamMinors(t *testing.T) {
	t.Parallel()
	g, ctx := NewWithT(t), t.Context()
	env := testenv.Start(t, testenv.Options{ClusterAPI: true})
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, env.KubeConfig, 0o600)).To(Succeed())
	settings := releases(t, folder)
	_, version := clusterAPI(t)

	configuration, err := config.New(ctx, settings)
	g.Expect(err).NotTo(HaveOccurred())
	management := cluster.New(cluster.Kubeconfig{Path: kubeconfig}, configuration)
	g.Expect(management.ProviderInventory().EnsureCustomResourceDefinitions(ctx)).To(Succeed())
	installed := func(name, version string, kind clusterctlv1.ProviderType) {
		t.Helper()
		label := clusterctlv1.ManifestLabel(name, kind)
		g.Expect(management.ProviderInventory().Create(ctx, clusterctlv1.Provider{
			TypeMeta:     metav1.TypeMeta{APIVersion: clusterctlv1.GroupVersion.String(), Kind: "Provider"},
			ObjectMeta:   metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: label, Labels: map[string]string{clusterctlv1.ClusterctlLabel: ""}},
			ProviderName: name, Type: string(kind), Version: version,
		})).To(Succeed())
	}
	installed(config.ClusterAPIProviderName, version, clusterctlv1.CoreProviderType)

	planner, err := clusterctl.New(ctx, settings)
	g.Expect(err).NotTo(HaveOccurred())
	for provider, versions := range upstream {
		for _, from := range versions {
			installed(provider, from, clusterctlv1.InfrastructureProviderType)
			plans, err := planner.PlanUpgrade(ctx, clusterctl.PlanUpgradeOptions{Kubeconfig: clusterctl.Kubeconfig{Path: kubeconfig}})
			g.Expect(err).NotTo(HaveOccurred(), "%s %s", provider, from)
			g.Expect(planned(plans, provider)).To(Equal(ourVersion), "%s %s", provider, from)
		}
	}
}

// planned returns the version to which a provider would be upgraded.
func planned(plans []clusterctl.UpgradePlan, provider string) string {
	for _, plan := range plans {
		for _, item := range plan.Providers {
			if item.ProviderName == provider && plan.Contract == "v1beta2" {
				return item.NextVersion
			}
		}
	}
	return ""
}

// releases creates a repository of the newest releases, and clusterctl's configuration for it.
func releases(t *testing.T, folder string) (settings string) {
	t.Helper()
	source, version := clusterAPI(t)
	all := []release.Provider{{
		Name: config.ClusterAPIProviderName, Type: release.Core, Version: version,
		Config:   filepath.Join(source, binaries.CAPICoreFolder(version), "config", "default"),
		Metadata: filepath.Join(source, "metadata.yaml"),
	}}
	for _, name := range providers(t) {
		of := filepath.Join(repository, "providers", name)
		all = append(all, release.Provider{
			Name: name, Type: release.Infrastructure, Version: ourVersion,
			Config: filepath.Join(of, "config", "default"), Metadata: filepath.Join(of, "metadata.yaml"),
		})
	}
	r := release.Repository{Dir: folder, CAPIImages: version}
	NewWithT(t).Expect(r.Write(all, nil)).To(Succeed())
	return r.Config()
}

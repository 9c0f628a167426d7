//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	capie2e "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

var _ = Describe("Upgrade of a management cluster of machines", Serial, Label(onlyBoot, notOn+"metal3", "clusterctl-upgrade", long), func() {
	capie2e.ClusterctlUpgradeSpec(background(), func() capie2e.ClusterctlUpgradeSpecInput {
		GinkgoT().Setenv("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
		first := config.GetProviderVersions(*providerName)[0]
		next := fmt.Sprintf("%s/%s:%s", infra.Namespace, *providerName, passingVersion(background()))
		return capie2e.ClusterctlUpgradeSpecInput{
			InfrastructureProvider: providerName,
			E2EConfig:              config, ClusterctlConfigPath: environment.ClusterctlConfig(), BootstrapClusterProxy: management,
			ArtifactFolder: filepath.Join(*artifacts, "clusterctl-upgrade"), SkipCleanup: *keep,
			InitWithBinary:                  serveClusterctl(),
			InitWithKubernetesVersion:       config.MustGetVariable("KUBERNETES_VERSION"),
			InitWithInfrastructureProviders: []string{*providerName + ":" + first},
			Upgrades:                        []capie2e.ClusterctlUpgradeSpecInputUpgrade{{InfrastructureProviders: []string{next}}},
			PreInit:                         func(proxy framework.ClusterProxy) { loadManagerImages(background(), proxy) },
			PostNamespaceCreated: func(proxy framework.ClusterProxy, namespace string) {
				if proxy == management {
					namespaceCreated(proxy, namespace)
					return
				}
				endpoints.next()
				infra.prepare(background(), namespace)
				copyShared(background(), proxy)
			},
		}
	})
})

// passingVersion returns a next version of the provider that is removed after this spec, because clusterctl uses the latest one.
func passingVersion(ctx context.Context) string {
	next := nextVersion(ctx)
	DeferCleanup(func() { Expect(os.RemoveAll(filepath.Join(repositoryFolder(), next))).To(Succeed()) })
	return next
}

// serveClusterctl returns the address from which the framework downloads clusterctl.
func serveClusterctl() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, environment.Program(binaries.Clusterctl))
	}))
	DeferCleanup(server.Close)
	return server.URL
}

// copyShared also creates the objects that clusters share in another management cluster.
func copyShared(ctx context.Context, to framework.ClusterProxy) {
	for _, kind := range infra.Shared {
		for _, object := range list(ctx, Default, infrav1.GroupVersion.WithKind(kind)) {
			fresh := &unstructured.Unstructured{Object: map[string]any{"spec": object.Object["spec"]}}
			fresh.SetGroupVersionKind(object.GroupVersionKind())
			fresh.SetName(object.GetName())
			fresh.SetLabels(object.GetLabels())
			Eventually(func() error { // Its webhook may not respond yet.
				return client.IgnoreAlreadyExists(to.GetClient().Create(ctx, fresh.DeepCopy()))
			}, config.GetIntervals("clusterctl-upgrade", "wait-controllers")...).Should(Succeed())
		}
	}
}

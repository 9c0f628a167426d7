//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs runs Cluster API's own end-to-end specs and ours against the providers as they are installed in a kind
// cluster: images, RBAC, certificates and webhooks included.
package specs

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/kind"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

var (
	configPath = flag.String("e2e.config", "../config/vsphere.yaml", "end-to-end test configuration, in the format of Cluster API's test framework")
	artifacts  = flag.String("e2e.artifacts-folder", "../../out/e2e", "where logs and objects are written")
	fast       = flag.Bool("e2e.fast", false, "keep workload clusters in memory instead of booting machines")
	name       = flag.String("e2e.cluster", "faultline", "name of the kind cluster")
	keep       = flag.Bool("e2e.skip-resource-cleanup", false, "leave clusters as they are at the end of a spec")
)

// What the specs share.
var (
	config      *clusterctl.E2EConfig
	environment *kind.Environment
	management  framework.ClusterProxy
	endpoints   *controlPlanes
)

func TestSpecs(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(klog.Background())
	RunSpecs(t, "faultline-e2e")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	for _, path := range []*string{configPath, artifacts} {
		absolute, err := filepath.Abs(*path)
		Expect(err).NotTo(HaveOccurred())
		*path = absolute
	}
	Expect(os.MkdirAll(*artifacts, 0o755)).To(Succeed())

	Expect(*fast).To(BeTrue(), "no spec is for machines that boot: run the suite with -e2e.fast, as make e2e FAST=1 does")

	By("Bringing up the kind environment")
	var err error
	environment, err = kind.New(kind.Options{Name: *name, Providers: []string{"vsphere"}, Source: "auto", Out: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	Expect(environment.Up(ctx)).To(Succeed())

	config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	for name, value := range config.Variables {
		Expect(os.Setenv(name, value)).To(Succeed())
	}
	writeFlavors()
	management = framework.NewClusterProxy("management", environment.Kubeconfig(), scheme())
	DeferCleanup(func(ctx SpecContext) { management.Dispose(ctx) })

	endpoints, err = newControlPlanes(ctx, environment.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(endpoints.stop)
})

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	Expect(infrav1.AddToScheme(s)).To(Succeed())
	return s
}

// namespaceCreated is called by every spec before it writes its cluster template.
func namespaceCreated(framework.ClusterProxy, string) {
	endpoints.next()
	removeZones(background())
}

// removeZones takes away what the template of the spec before has left. Zones are in no namespace, and the framework cannot
// apply an object again that is in none.
func removeZones(ctx context.Context) {
	for _, kind := range []client.Object{&infrav1.VSphereDeploymentZone{}, &infrav1.VSphereFailureDomain{}} {
		Expect(management.GetClient().DeleteAllOf(ctx, kind)).To(Succeed())
	}
	Eventually(func(g Gomega) {
		domains := &infrav1.VSphereFailureDomainList{}
		g.Expect(management.GetClient().List(ctx, domains)).To(Succeed())
		g.Expect(domains.Items).To(BeEmpty())
	}, config.GetIntervals("default", "wait-failure-domain")...).Should(Succeed())
}

// background is for what outlives a spec.
func background() context.Context { return context.Background() }

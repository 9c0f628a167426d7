//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs runs Cluster API's own end-to-end specs and ours against the providers as installed in a kind cluster: including images,
// RBAC, certificates and webhooks.
package specs

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
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

	"github.com/faultline-io/faultline/e2e/kind"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/all"
)

var (
	providerName = flag.String("e2e.provider", provider.DefaultName, "Infrastructure provider to test.")
	configPath   = flag.String("e2e.config", "", "End-to-end test configuration, in the format of Cluster API's test framework. Defaults to ../provider/<provider>/specs.yaml.")
	artifacts    = flag.String("e2e.artifacts-folder", "../../out/e2e", "Directory for logs and objects.")
	fast         = flag.Bool("e2e.fast", false, "Keep workload clusters in memory instead of booting machines.")
	name         = flag.String("e2e.cluster", "faultline", "Name of the kind cluster.")
	keep         = flag.Bool("e2e.skip-resource-cleanup", false, "Keep clusters at the end of a spec.")
)

// State that the specs share.
var (
	config      *clusterctl.E2EConfig
	environment *kind.Environment
	management  framework.ClusterProxy
	infra       infrastructure
	endpoints   interface{ next() } // of control planes; next sets the endpoint of the cluster whose template is rendered next
)

// Labels that select where a spec runs; a spec without them runs everywhere.
const (
	onlyFast = "fast" // needs in-memory clusters, or learns nothing from machines that boot
	onlyBoot = "boot" // needs machines that boot
	long     = "long" // skipped by `make e2e` unless selected
	notOn    = "not-" // and the name of the provider that it is not for
	// demonstrated marks specs whose behavior is also tested by the demo, or by a package on a real API server; .ci/run runs those, and
	// skips the specs.
	demonstrated = "demonstrated"
)

func TestSpecs(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(klog.Background())
	suite, reporter := GinkgoConfiguration()
	if suite.DryRun {
		if err := checkChoice(suite, reporter); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
	}
	suite.LabelFilter = applicable(suite.LabelFilter)
	RunSpecs(t, "faultline-e2e "+*providerName, suite, reporter)
}

// applicable restricts a label filter to the specs for this provider and these machines.
func applicable(filter string) string {
	not := []string{onlyFast}
	if *fast {
		not = []string{onlyBoot}
	}
	not = append(not, notOn+*providerName)
	for _, other := range all.Names[provider.KindProvider]() {
		if other != *providerName {
			not = append(not, other)
		}
	}
	for _, label := range not {
		if filter != "" {
			filter = "(" + filter + ") && "
		}
		filter += "!" + label
	}
	return filter
}

// One process runs Up, all of them use the environment.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	configure()
	By("Bringing up the kind environment")
	Expect(environment.Up(ctx)).To(Succeed())
	connectToManagement(ctx)
	writeTemplates(ctx)
	if *fast {
		startControlPlanes(ctx)
	}
	variables, err := json.Marshal(environment.Variables())
	Expect(err).NotTo(HaveOccurred())
	return variables
}, func(ctx SpecContext, found []byte) {
	if GinkgoParallelProcess() > 1 {
		configure()
		variables := map[string]string{}
		Expect(json.Unmarshal(found, &variables)).To(Succeed())
		environment.Attach(variables)
		connectToManagement(ctx)
	}
	for name, value := range config.Variables {
		Expect(os.Setenv(name, value)).To(Succeed())
	}
	if !*fast {
		endpoints = newVirtualIPs()
		return
	}
	host, err := gatewayOf(ctx, environment)
	Expect(err).NotTo(HaveOccurred())
	endpoints = newEndpoints(host)
})

var _ = SynchronizedAfterSuite(func(ctx SpecContext) {
	if management != nil {
		management.Dispose(ctx)
	}
}, func() {
	if stopControlPlanes != nil {
		stopControlPlanes()
	}
})

// configure parses the flags.
func configure() {
	known, err := all.Named[provider.KindProvider](*providerName)
	Expect(err).NotTo(HaveOccurred(), "-e2e.provider")
	infra = infrastructureOf(known)
	if *configPath == "" {
		*configPath = filepath.Join("..", "provider", *providerName, "specs.yaml")
	}
	for _, path := range []*string{configPath, artifacts} {
		absolute, err := filepath.Abs(*path)
		Expect(err).NotTo(HaveOccurred())
		*path = absolute
	}
	Expect(os.MkdirAll(*artifacts, 0o755)).To(Succeed())

	environment, err = kind.New(kind.Options{Name: *name, Providers: []provider.KindProvider{infra.KindProvider}, Source: "auto", Boot: !*fast, Out: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
}

// connectToManagement also reads the configuration, because its files exist only once the environment is up.
func connectToManagement(ctx context.Context) {
	config = clusterctl.LoadE2EConfig(ctx, clusterctl.LoadE2EConfigInput{ConfigPath: *configPath})
	management = framework.NewClusterProxy("management", environment.Kubeconfig(), scheme())
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	Expect(infra.AddToScheme(s)).To(Succeed())
	return s
}

// namespaceCreated is called by every spec before it renders its cluster template.
func namespaceCreated(_ framework.ClusterProxy, namespace string) {
	specNamespace = namespace
	endpoints.next()
	infra.prepare(background(), namespace)
}

// background returns a context for what outlives a spec.
func background() context.Context { return context.Background() }

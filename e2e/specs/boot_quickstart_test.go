//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	releases "github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/site"
	"github.com/faultline-io/faultline/e2e/tool"
)

const (
	// blockTimeout bounds a block of a page. Timeouts on the page are for real infrastructure.
	blockTimeout = 25 * time.Minute
	// pageCluster is the cluster of the page, in namespace default.
	pageCluster = "demo"
)

var _ = Describe("The page of the quick start", Serial, Label("quick-start-page", onlyBoot, long), func() {
	It("leads from an empty management cluster to Ready Nodes, through the loss of a failure domain, to nothing", func(ctx SpecContext) {
		r := newReader(ctx)
		text, err := os.ReadFile(quickStartPage(*providerName))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(ContainSubstring("--lose "+infra.Domains[2]+"\n"), "the spec breaks this domain")
		blocks, err := site.Blocks(string(text))
		Expect(err).NotTo(HaveOccurred())
		for _, block := range blocks {
			r.follow(ctx, block)
		}
		for _, name := range []string{pageCluster, "default"} { // the name of the cluster, or its namespace
			Expect(infra.places(ctx, name)).To(BeEmpty(), "a cluster that is gone leaves no machine")
		}
	})
})

// readyNode matches a line of `kubectl get nodes`.
var readyNode = regexp.MustCompile(`(?m)^\S+ +Ready `)

// reader follows a page, with nothing but what a user has: a home, the programs in the prerequisites, and a shell.
type reader struct {
	// folder is the home. programs are in its folder bin.
	folder string
	// more has variables that only the simulated infrastructure needs.
	more map[string]string
	// takeBack repairs the failure domain.
	takeBack func()
}

// newReader removes everything at the end of the spec, and restores the environment.
func newReader(ctx context.Context) *reader {
	specNamespace = "quick-start-page-default" // names the folder with the logs of a failure
	r := &reader{folder: filepath.Join(*artifacts, "quick-start-page"), more: map[string]string{}}
	Expect(os.RemoveAll(r.folder)).To(Succeed())
	for _, folder := range []string{"bin", "log", "home/.kube"} {
		Expect(os.MkdirAll(filepath.Join(r.folder, folder), 0o755)).To(Succeed())
	}
	Expect(os.WriteFile(r.path("state"), nil, 0o600)).To(Succeed())
	Expect(os.WriteFile(r.path("directory"), []byte(r.path("home")), 0o600)).To(Succeed())
	r.addPrograms(ctx)

	endpoints.next()
	switch *providerName {
	case "vsphere":
		r.more = map[string]string{"VSPHERE_CLONE_MODE": "linkedClone", "VSPHERE_POWER_OFF_MODE": "hard"}
	case "metal3":
		r.more = map[string]string{"VIP_NETWORK_INTERFACE": "eth0"}
	case "harvester": // an address that the simulated load balancer can serve
		var err error
		r.more, err = infra.observer.Prepare(ctx, "quick-start-page")
		Expect(err).NotTo(HaveOccurred())
	}
	DeferCleanup(func(ctx SpecContext) { r.cleanUp(ctx) })
	return r
}

func (r *reader) path(name string) string { return filepath.Join(r.folder, name) }

// addPrograms adds the programs in the prerequisites. clusterctl finds Cluster API and cert-manager in the repository of the environment.
func (r *reader) addPrograms(ctx context.Context) {
	Expect(os.Symlink(environment.Program(binaries.Kubectl), r.path("bin/kubectl"))).To(Succeed())
	wrapper := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" --config '%s'\n", environment.Program(binaries.Clusterctl), r.path("clusterctl.yaml"))
	Expect(os.WriteFile(r.path("bin/clusterctl"), []byte(wrapper), 0o755)).To(Succeed())
	build := tool.Runner{Log: GinkgoWriter, Env: []string{"GOWORK=off", "CGO_ENABLED=0"}}
	_, err := build.Run(ctx, "go", "build", "-C", filepath.Join(repository, "kubectl-fd"), "-o", r.path("bin/kubectl-fd"), ".")
	Expect(err).NotTo(HaveOccurred())
}

// follow runs a block, or what replaces it, and reports which.
func (r *reader) follow(ctx context.Context, block site.Block) {
	about := fmt.Sprintf("%s, line %d", filepath.Base(quickStartPage(*providerName)), block.Line)
	code := block.Code
	switch block.Use {
	case site.Show:
		AddReportEntry("shown only", about+": "+block.Name)
		return
	case site.Replace:
		By("Replacing " + block.Name + " in " + about)
		instead := substitutes(*providerName)[block.Name]
		AddReportEntry("replaced", fmt.Sprintf("%s: %s, by: %s", about, block.Name, instead.About))
		code = instead.Script + r.prepare(ctx, block)
	case site.Run:
		By("Running " + about)
		AddReportEntry("run", about)
	}
	out := r.run(ctx, block.Line, code)
	switch {
	case strings.Contains(block.Code, "kubectl fd version\n"):
		Expect(out).To(ContainSubstring("docker.io/faultline/cluster-api-" + *providerName + "-controller:"))
		r.waitForWebhooks(ctx)
	case strings.Contains(block.Code, "get nodes --label-columns") && strings.Contains(block.Code, "demo.kubeconfig"):
		Expect(readyNode.FindAllString(out, -1)).To(HaveLen(5), out)
	}
}

// waitForWebhooks waits until the API server reaches the webhooks of the provider. kube-proxy learns of a ready manager only after the
// commands of the page do, and substitutes take no time.
func (*reader) waitForWebhooks(ctx context.Context) {
	Eventually(func() error {
		o := infra.Of(infra.ClusterKind)
		o.SetNamespace("default")
		o.SetName("webhook")
		if err := management.GetClient().Create(ctx, o, client.DryRunAll); err != nil && strings.Contains(err.Error(), "failed calling webhook") {
			return err
		}
		return nil
	}, "2m", "1s").Should(Succeed())
}

// prepare does what a substitute needs outside of the shell, and returns commands to run.
func (r *reader) prepare(ctx context.Context, block site.Block) string {
	switch block.Name {
	case substituteSettings:
		values := environment.Variables()
		if endpoint := os.Getenv("CONTROL_PLANE_ENDPOINT_IP"); endpoint != "" {
			values["CONTROL_PLANE_ENDPOINT_IP"] = endpoint // that of this cluster
		}
		set, err := settingsScript(block.Code, values, r.more)
		Expect(err).NotTo(HaveOccurred())
		return set
	case "account":
		kubeconfig, err := base64.StdEncoding.DecodeString(environment.Variables()["HARVESTER_KUBECONFIG_B64"])
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(r.path("home/harvester.yaml"), kubeconfig, 0o600)).To(Succeed())
	case substituteRelease:
		r.writeRelease()
	case substituteManagement:
		r.emptyManagement(ctx)
	case substituteLost:
		r.takeBack = (&cluster{name: pageCluster, namespace: "default"}).cutOff(ctx, infra.Domains[2])
	case substituteReturns:
		r.takeBack()
	}
	return ""
}

// writeRelease writes what `make release` writes for the provider, with templates for machines that are containers.
func (r *reader) writeRelease() {
	root, err := filepath.Abs(repository)
	Expect(err).NotTo(HaveOccurred())
	source := filepath.Join(root, "providers", *providerName)
	written := releases.Repository{Dir: r.path("home/faultline/out")}
	Expect(os.MkdirAll(written.Dir, 0o755)).To(Succeed())
	Expect(written.Write([]releases.Provider{{
		Name: *providerName, Type: releases.Infrastructure, Version: config.GetProviderVersions(*providerName)[0],
		Config: filepath.Join(source, "config", "default"), Metadata: filepath.Join(source, "metadata.yaml"),
		Templates: filepath.Join(root, "templates", *providerName),
		FitTemplate: func(template []byte) ([]byte, error) {
			return infra.FitTemplate(template, environment.Kind(GinkgoWriter))
		},
	}}, nil)).To(Succeed())
}

// emptyManagement removes Cluster API and all providers from the environment, and gives the reader its kubeconfig.
func (r *reader) emptyManagement(ctx context.Context) {
	// One provider at a time, Cluster API last: clusterctl lists the objects of all kinds, and fails if a CRD is deleted meanwhile.
	providers := &clusterctlv1.ProviderList{}
	Expect(management.GetClient().List(ctx, providers)).To(Succeed())
	slices.SortFunc(providers.Items, func(a, b clusterctlv1.Provider) int {
		return cmp.Compare(b.GetProviderType().Order(), a.GetProviderType().Order())
	})
	for i := range providers.Items {
		r.removeProvider(ctx, &providers.Items[i])
	}
	kubeconfig, err := os.ReadFile(environment.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(r.path("home/.kube/config"), kubeconfig, 0o600)).To(Succeed())
}

// removeProvider removes a provider with its objects, namespace and CRDs.
func (r *reader) removeProvider(ctx context.Context, provider *clusterctlv1.Provider) {
	flag := map[clusterctlv1.ProviderType]string{
		clusterctlv1.CoreProviderType: "--core", clusterctlv1.BootstrapProviderType: "--bootstrap",
		clusterctlv1.ControlPlaneProviderType: "--control-plane", clusterctlv1.InfrastructureProviderType: "--infrastructure",
	}[provider.GetProviderType()]
	Expect(flag).NotTo(BeEmpty(), string(provider.GetProviderType()))
	selector := "cluster.x-k8s.io/provider=" + provider.ManifestLabel()
	if provider.GetProviderType() == clusterctlv1.InfrastructureProviderType { // Others have no objects without a cluster.
		kinds, err := r.kubectl(ctx, "get", "customresourcedefinitions", "--output", "jsonpath={.items[*].metadata.name}", "--selector", selector)
		Expect(err).NotTo(HaveOccurred())
		_, err = r.kubectl(ctx, "delete", strings.ReplaceAll(kinds, " ", ","), "--all", "--all-namespaces", "--timeout=5m")
		Expect(err).NotTo(HaveOccurred())
	}
	runIn(ctx, environment, "delete", flag, provider.ProviderName, "--include-crd", "--include-namespace", "--config", environment.ClusterctlConfig())
	Eventually(func(g Gomega) {
		left, err := r.kubectl(ctx, "get", "namespaces,customresourcedefinitions", "--output", "name", "--selector", selector)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).To(BeEmpty())
	}, "5m", "1s").Should(Succeed())
}

func (*reader) kubectl(ctx context.Context, args ...string) (string, error) {
	return tool.Runner{Log: GinkgoWriter}.Run(ctx, environment.Program(binaries.Kubectl), append([]string{"--kubeconfig", environment.Kubeconfig()}, args...)...)
}

// run runs commands in the shell of the page, and returns their standard output. The log has all of it.
func (r *reader) run(ctx context.Context, line int, code string) string {
	r.mergeConfiguration()
	name := fmt.Sprintf("line-%04d", line)
	script := r.path("log/" + name + ".sh")
	Expect(os.WriteFile(script, []byte(shellScript(code, r.path("state"), r.path("directory"))), 0o600)).To(Succeed())
	log, err := os.Create(r.path("log/" + name + ".log"))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }()
	bounded, cancel := context.WithTimeout(ctx, blockTimeout)
	defer cancel()
	began := time.Now()
	out, err := tool.Runner{Log: io.MultiWriter(log, GinkgoWriter)}.Run(bounded, "env", "--ignore-environment",
		"HOME="+r.path("home"), "PATH="+r.path("bin")+":"+os.Getenv("PATH"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "bash", script)
	Expect(err).NotTo(HaveOccurred(), "the commands are in %s, their output is in %s", script, log.Name())
	GinkgoWriter.Println(name, "took", time.Since(began).Round(time.Second))
	return out
}

// mergeConfiguration updates the configuration that clusterctl reads from the one that the page has written.
func (r *reader) mergeConfiguration() {
	page, err := os.ReadFile(r.path("home/.cluster-api/clusterctl.yaml"))
	if !os.IsNotExist(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	environments, err := os.ReadFile(environment.ClusterctlConfig())
	Expect(err).NotTo(HaveOccurred())
	merged, err := mergedConfiguration(page, environments, *providerName, environment.Variables())
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(r.path("clusterctl.yaml"), merged, 0o600)).To(Succeed())
}

// cleanUp removes what a failed spec left, and installs what the other specs use. The failure domain is repaired already.
func (r *reader) cleanUp(ctx context.Context) {
	if *keep {
		return
	}
	if CurrentSpecReport().Failed() {
		if _, err := r.kubectl(ctx, "delete", "clusters.cluster.x-k8s.io", pageCluster, "--ignore-not-found", "--timeout=10m"); err != nil {
			GinkgoWriter.Println("The cluster of the page is still there:", err)
		}
	}
	Expect(environment.Up(ctx)).To(Succeed())
	writeTemplates(ctx)
}

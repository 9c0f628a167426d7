// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	clusterctl "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/release"
)

// ourVersion is in the newest release series of each provider's metadata.yaml.
const ourVersion = "v2.0.0"

var (
	// promise is the comment after a command that creates a cluster.
	promise = regexp.MustCompile(`# creates (\d+) control-plane machines? and (\d+) workers?$`)
	// export matches variables that are set in the block of a command. "..." stands for a value that the reader fills in.
	export = regexp.MustCompile(`\b([A-Z0-9_]+)=('[^']*'|\S+)`)
	// continued matches a line that ends with a backslash.
	continued = regexp.MustCompile(`\\\n\s*`)
)

// printed is a command on a page, with its context there.
type printed struct {
	page, text string
	args       []string
	exports    map[string]string
	// complete: the page exports all required variables.
	complete bool
}

func TestDocumentedClusterctlCommands(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none")) // no management cluster is contacted
	g := NewWithT(t)
	folder := t.TempDir()
	r := release.Release{Release: docker.Release{Version: ourVersion}, Root: repository, Out: folder}
	_, err := r.Write()
	g.Expect(err).NotTo(HaveOccurred())

	clusters := map[string]int{}
	for _, command := range printedCommands(documents(t)) {
		about := command.page + ": " + command.text
		switch {
		case len(command.args) > 0 && command.args[0] == "cluster":
			provider := command.generatesCluster(t, folder, about)
			clusters[provider]++
		case len(command.args) > 0 && command.args[0] == "yaml":
			command.generatesYAML(t, folder, about)
		case len(command.args) > 0 && command.args[0] == "provider":
			command.generatesProvider(t, folder, about)
		default:
			t.Errorf("%s: this test does not know what the command creates", about)
		}
	}
	for _, provider := range providers(t) {
		g.Expect(clusters[provider]).To(BeNumerically(">", 1), "commands that make clusters of %s", provider)
	}
}

// printedCommands returns the commands in the code blocks of pages that begin with `clusterctl generate`.
func printedCommands(pages map[string]string) []printed {
	var all []printed
	for page, text := range pages {
		quickStart := strings.HasPrefix(filepath.Base(page), "quick-start-") // whose blocks share one shell
		exports := map[string]string{}
		for _, block := range fence.FindAllString(text, -1) {
			if !quickStart {
				exports = map[string]string{}
			}
			for line := range strings.Lines(continued.ReplaceAllString(block, "")) {
				line = strings.TrimSpace(line)
				if rest, found := strings.CutPrefix(line, "export "); found {
					for _, match := range export.FindAllStringSubmatch(rest, -1) {
						exports[match[1]] = strings.Trim(match[2], "'")
						if match[2] == "..." || strings.HasPrefix(match[2], "$") {
							exports[match[1]] = "example"
						}
					}
				}
				if rest, found := strings.CutPrefix(line, "clusterctl generate "); found {
					rest, _, _ = strings.Cut(rest, "#")
					rest, _, _ = strings.Cut(rest, "|")
					complete := len(exports) > 0 && !strings.Contains(block, "see below")
					all = append(all, printed{page: page, text: line, args: strings.Fields(rest), exports: maps.Clone(exports), complete: complete})
				}
			}
		}
	}
	return all
}

// generatesCluster runs the command and compares the cluster with the page's comment. It returns the provider.
func (p printed) generatesCluster(t *testing.T, folder, about string) string {
	t.Helper()
	g := NewWithT(t)
	g.Expect(len(p.args)).To(BeNumerically(">", 1), about)
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	provider := flags.String("infrastructure", "", "")
	flavor := flags.String("flavor", "", "")
	kubernetes := flags.String("kubernetes-version", "", "")
	controlPlane := flags.Int64("control-plane-machine-count", 1, "")
	workers := flags.Int64("worker-machine-count", 0, "")
	list := flags.Bool("list-variables", false, "")
	g.Expect(flags.Parse(p.args[2:])).To(Succeed(), about)
	g.Expect(flags.Args()).To(BeEmpty(), about)
	options := clusterctl.GetClusterTemplateOptions{
		ClusterName: p.args[1], TargetNamespace: "default", KubernetesVersion: *kubernetes, ListVariablesOnly: *list,
		ProviderRepositorySource: &clusterctl.ProviderRepositorySourceOptions{InfrastructureProvider: *provider + ":" + ourVersion, Flavor: *flavor},
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "control-plane-machine-count":
			options.ControlPlaneMachineCount = controlPlane
		case "worker-machine-count":
			options.WorkerMachineCount = workers
		}
	})
	client := p.client(t, folder, *provider)
	template, err := client.GetClusterTemplate(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred(), about)
	if *list {
		g.Expect(template.Variables()).NotTo(BeEmpty(), about)
		return *provider
	}
	promised := promise.FindStringSubmatch(p.text)
	if promised == nil {
		t.Errorf("%s: the comment after the command must describe the result: # creates 3 control-plane machines and 2 workers", about)
		return *provider
	}
	controlPlanes, machines := replicas(template.Objs())
	g.Expect([]string{strconv.FormatInt(controlPlanes, 10), strconv.FormatInt(machines, 10)}).To(Equal(promised[1:]), about)
	return *provider
}

// generatesYAML runs a command that renders a file of the release.
func (p printed) generatesYAML(t *testing.T, folder, about string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(p.args).To(HaveLen(3), about)
	g.Expect(p.args[1]).To(Equal("--from"), about)
	found, err := filepath.Glob(filepath.Join(folder, "infrastructure-*", ourVersion, p.args[2]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(HaveLen(1), about)
	file, err := os.Open(found[0])
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	template, err := p.client(t, folder, "").ProcessYAML(t.Context(), clusterctl.ProcessYAMLOptions{ReaderSource: &clusterctl.ReaderSourceOptions{Reader: file}})
	g.Expect(err).NotTo(HaveOccurred(), about)
	g.Expect(template.Yaml()).NotTo(BeEmpty())
}

// generatesProvider runs a command that prints the components of a provider, and checks that no variable is left.
func (p printed) generatesProvider(t *testing.T, folder, about string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(p.args).To(HaveLen(3), about)
	g.Expect(p.args[1]).To(Equal("--infrastructure"), about)
	name, version, _ := strings.Cut(p.args[2], ":")
	g.Expect(version).To(Equal(ourVersion), about)
	components, err := p.client(t, folder, name).GenerateProvider(t.Context(), name, clusterctlv1.InfrastructureProviderType,
		clusterctl.ComponentsOptions{Version: version})
	g.Expect(err).NotTo(HaveOccurred(), about)
	written, err := components.Yaml()
	g.Expect(err).NotTo(HaveOccurred(), about)
	g.Expect(string(written)).NotTo(ContainSubstring("${"), about)
}

// client returns a clusterctl client with the release as its repository, the variables that the page exports, and values for other
// required variables if the page does not export all.
func (p printed) client(t *testing.T, folder, provider string) clusterctl.Client {
	t.Helper()
	g := NewWithT(t)
	type entry struct {
		Name string `json:"name"`
		Type string `json:"type"`
		URL  string `json:"url"`
	}
	config := map[string]any{"overridesFolder": filepath.Join(folder, "overrides")}
	var entries []entry
	for _, name := range providers(t) {
		files := filepath.Join(folder, "infrastructure-"+name, ourVersion)
		entries = append(entries, entry{name, string(clusterctlv1.InfrastructureProviderType), filepath.Join(files, "infrastructure-components.yaml")})
		if name == provider && !p.complete {
			for variable, value := range given(t, files) {
				config[variable] = value
			}
		}
	}
	for variable, value := range p.exports {
		config[variable] = value
	}
	config["providers"] = entries
	content, err := yaml.Marshal(config)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "clusterctl.yaml")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	client, err := clusterctl.New(context.WithoutCancel(t.Context()), file)
	g.Expect(err).NotTo(HaveOccurred())
	return client
}

// given returns values for the variables of a provider's templates without a default, except those that clusterctl's flags set.
func given(t *testing.T, folder string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	templates, err := filepath.Glob(filepath.Join(folder, "cluster*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	values := map[string]string{}
	for _, template := range templates {
		content, err := os.ReadFile(template)
		g.Expect(err).NotTo(HaveOccurred())
		variables, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(content)
		g.Expect(err).NotTo(HaveOccurred())
		for name, byDefault := range variables {
			if byDefault == nil && name != "KUBERNETES_VERSION" && name != "CLUSTER_NAME" && name != "NAMESPACE" {
				values[name] = "example"
				if number, isServer := strings.CutPrefix(name, "VSPHERE_SERVER_"); isServer {
					values[name] += number // The servers of a cluster differ.
				}
			}
		}
	}
	return values
}

// replicas counts the machines of a cluster, with or without a topology.
func replicas(objects []unstructured.Unstructured) (controlPlane, workers int64) {
	for _, object := range objects {
		switch object.GetKind() {
		case "KubeadmControlPlane", "RKE2ControlPlane", "TalosControlPlane":
			controlPlane += count(object.Object, "spec", "replicas")
		case "MachineDeployment":
			workers += count(object.Object, "spec", "replicas")
		case "Cluster":
			controlPlane += count(object.Object, "spec", "topology", "controlPlane", "replicas")
			groups, _, _ := unstructured.NestedSlice(object.Object, "spec", "topology", "workers", "machineDeployments")
			for _, group := range groups {
				workers += count(group.(map[string]any), "replicas")
			}
		}
	}
	return controlPlane, workers
}

// count returns a number, whose type depends on how the object was decoded.
func count(object map[string]any, fields ...string) int64 {
	found, _, _ := unstructured.NestedFieldNoCopy(object, fields...)
	number, _ := strconv.ParseInt(fmt.Sprint(found), 10, 64)
	return number
}

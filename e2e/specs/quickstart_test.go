// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/site"
)

// quickStartPage returns the path of the quick start of a provider.
func quickStartPage(provider string) string {
	return filepath.Join("..", "..", "docs", "quick-start-"+provider+".md")
}

// Names of substitutes for which the spec does more than running a script.
const (
	substituteSettings   = "settings"
	substituteRelease    = "release"
	substituteManagement = "management cluster"
	substituteLost       = "lost domain"
	substituteReturns    = "domain returns"
)

// substitute runs instead of a block of a quick start that depends on real infrastructure.
type substitute struct {
	// About describes it in the report.
	About string
	// Script runs in the shell of the page.
	Script string
}

// substitutes returns the substitutes of a provider by the names that its page uses.
func substitutes(provider string) map[string]substitute {
	all := map[string]substitute{
		substituteSettings:      {About: "variables of the simulated infrastructure"},
		substituteRelease:       {About: "the images are on the node; components and templates for machines that are containers", Script: "cd faultline\n"},
		substituteManagement:    {About: "the environment's kind cluster, without Cluster API and providers"},
		"template":              {About: "the image of the environment's machines"},
		"pod network":           {About: "machines have a pod network when they boot", Script: "kubectl --kubeconfig demo.kubeconfig get nodes\n"},
		substituteLost:          {About: "a fault of the simulator, and stopped containers"},
		substituteReturns:       {About: "end of the fault"},
		"no management cluster": {About: "the environment keeps its kind cluster"},
	}
	switch provider {
	case "vsphere":
		all["tags"] = substitute{About: "the simulated vCenter has them"}
	case "metal3":
		all["bare metal operator"] = substitute{About: "its CRDs are installed, and a simulator runs"}
		all["hosts"] = substitute{About: "hosts of the environment, without their labels", Script: unlabelledHosts}
	case "harvester":
		delete(all, "template")
		all["zones"] = substitute{About: "the hosts of the simulated Harvester have them"}
		all["image and network"] = substitute{About: "the simulated Harvester has them"}
		all["account"] = substitute{About: "the kubeconfig of the simulated Harvester"}
	}
	return all
}

// unlabelledHosts writes the file that users write, and removes the labels that the page sets.
const unlabelledHosts = `kubectl get bmh -o jsonpath='{range .items[*]}{.metadata.name},{.metadata.labels.infrastructure\.cluster\.x-k8s\.io/failure-domain},,{"\n"}{end}' > hosts.csv
kubectl label bmh --all infrastructure.cluster.x-k8s.io/failure-domain-
cat hosts.csv
`

var (
	// exported matches the names of variables that a block sets.
	exported = regexp.MustCompile(`(?:^|\s)([A-Z][A-Z0-9_]*)=`)
	// ofTools are variables of programs that only blocks with real infrastructure use.
	ofTools = regexp.MustCompile(`^GOVC_`)
)

// settingsScript sets the variables that a block exports to the values of the simulated infrastructure. A variable that the page does not
// export is not set, so that the page cannot miss one; except those in more, which only the simulated infrastructure needs.
func settingsScript(code string, values, more map[string]string) (string, error) {
	set := maps.Clone(more)
	if set == nil {
		set = map[string]string{}
	}
	var unknown []string
	for line := range strings.Lines(code) {
		rest, found := strings.CutPrefix(line, "export ")
		if !found {
			continue
		}
		for _, match := range exported.FindAllStringSubmatch(rest, -1) {
			name := match[1]
			value, known := values[name]
			switch {
			case known:
				if _, overridden := set[name]; !overridden {
					set[name] = value
				}
			case set[name] == "" && !ofTools.MatchString(name):
				unknown = append(unknown, name)
			}
		}
	}
	if len(unknown) > 0 {
		return "", fmt.Errorf("the simulated infrastructure has no value for %s: add it to the substitute", strings.Join(unknown, ", "))
	}
	var script strings.Builder
	for _, name := range slices.Sorted(maps.Keys(set)) {
		_, _ = fmt.Fprintf(&script, "export %s='%s'\n", name, strings.ReplaceAll(set[name], "'", `'\''`))
	}
	return script.String(), nil
}

// mergedConfiguration adds Cluster API, cert-manager and feature gates of the environment to the clusterctl configuration that a page
// writes, because they cannot be downloaded. It omits the environment's provider and variables, which the page must have itself.
func mergedConfiguration(page, environment []byte, provider string, variables map[string]string) ([]byte, error) {
	var written, merged map[string]any
	if err := yaml.Unmarshal(page, &written); err != nil {
		return nil, fmt.Errorf("reading the page's configuration of clusterctl: %w", err)
	}
	if err := yaml.Unmarshal(environment, &merged); err != nil {
		return nil, fmt.Errorf("reading the environment's configuration of clusterctl: %w", err)
	}
	maps.DeleteFunc(merged, func(name string, _ any) bool { _, variable := variables[name]; return variable })
	entries, _ := merged["providers"].([]any)
	entries = slices.DeleteFunc(entries, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		return fields["name"] == provider
	})
	more, _ := written["providers"].([]any)
	maps.Copy(merged, written)
	merged["providers"] = append(entries, more...)
	return yaml.Marshal(merged)
}

// shellScript returns a script that runs a block with the variables and the working directory that the previous one left, and fails with
// the first command that fails.
func shellScript(code, state, folder string) string {
	return "set -eo pipefail\n. '" + state + "'\ncd \"$(cat '" + folder + "')\"\nset -x\n" + code +
		"{ set +x; } 2>/dev/null\nexport -p > '" + state + "'\npwd > '" + folder + "'\n"
}

func TestQuickStartsAreRunOrReplaced(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"vsphere", "metal3", "harvester"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(quickStartPage(provider))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(text)).To(ContainSubstring("`# real infrastructure`"), "the page must explain the mark")
			blocks, err := site.Blocks(string(text))
			g.Expect(err).NotTo(HaveOccurred())
			known, used, run := substitutes(provider), map[string]substitute{}, ""
			for _, block := range blocks {
				switch block.Use {
				case site.Replace:
					g.Expect(known).To(HaveKey(block.Name), "line %d", block.Line)
					used[block.Name] = known[block.Name]
				case site.Run:
					run += block.Code
				case site.Show:
				}
			}
			g.Expect(used).To(Equal(known), "a substitute without a block")
			for _, command := range []string{
				"clusterctl init --infrastructure " + provider + "\n", "kubectl fd version\n", "clusterctl generate cluster demo --infrastructure " + provider,
				"clusterctl get kubeconfig demo", "wait nodes --all --for=condition=Ready", "kubectl fd get demo\n", "kubectl fd simulate --lose ", "kubectl delete cluster demo",
			} {
				g.Expect(run).To(ContainSubstring(command), "must be run, and not be replaced")
			}
		})
	}
}

func TestQuickStartsAreShellScripts(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"vsphere", "metal3", "harvester"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile(quickStartPage(provider))
			g.Expect(err).NotTo(HaveOccurred())
			blocks, err := site.Blocks(string(text))
			g.Expect(err).NotTo(HaveOccurred())
			for _, block := range blocks {
				if block.Use != site.Show {
					parses(t, block.Code, fmt.Sprintf("line %d", block.Line))
				}
			}
			for name, instead := range substitutes(provider) {
				parses(t, instead.Script, name)
			}
		})
	}
}

// parses expects that the shell can parse a script.
func parses(t *testing.T, script, about string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-n")
	command.Stdin = strings.NewReader(script)
	out, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%s: %s", about, out)
	NewWithT(t).Expect(out).To(BeEmpty(), about)
}

func TestShellScriptKeepsVariablesAndFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	state, at := filepath.Join(folder, "state"), filepath.Join(folder, "folder")
	g.Expect(os.WriteFile(state, nil, 0o600)).To(Succeed())
	g.Expect(os.WriteFile(at, []byte(folder), 0o600)).To(Succeed())
	run := func(code string) (string, error) {
		command := exec.CommandContext(t.Context(), "bash")
		command.Stdin = strings.NewReader(shellScript(code, state, at))
		out, err := command.Output()
		return string(out), err
	}
	_, err := run("mkdir below\ncd below\nexport NAME=\"two words\"\nlocally=gone\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run("echo \"$NAME$locally in $(basename \"$PWD\")\"\n")).To(Equal("two words in below\n"))
	_, err = run("false | cat\necho not reached\n")
	g.Expect(err).To(HaveOccurred(), "a failed command of a pipe fails the block")
}

func TestSettingsScriptHasOnlyVariablesOfPage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const code = "# real infrastructure: settings\nexport SERVER=a.example PASSWORD=...\nexport PRINT=$(openssl x509 -in=y |\n  cut)\nexport GOVC_URL=\"$SERVER\"\n"
	values := map[string]string{"SERVER": "10.0.0.1", "PASSWORD": "it's", "PRINT": "00:11", "MISSED": "x"}
	g.Expect(settingsScript(code, values, map[string]string{"ONLY_SIMULATED": "y"})).To(Equal(
		"export ONLY_SIMULATED='y'\nexport PASSWORD='it'\\''s'\nexport PRINT='00:11'\nexport SERVER='10.0.0.1'\n"))
	g.Expect(settingsScript("export SERVER=a\n", values, map[string]string{"SERVER": "eth0"})).To(Equal("export SERVER='eth0'\n"))
	_, err := settingsScript("export OTHER=1\n", values, nil)
	g.Expect(err).To(MatchError(ContainSubstring("no value for OTHER")))
}

func TestMergedConfigurationHasOnlyClusterAPIOfEnvironment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	merged, err := mergedConfiguration(
		[]byte("providers:\n- {name: vsphere, type: InfrastructureProvider, url: /page}\nimages: {}\n"),
		[]byte("providers:\n- {name: cluster-api, type: CoreProvider, url: /core}\n- {name: vsphere, type: InfrastructureProvider, url: /environment}\n"+
			"CLUSTER_TOPOLOGY: \"true\"\nVSPHERE_SERVER: s\n"), "vsphere", map[string]string{"VSPHERE_SERVER": "s"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(merged).To(MatchYAML("providers:\n- {name: cluster-api, type: CoreProvider, url: /core}\n- {name: vsphere, type: InfrastructureProvider, url: /page}\n" +
		"images: {}\nCLUSTER_TOPOLOGY: \"true\"\n"))
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// makeIn runs make with the arguments, and returns its output.
func makeIn(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "-C", repository}, args...)...)
	// The tests may be run by make, whose own arguments must not be inherited.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MODULE", "PROVIDER", "CAPM3", "FAULTLINE_CAPM3"}, name)
	})
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

func TestMakeReportsUnknownNames(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"frobnicate":                  `Unknown target "frobnicate": make help lists all targets`,
		"generate/abacus":             `Unknown target "generate/abacus"`,
		"release/abacus":              `Unknown target "release/abacus"`,
		"test MODULE=abacus":          `Unknown module "abacus": MODULE must be one of shared`,
		"takeover PROVIDER=metal3":    `CAPM3 must be a checkout of cluster-api-provider-metal3, v1.12 or later: make takeover PROVIDER=metal3 CAPM3=FOLDER`,
		"takeover PROVIDER=harvester": `Takeover does not support harvester: PROVIDER must be one of vsphere metal3`,
		"demo PROVIDER=abacus":        `Unknown provider "abacus": PROVIDER must be one of vsphere `,
	} {
		g := NewWithT(t)
		printed, err := makeIn(t, strings.Fields(arguments)...)
		g.Expect(err).To(HaveOccurred(), arguments)
		g.Expect(printed).To(ContainSubstring(want))
		g.Expect(strings.Count(printed, "\n")).To(Equal(1), printed)
	}
	NewWithT(t).Expect(filepath.Glob(filepath.Join(repository, "out", "infrastructure-abacus"))).To(BeEmpty(), "nothing is left behind")
}

// providers returns the providers by their folders, for comparison with lists of providers elsewhere.
func providers(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	mains, err := filepath.Glob(filepath.Join(repository, "providers", "*", "main.go"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mains).NotTo(BeEmpty())
	var names []string
	for _, main := range mains {
		names = append(names, filepath.Base(filepath.Dir(main)))
	}
	return names
}

func TestMakeListsProviders(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(choice(t, "demo", "PROVIDER")).To(ConsistOf(providers(t)))
}

func TestWorkspaceHasAllModules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var modules []string
	for line := range strings.Lines(content(t, "go.work")) {
		if module, found := strings.CutPrefix(line, "\t./"); found {
			modules = append(modules, strings.TrimSpace(module))
		}
	}
	g.Expect(modules).To(ConsistOf(choice(t, "build", "MODULE")))
}

// Longer lines wrap in a terminal. The pages that they name have the details.
func TestMakeHelpIsNarrow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	printed, err := makeIn(t, "help")
	g.Expect(err).NotTo(HaveOccurred(), printed)
	g.Expect(strings.Count(printed, "\n")).To(BeNumerically(">", 20))
	for line := range strings.Lines(printed) {
		g.Expect(len(line)).To(BeNumerically("<=", 160), line)
		for _, page := range regexp.MustCompile(`[\w/-]+\.md`).FindAllString(line, -1) {
			g.Expect(filepath.Join(repository, page)).To(BeAnExistingFile(), line)
		}
	}
}

// choice returns the values of a variable that make lists in its error.
func choice(t *testing.T, target, variable string) []string {
	t.Helper()
	printed, err := makeIn(t, target, variable+"=abacus")
	NewWithT(t).Expect(err).To(HaveOccurred())
	_, list, _ := strings.Cut(printed, variable+" must be one of ")
	list, _, _ = strings.Cut(list, ".  Stop")
	return strings.Fields(list)
}

func TestMakeSelectsModule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	printed, err := makeIn(t, "--dry-run", "test", "lint", "MODULE=kubectl-fd")
	g.Expect(err).NotTo(HaveOccurred(), printed)
	g.Expect(printed).To(ContainSubstring("cd kubectl-fd && KUBEBUILDER_ASSETS="))
	g.Expect(printed).To(ContainSubstring("for module in kubectl-fd; do echo \"lint"))
	for _, other := range []string{"cd shared &&", "cd providers/vsphere &&", "cd e2e && KUBEBUILDER_ASSETS="} {
		g.Expect(printed).NotTo(ContainSubstring(other))
	}
}

func TestMakePassesReleaseVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	printed, err := makeIn(t, "--dry-run", "release", "images", "VERSION=v9.9.9", "REGISTRY=registry:5000/team")
	g.Expect(err).NotTo(HaveOccurred(), printed)
	g.Expect(printed).To(ContainSubstring("./cmd/e2e release --version=v9.9.9 --registry=registry:5000/team "))
	g.Expect(printed).To(MatchRegexp(`./cmd/e2e kind .*--version=v9.9.9 --registry=registry:5000/team managers`))
	g.Expect(printed).To(MatchRegexp(`e2e/scripts/kubectl-fd v9.9.9 .*/out/kubectl-fd/v9.9.9 linux-amd64 `))
	g.Expect(printed).NotTo(ContainSubstring("v2.0.0"))
}

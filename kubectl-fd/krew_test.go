// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// root is the root of the repository.
const root = ".."

// manifest is the content of a krew manifest.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, ShortDescription, Description, Homepage string
		Platforms                                        []struct {
			Selector         struct{ MatchLabels map[string]string }
			URI, Sha256, Bin string
		}
	}
}

// krew calls the plugin by the name in its manifest.
func TestReleaseHasAKrewManifestWithASpecificName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := t.TempDir()
	script := exec.CommandContext(t.Context(), "e2e/scripts/kubectl-fd", "v9.9.9", folder)
	script.Dir = root
	out, err := script.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	for _, name := range []string{"fd", "failure-domains"} {
		text, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		var plugin manifest
		g.Expect(yaml.UnmarshalStrict(text, &plugin)).To(Succeed())
		g.Expect(plugin.Metadata.Name).To(Equal(name))
		g.Expect(plugin.Spec.Version).To(Equal("v9.9.9"))
	}
}

func TestKrewManifest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := os.ReadFile("krew.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var plugin manifest
	g.Expect(yaml.UnmarshalStrict(text, &plugin)).To(Succeed())
	g.Expect(plugin.APIVersion).To(Equal("krew.googlecontainertools.github.com/v1alpha2"))
	g.Expect(plugin.Kind).To(Equal("Plugin"))
	g.Expect(plugin.Metadata.Name).To(Equal("fd"), "krew links kubectl-<name>, so kubectl calls it fd")
	g.Expect(plugin.Spec.Version).To(Equal("@VERSION@"))
	g.Expect(len(plugin.Spec.ShortDescription)).To(BeNumerically("<=", 50), "krew's own limit for its index")

	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	g.Expect(err).NotTo(HaveOccurred())
	built := regexp.MustCompile(`(?m)^KUBECTL_FD_PLATFORMS := (.*)$`).FindSubmatch(makefile)
	g.Expect(built).NotTo(BeNil())
	var named []string
	for _, platform := range plugin.Spec.Platforms {
		os, arch := platform.Selector.MatchLabels["os"], platform.Selector.MatchLabels["arch"]
		named = append(named, os+"-"+arch)
		program := "kubectl-fd"
		if os == "windows" {
			program += ".exe"
		}
		g.Expect(platform.Bin).To(Equal(program))
		g.Expect(platform.URI).To(HaveSuffix("/@VERSION@/kubectl-fd-" + os + "-" + arch + ".tar.gz"))
		g.Expect(platform.Sha256).To(Equal("@SHA256-" + os + "-" + arch + "@"))
	}
	g.Expect(named).To(Equal(strings.Fields(string(built[1]))))
}

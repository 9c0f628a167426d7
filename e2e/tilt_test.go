// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// Tilt builds a provider only if the image is the one that its manifests name, and watches only what exists.
func TestTiltProvidersAreWhatIsInTheRepository(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := os.ReadFile("../tilt-provider.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var providers []struct {
		Name   string `json:"name"`
		Config struct {
			Context        string   `json:"context"`
			Image          string   `json:"image"`
			LiveReloadDeps []string `json:"live_reload_deps"`
			Label          string   `json:"label"`
		} `json:"config"`
	}
	g.Expect(yaml.UnmarshalStrict(text, &providers)).To(Succeed())
	var names []string
	for _, provider := range providers {
		names = append(names, provider.Name)
		folder := filepath.Join("..", provider.Config.Context)
		for _, watched := range provider.Config.LiveReloadDeps {
			g.Expect(filepath.Join(folder, watched)).To(Or(BeAnExistingFile(), BeADirectory()))
		}
		kustomization := struct {
			Images []struct {
				NewName string `json:"newName"`
			} `json:"images"`
		}{}
		text, err := os.ReadFile(filepath.Join(folder, "config", "default", "kustomization.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.Unmarshal(text, &kustomization)).To(Succeed())
		g.Expect(kustomization.Images).To(ContainElement(HaveField("NewName", provider.Config.Image)))
	}
	folders, err := filepath.Glob("../providers/*/main.go")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names).To(HaveLen(len(folders)), "every provider has an entry")
}

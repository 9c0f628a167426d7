// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/harvester"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
)

func TestManagerImageFromComponents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	root := t.TempDir()
	folder := filepath.Join(root, "providers", "example", "config", "default")
	g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte("resources: [manager.yaml]\n"), 0o600)).To(Succeed())
	manager := func(images ...string) {
		content := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: m}\nspec: {template: {spec: {containers: ["
		for _, i := range images {
			content += "{name: " + i[:1] + ", image: " + i + "},"
		}
		g.Expect(os.WriteFile(filepath.Join(folder, "manager.yaml"), []byte(content+"]}}}\n"), 0o600)).To(Succeed())
	}
	e := &Environment{builder: builderOf(root)}
	manager("faultline/controller:v2.0.0")
	g.Expect(e.managerImage("example")).To(Equal("docker.io/faultline/controller:v2.0.0"))
	manager("a/a:v1", "b/b:v1")
	_, err := e.managerImage("example")
	g.Expect(err).To(MatchError(ContainSubstring("exactly one image")))
}

func TestProgramImagesFromCharts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{
		builder: builderOf("../.."), Options: Options{Providers: []provider.KindProvider{vsphere.Provider{}, harvester.Provider{}}},
		found: findings{programs: binaries.Paths{binaries.LoadBalancer: "/a", binaries.CloudProvider: "/b"}},
	}
	images, err := e.chartImages()
	g.Expect(err).NotTo(HaveOccurred())
	programs := map[string]string{}
	for _, i := range images {
		programs[i.Name[:strings.LastIndex(i.Name, ":")]] = i.Files[len(i.Files)-1].From
	}
	g.Expect(programs).To(Equal(map[string]string{
		"docker.io/faultline/harvester-load-balancer": "/a", "docker.io/faultline/harvester-cloud-provider": "/b",
	}))
}

func TestReleaseImageVersions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{builder: builderOf("../.."), Options: Options{Providers: []provider.KindProvider{vsphere.Provider{}, harvester.Provider{}}}}
	images, err := e.releaseImages(docker.Release{Version: "v9.9.9", Registry: "registry:5000"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(images).To(HaveLen(4))
	g.Expect(images).To(HaveEach(HaveField("Name", And(HavePrefix("registry:5000/"), HaveSuffix(":v9.9.9")))))
}

func builderOf(root string) *binaries.Builder { return &binaries.Builder{Root: root} }

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/plane"
)

const template = `
kind: VSphereMachineTemplate
metadata: {name: a}
spec: {template: {spec: {server: s, customVMXKeys: {own: kept}}}}
---
kind: VSphereMachineTemplate
metadata: {name: b}
spec: {template: {spec: {server: s}}}
---
kind: ClusterResourceSet
metadata: {name: cloud-provider}
---
kind: Cluster
metadata: {name: c}
`

func TestBootable(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects, err := plane.Decode([]byte(template))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err = bootable(objects, map[string]string{"RUN.container": "[]"})
	g.Expect(err).NotTo(HaveOccurred())
	out, err := encode(objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(out)).To(Equal(strings.TrimPrefix(`
---
kind: VSphereMachineTemplate
metadata:
  name: a
spec:
  template:
    spec:
      customVMXKeys:
        RUN.container: '[]'
        own: kept
      server: s
---
kind: VSphereMachineTemplate
metadata:
  name: b
spec:
  template:
    spec:
      customVMXKeys:
        RUN.container: '[]'
      server: s
---
kind: Cluster
metadata:
  name: c
`, "\n")))
}

// The simulator runs what it is told in a shell, unquoted.
func TestMachineKeysAreSafeInAShell(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := &Environment{Options: Options{Name: "x"}}
	keys, err := e.machineKeys("172.18.0.3", "faultline/machine:v1")
	g.Expect(err).NotTo(HaveOccurred())
	var words []string
	g.Expect(json.Unmarshal([]byte(keys["RUN.container"]), &words)).To(Succeed())
	for _, word := range words {
		g.Expect(word).NotTo(ContainSubstring(" "))
		g.Expect(strings.ContainsAny(word, "$`\"'\\;&|<>()*?[]{}~#!")).To(BeFalse(), word)
	}
	g.Expect(words[len(words)-1]).To(Equal("faultline/machine:v1"))
}

func TestManagerImageIsTheOneOfTheComponents(t *testing.T) {
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
	g.Expect(err).To(MatchError(ContainSubstring("one image")))
}

func builderOf(root string) *binaries.Builder { return &binaries.Builder{Root: root} }

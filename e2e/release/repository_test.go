// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"faultline/controller:v2":        "docker.io/faultline/controller:v2",
		"controller:latest":              "docker.io/controller:latest",
		"registry.k8s.io/x/y:v1":         "registry.k8s.io/x/y:v1",
		"localhost/x:v1":                 "localhost/x:v1",
		"localhost:5000/x:v1":            "localhost:5000/x:v1",
		"registry:5000/team/x@sha256:00": "registry:5000/team/x@sha256:00",
	} {
		NewWithT(t).Expect(canonical(image)).To(Equal(want))
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	got := released([]byte("image: gcr.io/k8s-staging-cluster-api/kubeadm-bootstrap-controller:main\nimagePullPolicy: Always\n"), "v1.14.2")
	NewWithT(t).Expect(string(got)).To(Equal(
		"image: registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:v1.14.2\nimagePullPolicy: IfNotPresent\n"))
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWriteRepositoryForClusterctl(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source := t.TempDir()
	write(t, filepath.Join(source, "config/kustomization.yaml"), "resources: [manager.yaml]\n")
	write(t, filepath.Join(source, "config/manager.yaml"),
		"apiVersion: v1\nkind: Pod\nmetadata: {name: m}\nspec: {containers: [{name: m, image: faultline/controller:v2.0.0}]}\n")
	write(t, filepath.Join(source, "metadata.yaml"), "kind: Metadata\n")
	write(t, filepath.Join(source, "templates/cluster-template.yaml"), "kind: Cluster\n")

	r := Repository{Dir: t.TempDir(), CAPIImages: "v1.14.2", Variables: map[string]string{"VSPHERE_SERVER": "s"}}
	provider := func(name, kind string) Provider {
		return Provider{
			Name: name, Type: kind, Version: "v2.0.0", Config: filepath.Join(source, "config"),
			Metadata: filepath.Join(source, "metadata.yaml"), Templates: filepath.Join(source, "templates"),
			FitTemplate: func(template []byte) ([]byte, error) { return append(template, "# fit\n"...), nil },
		}
	}
	g.Expect(r.Write([]Provider{provider("vsphere", Infrastructure), provider("cluster-api", Core)},
		&CertManager{Version: "v1.11.5", Manifest: []byte("kind: Namespace\n")})).To(Succeed())

	components, err := os.ReadFile(filepath.Join(r.Dir, "infrastructure-vsphere/v2.0.0/infrastructure-components.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Images(components)).To(ConsistOf("docker.io/faultline/controller:v2.0.0"))
	for _, file := range []string{
		"infrastructure-vsphere/v2.0.0/metadata.yaml", "infrastructure-vsphere/v2.0.0/cluster-template.yaml",
		"cluster-api/v2.0.0/core-components.yaml", "cert-manager/v1.11.5/cert-manager.yaml",
	} {
		g.Expect(filepath.Join(r.Dir, file)).To(BeARegularFile())
	}
	g.Expect(os.ReadFile(filepath.Join(r.Dir, "infrastructure-vsphere/v2.0.0/cluster-template.yaml"))).To(BeEquivalentTo("kind: Cluster\n# fit\n"))
	var config struct {
		Providers []struct{ Name, Type, URL string } `json:"providers"`
		Server    string                             `json:"VSPHERE_SERVER"`
	}
	content, err := os.ReadFile(r.Config())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(content, &config)).To(Succeed())
	g.Expect(config.Server).To(Equal("s"))
	g.Expect(config.Providers).To(HaveLen(2))
	g.Expect(config.Providers[1].Type).To(Equal(Core))
	g.Expect(config.Providers[1].URL).To(BeARegularFile())
}

func TestWriteKeepsEarlierReleases(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source := t.TempDir()
	write(t, filepath.Join(source, "config/kustomization.yaml"), "resources: [namespace.yaml]\n")
	write(t, filepath.Join(source, "config/namespace.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n")
	write(t, filepath.Join(source, "metadata.yaml"), "kind: Metadata\n")
	r := Repository{Dir: t.TempDir()}
	for _, version := range []string{"v1.15.2", "v2.0.0"} {
		g.Expect(r.Write([]Provider{{
			Name: "vsphere", Type: Infrastructure, Version: version,
			Config: filepath.Join(source, "config"), Metadata: filepath.Join(source, "metadata.yaml"),
		}}, nil)).To(Succeed())
	}
	for _, version := range []string{"v1.15.2", "v2.0.0"} {
		g.Expect(filepath.Join(r.Dir, "infrastructure-vsphere", version, "infrastructure-components.yaml")).To(BeARegularFile())
	}
	g.Expect(os.ReadFile(r.Config())).To(And(ContainSubstring("v2.0.0"), Not(ContainSubstring("v1.15.2"))))
}

func TestWriteKeepsOtherProviders(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	source := t.TempDir()
	write(t, filepath.Join(source, "config/kustomization.yaml"), "resources: [namespace.yaml]\n")
	write(t, filepath.Join(source, "config/namespace.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n")
	write(t, filepath.Join(source, "metadata.yaml"), "kind: Metadata\n")
	r := Repository{Dir: t.TempDir()}
	for _, name := range []string{"metal3", "harvester", "metal3"} {
		g.Expect(r.Write([]Provider{{
			Name: name, Type: Infrastructure, Version: "v2.0.0",
			Config: filepath.Join(source, "config"), Metadata: filepath.Join(source, "metadata.yaml"),
		}}, nil)).To(Succeed())
	}
	var config struct {
		Providers []struct{ Name string } `json:"providers"`
	}
	content, err := os.ReadFile(r.Config())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(content, &config)).To(Succeed())
	g.Expect(config.Providers).To(ConsistOf(HaveField("Name", "metal3"), HaveField("Name", "harvester")))
}

func TestWithoutCertManagerClusterctlUsesItsDefault(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Repository{Dir: t.TempDir()}
	g.Expect(r.Write(nil, nil)).To(Succeed())
	g.Expect(os.ReadFile(r.Config())).NotTo(ContainSubstring("cert-manager"))
}

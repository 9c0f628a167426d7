// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/managementcluster"
)

const root = "../.."

// TestReleaseImagesHaveVersion verifies the output of `make release VERSION=v9.9.9 REGISTRY=registry:5000/team`. Package charts
// tests the content of its charts.
func TestReleaseImagesHaveVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, tc := range []struct {
		registry, prefix string
	}{{"", "docker.io/faultline/"}, {"registry:5000/team", "registry:5000/team/"}} {
		r := Release{Release: docker.Release{Version: "v9.9.9", Registry: tc.registry}, Root: root, Out: t.TempDir()}
		folders, err := r.Write()
		g.Expect(err).NotTo(HaveOccurred())
		components := 0
		for _, file := range filesIn(t, folders) {
			content, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			for _, name := range regexp.MustCompile(`docker\.io/faultline/[a-z-]+:\S+`).FindAllString(string(content), -1) {
				g.Expect(name).To(HaveSuffix(":v9.9.9"), file)
			}
			if !strings.HasSuffix(file, "components.yaml") {
				continue
			}
			components++
			images := imagesIn(t, content)
			g.Expect(images).NotTo(BeEmpty(), file)
			g.Expect(images).To(HaveEach(And(HavePrefix(tc.prefix), HaveSuffix(":v9.9.9"))), file)
		}
		g.Expect(components).To(BeNumerically(">", 3), "the components of each provider, and of the load balancer")
	}
}

func TestReleaseListsTheImagesForAMirrorAndTheChecksumsOfAllFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Release{Release: docker.Release{Version: "v9.9.9", Registry: "registry:5000/team"}, Root: root, Out: t.TempDir()}
	archive := filepath.Join(r.Out, "kubectl-fd", "v9.9.9", "kubectl-fd-linux-amd64.tar.gz")
	g.Expect(os.MkdirAll(filepath.Dir(archive), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(archive, []byte("archive"), 0o600)).To(Succeed())
	folders, err := r.Write()
	g.Expect(err).NotTo(HaveOccurred())
	lines := func(name string) []string {
		text, err := os.ReadFile(filepath.Join(r.Out, "release", "v9.9.9", name))
		g.Expect(err).NotTo(HaveOccurred())
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	images := lines("images.txt")
	g.Expect(images).To(HaveEach(MatchRegexp(`^[a-z0-9.:-]+(/[a-z0-9.-]+)+:v[0-9.]+$`)))
	g.Expect(images).To(ContainElements(
		"registry:5000/team/cluster-api-vsphere-controller:v9.9.9", "registry:5000/team/harvester-cloud-provider:v9.9.9",
		HavePrefix("ghcr.io/kube-vip/kube-vip:"), HavePrefix("registry.k8s.io/cloud-pv-vsphere/cloud-provider-vsphere:"),
		HavePrefix("registry.k8s.io/csi-vsphere/driver:")))
	for _, file := range filesIn(t, folders) {
		if !strings.HasSuffix(file, "components.yaml") {
			continue
		}
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, image := range imagesIn(t, content) {
			g.Expect(images).To(ContainElement(image), file)
		}
	}
	sums := lines("checksums.txt")
	g.Expect(sums).To(ContainElement(HaveSuffix("  kubectl-fd/v9.9.9/kubectl-fd-linux-amd64.tar.gz")))
	for _, file := range filesIn(t, folders[:len(folders)-1]) {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		name, err := filepath.Rel(r.Out, file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sums).To(ContainElement(fmt.Sprintf("%x  %s", sha256.Sum256(content), name)))
	}
}

func filesIn(t *testing.T, folders []string) []string {
	t.Helper()
	var files []string
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(entries).NotTo(BeEmpty(), folder)
		for _, entry := range entries {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files
}

// imagesIn returns the images of all containers.
func imagesIn(t *testing.T, components []byte) []string {
	t.Helper()
	objects, err := managementcluster.Decode(components)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var images []string
	for _, object := range objects {
		for _, field := range []string{"initContainers", "containers"} {
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", field)
			for _, container := range containers {
				name, _, _ := unstructured.NestedString(container.(map[string]any), "image")
				images = append(images, name)
			}
		}
	}
	slices.Sort(images)
	return images
}

// The sources have the version of the Makefile: the kind environment, and installations from a checkout, use it in image names.
func TestSourcesHaveMakefileVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	read := func(file string) string {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	said := regexp.MustCompile(`(?m)^VERSION \?= (v\S+)$`).FindStringSubmatch(read(filepath.Join(root, "Makefile")))
	g.Expect(said).NotTo(BeNil())
	for pattern, places := range map[string][]string{
		`(?m)^ +newTag: (\S+)$`:                                   {"providers/*/config/default/kustomization.yaml", "providers/*/config/*/default/kustomization.yaml"},
		`(?m)^appVersion: (\S+)$`:                                 {"providers/*/charts/*/Chart.yaml"},
		`infrastructure-[a-z0-9]+/(v[^/\s]+)/`:                    {"e2e/provider/*/specs.yaml", "docs/*.md"},
		`faultline/[a-z<>-]+:(v[0-9.]+)`:                          {"docs/*.md", "providers/*/README.md"},
		`clusterctl upgrade apply .*[/ ](?:[a-z0-9]+):(v[0-9.]+)`: {"docs/*.md"},
	} {
		found := 0
		for _, place := range places {
			files, err := filepath.Glob(filepath.Join(root, place))
			g.Expect(err).NotTo(HaveOccurred())
			for _, file := range files {
				for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(file), -1) {
					found++
					g.Expect(match[1]).To(Equal(said[1]), "%s: %s", file, match[0])
				}
			}
		}
		g.Expect(found).To(BeNumerically(">", 0), "%s in %s", pattern, places)
	}
}

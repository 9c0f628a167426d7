// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package release

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	provenancev1 "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	. "github.com/onsi/gomega"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/managementcluster"
)

const (
	root = "../.."
	// commit is that of the sources of a release.
	commit = "0123abcd0123abcd0123abcd0123abcd0123abcd"
)

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
	r := Release{Release: docker.Release{Version: "v9.9.9", Registry: "registry:5000/team"}, Root: root, Out: t.TempDir(), Commit: commit}
	packPlugin(t, r)
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
	g.Expect(sums).To(ContainElement(HaveSuffix("  sbom/v9.9.9/kubectl-fd-linux-amd64.spdx.json")))
	provenance, err := os.ReadFile(filepath.Join(r.Out, "release", "v9.9.9", "provenance.json"))
	g.Expect(err).NotTo(HaveOccurred())
	statement := &intoto.Statement{}
	g.Expect(protojson.Unmarshal(provenance, statement)).To(Succeed())
	g.Expect(statement.Validate()).To(Succeed())
	expectProvenance(g, statement)
	var subjects []string
	for _, subject := range statement.Subject {
		subjects = append(subjects, subject.Digest["sha256"]+"  "+subject.Name)
	}
	g.Expect(subjects).To(Equal(sums), "the provenance is about every file")
	g.Expect(string(provenance)).To(ContainSubstring(`"gitCommit": "` + commit + `"`))
	g.Expect(sums).To(ContainElement(HaveSuffix("  kubectl-fd/v9.9.9/kubectl-fd-linux-amd64.tar.gz")))
	for _, file := range filesIn(t, folders[:len(folders)-1]) {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		name, err := filepath.Rel(r.Out, file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sums).To(ContainElement(fmt.Sprintf("%x  %s", sha256.Sum256(content), name)))
	}
}

// expectProvenance expects the predicate of a statement to be a SLSA provenance, without other fields.
func expectProvenance(g Gomega, statement *intoto.Statement) {
	predicate, err := protojson.Marshal(statement.Predicate)
	g.Expect(err).NotTo(HaveOccurred())
	provenance := &provenancev1.Provenance{}
	g.Expect(protojson.Unmarshal(predicate, provenance)).To(Succeed())
	g.Expect(provenance.Validate()).To(Succeed())
}

// TestMirrorCommandReplacesTheRegistriesOfTemplates runs the command of docs/install.md.
func TestMirrorCommandReplacesTheRegistriesOfTemplates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	g.Expect(err).NotTo(HaveOccurred())
	command := regexp.MustCompile(`(?m)^ +(sed .*)$`).FindSubmatch(page)
	g.Expect(command).To(HaveLen(2))
	r := Release{Release: docker.Release{Version: "v2.0.0"}, Root: root, Out: filepath.Join(t.TempDir(), "out")}
	_, err = r.Write()
	g.Expect(err).NotTo(HaveOccurred())
	run := exec.CommandContext(t.Context(), "bash", "-c", string(command[1]))
	run.Dir = filepath.Dir(r.Out)
	g.Expect(run.Run()).To(Succeed())
	files, err := filepath.Glob(filepath.Join(r.Out, "infrastructure-*", "v2.0.0", "cluster*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	variables := 0
	for _, file := range files {
		before, err := os.ReadFile(file + ".bak")
		g.Expect(err).NotTo(HaveOccurred())
		after, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, image := range regexp.MustCompile(`image: ([a-z0-9.:-]+/\S+)`).FindAllString(string(after), -1) {
			g.Expect(image).To(HavePrefix("image: mirror.example.com/"), file)
		}
		variables += strings.Count(string(after), "image: mirror.example.com/kube-vip/kube-vip:${KUBE_VIP_VERSION:=")
		upstream := regexp.MustCompile(`(image: )(?:docker\.io|ghcr\.io|registry\.k8s\.io)/`)
		g.Expect(string(upstream.ReplaceAll(before, []byte("${1}mirror.example.com/")))).To(Equal(string(after)), "only registries change")
	}
	g.Expect(variables).To(BeNumerically(">", 3))
}

// packPlugin writes an archive of the plugin, with the test itself as its program.
func packPlugin(t *testing.T, r Release) {
	t.Helper()
	g := NewWithT(t)
	program, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(program)
	g.Expect(err).NotTo(HaveOccurred())
	name := filepath.Join(r.Out, "kubectl-fd", r.Version, "kubectl-fd-linux-amd64.tar.gz")
	g.Expect(os.MkdirAll(filepath.Dir(name), 0o755)).To(Succeed())
	file, err := os.Create(name)
	g.Expect(err).NotTo(HaveOccurred())
	packed := gzip.NewWriter(file)
	archive := tar.NewWriter(packed)
	g.Expect(archive.WriteHeader(&tar.Header{Name: "./kubectl-fd", Mode: 0o755, Size: int64(len(content))})).To(Succeed())
	_, err = archive.Write(content)
	g.Expect(err).NotTo(HaveOccurred())
	for _, closer := range []io.Closer{archive, packed, file} {
		g.Expect(closer.Close()).To(Succeed())
	}
}

func TestSBOMListsTheModulesOfAProgram(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Release{Release: docker.Release{Version: "v9.9.9"}, Out: t.TempDir()}
	document := r.sbom("program", strings.Repeat("0", 64), &debug.BuildInfo{
		GoVersion: "go1.26.10", Path: "github.com/faultline-io/faultline/providers/metal3",
		Deps: []*debug.Module{
			{Path: "github.com/faultline-io/faultline/shared", Version: "v0.0.0", Replace: &debug.Module{Path: "../../shared"}},
			{Path: "helm.sh/helm/v3", Version: "v3.21.3", Sum: "h1:sum"},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0+incompatible"}},
		},
	})
	var urls []string
	for _, p := range document.Packages {
		urls = append(urls, p.PackageExternalReferences[0].Locator)
	}
	g.Expect(urls).To(Equal([]string{
		"pkg:golang/github.com/faultline-io/faultline/providers/metal3@v9.9.9", "pkg:golang/stdlib@1.26.10",
		"pkg:golang/github.com/faultline-io/faultline/shared@v9.9.9", "pkg:golang/helm.sh/helm/v3@v3.21.3", "pkg:golang/example.com/new@v2.0.0%2Bincompatible",
	}))
	g.Expect(document.Relationships).To(HaveLen(len(document.Packages)), "the document describes the program, which depends on all others")
}

func TestSBOMOfAPluginIsReproducible(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Release{Release: docker.Release{Version: "v9.9.9"}, Out: t.TempDir()}
	packPlugin(t, r)
	file := filepath.Join(r.Out, "sbom", "v9.9.9", "kubectl-fd-linux-amd64.spdx.json")
	var texts []string
	for range 2 {
		g.Expect(r.pluginSBOMs()).To(Succeed())
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		texts = append(texts, string(text))
	}
	g.Expect(texts[0]).To(Equal(texts[1]))
	document := &spdx.Document{}
	g.Expect(json.Unmarshal([]byte(texts[0]), document)).To(Succeed())
	g.Expect(document.SPDXVersion).To(Equal("SPDX-2.3"))
	g.Expect(document.Packages[0].PackageChecksums[0].Value).To(HaveLen(64))
	g.Expect(r.writeSBOM("script", []byte("#!/bin/sh"))).To(MatchError(ContainSubstring("writing the SBOM of script")))
}

// crossBuilder records what is built instead of building it.
type crossBuilder struct{ program []byte }

func (b crossBuilder) Cross(_ context.Context, _, folder string, names ...string) (binaries.Paths, error) {
	paths := binaries.Paths{}
	for _, name := range names {
		paths[name] = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(paths[name], b.program, 0o600)); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func TestReleaseHasAnArchiveOfEachImage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(program)
	g.Expect(err).NotTo(HaveOccurred())
	r := Release{Release: docker.Release{Version: "v9.9.9", Registry: "registry:5000/team"}, Root: root, Out: t.TempDir(), Architectures: []string{"arm64"}}
	g.Expect(r.WriteImages(t.Context(), crossBuilder{content})).To(Succeed())
	var names []string
	for _, file := range filesIn(t, []string{filepath.Join(r.Out, "images", "v9.9.9"), filepath.Join(r.Out, "sbom", "v9.9.9")}) {
		names = append(names, filepath.Base(file))
	}
	var want []string
	for _, image := range []string{"cluster-api-vsphere-controller", "cluster-api-metal3-controller", "cluster-api-harvester-controller",
		"harvester-load-balancer", "harvester-cloud-provider"} {
		want = append(want, image+".tar", image+"-linux-arm64.spdx.json")
	}
	g.Expect(names).To(ConsistOf(want))
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
		`(?m)^ +newTag: (\S+)$`:                {"providers/*/config/default/kustomization.yaml", "providers/*/config/*/default/kustomization.yaml"},
		`(?m)^appVersion: (\S+)$`:              {"providers/*/charts/*/Chart.yaml"},
		`infrastructure-[a-z0-9]+/(v[^/\s]+)/`: {"e2e/provider/*/specs.yaml", "docs/*.md"},
		`faultline/[a-z<>-]+:(v[0-9.]+)`:       {"docs/*.md", "providers/*/README.md"},
		// An upgrade from Faultline to Faultline, as in docs/operate.md, is to a later version.
		`clusterctl upgrade apply --infrastructure [a-z0-9]+:(v[0-9.]+)`: {"docs/metal3.md", "docs/migrate-from-upstream.md"},
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

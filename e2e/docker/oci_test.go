// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package docker

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	. "github.com/onsi/gomega"
)

func TestOCIArchiveHasAnImageForEachArchitecture(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	images := map[string]Image{}
	for _, arch := range []string{"amd64", "arm64"} {
		program := filepath.Join(t.TempDir(), "program")
		g.Expect(os.WriteFile(program, []byte("program for "+arch), 0o600)).To(Succeed())
		images[arch] = ProgramImage("registry:5000/team/controller:v9.9.9", program, ManagerPath, NonRoot)
	}
	file, again := filepath.Join(t.TempDir(), "image.tar"), filepath.Join(t.TempDir(), "image.tar")
	g.Expect(WriteOCI(file, images)).To(Succeed())
	g.Expect(WriteOCI(again, images)).To(Succeed())
	g.Expect(contentOf(t, again)).To(Equal(contentOf(t, file)), "the same files are the same image")

	index, err := layout.ImageIndexFromPath(unpacked(t, file))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(validate.Index(index)).To(Succeed())
	outer, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outer.Manifests).To(HaveLen(1))
	g.Expect(outer.Manifests[0].Annotations).To(HaveKeyWithValue("io.containerd.image.name", "registry:5000/team/controller:v9.9.9"))
	g.Expect(outer.Manifests[0].Annotations).To(HaveKeyWithValue("org.opencontainers.image.ref.name", "v9.9.9"))
	inner, err := index.ImageIndex(outer.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := inner.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(2))
	for _, descriptor := range manifest.Manifests {
		arch := descriptor.Platform.Architecture
		image, err := inner.Image(descriptor.Digest)
		g.Expect(err).NotTo(HaveOccurred())
		config, err := image.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Architecture).To(Equal(arch))
		g.Expect(config.Config).To(Equal(v1.Config{Entrypoint: []string{ManagerPath}, User: NonRoot, WorkingDir: "/"}))
		layers, err := image.Layers()
		g.Expect(err).NotTo(HaveOccurred())
		content, err := layers[0].Uncompressed()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(entries(t, content)).To(HaveKeyWithValue("manager", "program for "+arch))
	}
	g.Expect(WriteOCI(file, nil)).To(MatchError("no image for amd64 or arm64"))
}

func contentOf(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

// entries returns the files of a tar stream.
func entries(t *testing.T, stream io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(archive)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		files[header.Name] = string(content)
	}
}

// unpacked unpacks a tar file and returns the folder.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	g := NewWithT(t)
	stream, err := os.Open(file)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = stream.Close() }()
	folder := t.TempDir()
	for name, content := range entries(t, stream) {
		g.Expect(os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600)).To(Succeed())
	}
	return folder
}

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package e2e_test

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const project = "github.com/faultline-io/faultline"

// apis returns the folders of the modules that third parties import.
func apis(t *testing.T) []string {
	t.Helper()
	folders := []string{"shared/api"}
	for _, name := range providers(t) {
		folders = append(folders, "providers/"+name+"/api")
	}
	return folders
}

// goMod holds go.mod in the format of `go mod edit -json`.
type goMod struct {
	Require []struct{ Path, Version string }
	Replace []struct{ Old, New struct{ Path string } }
}

func readGoMod(t *testing.T, folder string) goMod {
	t.Helper()
	g := NewWithT(t)
	edit := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	edit.Dir = filepath.Join(repository, folder)
	text, err := edit.Output()
	g.Expect(err).NotTo(HaveOccurred(), folder)
	var mod goMod
	g.Expect(json.Unmarshal(text, &mod)).To(Succeed())
	return mod
}

// apiVersion returns the version of the API modules that every go.mod requires, which must match the tags of the release.
func apiVersion(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	versions := map[string][]string{}
	for _, folder := range choice(t, "build", "MODULE") {
		for _, required := range readGoMod(t, folder).Require {
			name, ours := strings.CutPrefix(required.Path, project+"/")
			if ours && strings.HasSuffix(name, "/api") {
				versions[required.Version] = append(versions[required.Version], folder)
			}
		}
	}
	g.Expect(versions).To(HaveLen(1), "every go.mod requires the API modules of one release")
	for version := range versions {
		g.Expect(version).NotTo(HavePrefix("v0.0.0"), "a version that no tag has: others could not import what requires it")
		return version
	}
	return ""
}

// A module cannot be imported if it requires a module without a tag: of our modules, API modules may only require shared/api.
func TestAPIModulesRequireReleasedVersions(t *testing.T) {
	t.Parallel()
	for _, folder := range apis(t) {
		for _, required := range readGoMod(t, folder).Require {
			if strings.HasPrefix(required.Path, project+"/") {
				NewWithT(t).Expect(required.Path).To(Equal(project+"/shared/api"), folder)
			}
		}
	}
	NewWithT(t).Expect(readGoMod(t, "shared/api").Replace).To(BeEmpty())
}

// publish stores the module in a folder where the go command finds it, as if it had a tag.
func publish(t *testing.T, proxy, folder, version string) {
	t.Helper()
	g := NewWithT(t)
	path := project + "/" + folder
	versions := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	g.Expect(os.MkdirAll(versions, 0o755)).To(Succeed())
	source := filepath.Join(repository, folder)
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(versions, version+".mod"), mod, 0o644)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(versions, version+".info"), fmt.Appendf(nil, `{"Version": %q}`, version), 0o644)).To(Succeed())
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	g.Expect(err).NotTo(HaveOccurred())
	archive := zip.NewWriter(file)
	g.Expect(filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(source, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to, err := archive.Create(path + "@" + version + "/" + filepath.ToSlash(relative))
		if err != nil {
			return err
		}
		_, err = to.Write(text)
		return err
	})).To(Succeed())
	g.Expect(archive.Close()).To(Succeed())
	g.Expect(file.Close()).To(Succeed())
}

// Third parties can only use what a release tags. Third-party modules come from the local download cache.
func TestConsumersCompileWithReleasedTypes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	version := apiVersion(t)
	proxy, consumer := t.TempDir(), t.TempDir()
	imports, requires := "", ""
	for _, folder := range apis(t) {
		publish(t, proxy, folder, version)
		if folder != "shared/api" { // The others require it.
			requires += fmt.Sprintf("require %s/%s %s\n", project, folder, version)
		}
		packages, err := filepath.Glob(filepath.Join(repository, folder, "v*"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(packages).NotTo(BeEmpty(), folder)
		for _, of := range packages {
			imports += fmt.Sprintf("import _ %q\n", project+"/"+folder+"/"+filepath.Base(of))
		}
	}
	g.Expect(os.WriteFile(filepath.Join(consumer, "go.mod"), []byte("module example.com/consumer\n\ngo 1.26.0\n\n"+requires), 0o644)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(consumer, "consumer.go"), []byte("package consumer\n\n"+imports), 0o644)).To(Succeed())
	text, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOROOT", "GOMODCACHE", "GOPROXY").Output()
	g.Expect(err).NotTo(HaveOccurred())
	var here struct{ GOROOT, GOMODCACHE, GOPROXY string }
	g.Expect(json.Unmarshal(text, &here)).To(Succeed())
	build := exec.CommandContext(t.Context(), filepath.Join(here.GOROOT, "bin", "go"), "build", "./...")
	build.Dir = consumer
	// The Go toolchain of this module is also a module, and not in the empty module cache.
	build.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOSUMDB=off",
		"GOMODCACHE="+filepath.Join(t.TempDir(), "modules"),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(filepath.Join(here.GOMODCACHE, "cache", "download"))+","+here.GOPROXY)
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
}

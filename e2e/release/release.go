// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release writes a release: the files that clusterctl, kubectl and helm install, and the repository that clusterctl installs from
// in kind. Make builds kubectl fd.
package release

//go:generate ../scripts/addons

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/docker"
)

// Release is a release of the repository.
type Release struct {
	docker.Release

	// Root is the root folder of the repository, Out the folder for the release.
	Root, Out string
	// Commit is the commit of the sources and Created its time; both may be empty.
	Commit  string
	Created time.Time
	// Architectures are those of the images, amd64 and arm64; none if no images are written.
	Architectures []string
}

// Write writes the release and returns its folders. Its checksums include files of the version that are in Out already.
func (r Release) Write() ([]string, error) {
	providers, err := r.providers()
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, name := range providers {
		folder, err := r.provider(filepath.Join(r.Root, "providers", name))
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	balancer, err := r.folder("harvester-load-balancer")
	if err != nil {
		return nil, err
	}
	if err := r.components("providers/harvester/config/loadbalancer/default", filepath.Join(balancer, "components.yaml")); err != nil {
		return nil, err
	}
	packed, err := r.folder("charts")
	if err != nil {
		return nil, err
	}
	if err := r.packCharts(providers, packed); err != nil {
		return nil, err
	}
	for _, name := range charts.Names() {
		if _, err := charts.Pack(r.Root, name, r.Release, packed); err != nil {
			return nil, err
		}
	}
	if err := r.pluginSBOMs(); err != nil {
		return nil, err
	}
	lists, err := r.lists()
	return append(folders, balancer, packed, lists), err
}

// providers returns the names of the providers.
func (r Release) providers() ([]string, error) {
	mains, err := filepath.Glob(filepath.Join(r.Root, "providers", "*", "main.go"))
	names := make([]string, 0, len(mains))
	for _, main := range mains {
		names = append(names, filepath.Base(filepath.Dir(main)))
	}
	return names, err
}

// lists writes the lists of the release into their own folder, and returns it: images.txt has the images that a mirror needs, and
// checksums.txt the SHA-256 of every file of the version, also of those that others wrote, with paths below Out. provenance.json
// states what the files were built from.
func (r Release) lists() (string, error) {
	folder, err := r.folder("release")
	if err != nil {
		return "", err
	}
	lists, err := r.read(folder)
	if err != nil {
		return "", err
	}
	for _, name := range charts.Names() {
		images, err := charts.Images(r.Root, name, r.Release)
		if err != nil {
			return "", err
		}
		lists["images.txt"] = append(lists["images.txt"], images...)
	}
	for name, lines := range lists {
		slices.Sort(lines)
		text := strings.Join(slices.Compact(lines), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	statement, err := r.provenance(lists["checksums.txt"])
	if err != nil {
		return "", fmt.Errorf("writing the provenance: %w", err)
	}
	return folder, os.WriteFile(filepath.Join(folder, "provenance.json"), statement, 0o644)
}

// read returns the checksums of the files of the version, and the images in them, except for those in the folder with the lists.
func (r Release) read(except string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(r.Out, "*", r.Version, "*"))
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{}
	for _, file := range files {
		if filepath.Dir(file) == except {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(r.Out, file)
		if err != nil {
			return nil, err
		}
		lists["checksums.txt"] = append(lists["checksums.txt"], fmt.Sprintf("%x  %s", sha256.Sum256(content), filepath.ToSlash(name)))
		if filepath.Ext(file) == ".yaml" {
			lists["images.txt"] = append(lists["images.txt"], Images(withDefaults(content))...)
		}
	}
	return lists, nil
}

// provider writes the files that clusterctl expects in the repository of a provider.
func (r Release) provider(source string) (string, error) {
	name := filepath.Base(source)
	folder, err := r.folder("infrastructure-" + name)
	if err != nil {
		return "", err
	}
	if err := r.components(filepath.Join("providers", name, "config", "default"), filepath.Join(folder, "infrastructure-components.yaml")); err != nil {
		return "", err
	}
	templates, err := filepath.Glob(filepath.Join(r.Root, "templates", name, "*.yaml"))
	if err != nil {
		return "", err
	}
	if len(templates) == 0 {
		return "", fmt.Errorf("provider %s has no cluster templates: add them to templates/%s", name, name)
	}
	for _, file := range append(templates, filepath.Join(source, "metadata.yaml")) {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), WithImages(content, r.Name), 0o644); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// components builds a kustomize folder of the repository. It replaces the image tags of the sources with those of the release.
func (r Release) components(from, to string) error {
	components, err := Components(filepath.Join(r.Root, from))
	if err != nil {
		return err
	}
	return os.WriteFile(to, WithImages(components, r.Name), 0o644)
}

func (r Release) folder(name string) (string, error) {
	folder := filepath.Join(r.Out, name, r.Version)
	return folder, os.MkdirAll(folder, 0o755)
}

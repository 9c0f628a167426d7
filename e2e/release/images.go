// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/charts"
	"github.com/faultline-io/faultline/e2e/docker"
)

// Builder builds programs for an architecture of Linux into a folder.
type Builder interface {
	Cross(ctx context.Context, arch, folder string, names ...string) (binaries.Paths, error)
}

// WriteImages builds the programs for all Architectures. It writes an OCI archive for each image, which has all of them, and an SBOM for each
// program.
func (r Release) WriteImages(ctx context.Context, builder Builder) error {
	names, err := r.programs()
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "faultline-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	images := map[string]map[string]docker.Image{}
	for _, arch := range r.Architectures {
		for program, image := range names {
			paths, err := builder.Cross(ctx, arch, filepath.Join(temporary, arch), program)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(paths[program])
			if err != nil {
				return err
			}
			if err := r.writeSBOM(imageFile(image)+"-linux-"+arch, content); err != nil {
				return err
			}
			if images[image] == nil {
				images[image] = map[string]docker.Image{}
			}
			images[image][arch] = docker.ProgramImage(image, paths[program], docker.ManagerPath, docker.NonRoot)
		}
	}
	folder, err := r.folder("images")
	if err != nil {
		return err
	}
	for image, all := range images {
		if err := docker.WriteOCI(filepath.Join(folder, imageFile(image)+".tar"), all); err != nil {
			return err
		}
	}
	return nil
}

// imageFile returns the last part of an image's name, without the tag.
func imageFile(image string) string {
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}

// programs returns the programs of the release with their images.
func (r Release) programs() (map[string]string, error) {
	providers, err := r.providers()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, provider := range providers {
		components, err := Components(filepath.Join(r.Root, "providers", provider, "config", "default"))
		if err != nil {
			return nil, err
		}
		image, err := OnlyImage(provider, components)
		if err != nil {
			return nil, err
		}
		names[binaries.Provider(provider)] = r.Name(image)
	}
	for _, chart := range charts.Names() {
		image, err := charts.Image(r.Root, chart)
		if err != nil {
			return nil, err
		}
		names[chart] = r.Name(image)
	}
	return names, nil
}
